// Package certificate holds what TLS listeners show and trust: certificates
// with their private keys, and the authorities whose client certificates count.
// It keeps the last good set of the files and follows their changes. What is a
// good pair is said in one place (Pair), which the pages ask too.
//
// What passes through: PEM files in, a *tls.Config out, one for each ClientAuth,
// which is never changed once it is published. A handshake takes the one in
// force when its connection comes; connections that stand are left alone.
//
// What it promises:
//
//   - The files are one set: all of them are read, fit together and are in force
//     from one moment on, or the last good set stays. The log, the metrics and
//     Status say so, and the next good version is taken by itself.
//   - A set does not fit when a file is damaged or missing, a key belongs to
//     another certificate, or a certificate has ended or not begun; of authorities
//     when all of them have, for one of many is told of and holds nothing up. What
//     has not begun is tried again when it has. What is in force already is not
//     judged again. At the start there is no last good set: a certificate that has
//     ended is served, with an error in the log, rather than taking the listeners
//     without TLS down with it.
//   - The same content is not swapped, so that TLS sessions go on being resumed.
//     With other content none is: tickets belong to a set, and nobody who holds
//     one escapes a change of the authorities.
//   - A block of PEM that cannot be read is an error, not passed over: a file that
//     is cut off would be a shorter chain. Marks of byte order do not count.
//   - No byte of a key is in an error, a log line or a metric.
//
// Of several certificates each handshake takes the first that fits the name and
// the algorithms the client asks for, or the first.
//
// One lock, Store.mu, covers a whole reload. Handshakes take no lock.
//
// Left to others: noticing that a file changed (watch), the handshake (server),
// and whose name a client certificate is (auth).
package certificate
