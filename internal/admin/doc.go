// Package admin is the HTTP side: what an operator, a probe or Prometheus
// asks. Every page is a GET (or HEAD) of something the broker knows anyway;
// the one exception is POST /-/reload, and it must be turned on.
//
//	/                    an index of these pages
//	/livez, /healthz     200 while a restart would not help
//	/readyz              200 when clients should come; ?verbose lists checks
//	/metrics             Prometheus, OpenMetrics when asked for
//	/v1/status           what runs here
//	/v1/quotas           entities with a setting or live accounting
//	/v1/quotas/resolve   which limits hold for a client or an address, and why
//	/-/reload            POST: read the files again that may change
//	/debug/pprof/        Go's profiles, when turned on
//
// Everybody who can reach the pages may read them, unless a Gate stands before them:
// TLS and passwords from a file in the format that Prometheus' exporters share, read
// into the types of their library. What is a good certificate is judged as for
// listeners. Passwords are compared by bcrypt, one at a time, and whoever fails too
// often is held back; the pages of probes need none. A reload lets nobody in whom the
// file kept out, and a start from a file that keeps nobody out warns.
// Every answer of ours has strict headers, and what other sites' pages send is refused.
// What net/http does not take for a request it refuses itself, without those headers:
// 400, 417, 431, 501, 505, and plain HTTP on a TLS port.
//
// A lobby bounds the connections: one more than there may be takes the place of one
// of the address that has most. TLS handshakes calculate on half of the processors.
//
// The room knows no other room of its floor: what it serves comes through the
// functions of Deps, in the JSON shapes of this package. JSON is UTF-8 with a
// line feed at the end, times are RFC 3339 in UTC, and nothing may be cached.
package admin
