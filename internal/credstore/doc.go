// Package credstore reads credentials.json: who may log in and which quotas
// users have of their own. It keeps the last good snapshot of the file, follows
// the file's changes and hands every new snapshot to who subscribed; it also
// edits the file for the command line.
//
// What passes through: bytes of the file in, a *Snapshot out, which is never
// changed once it is published. Parse is pure; Check tells everything that is
// wrong with a file where Parse stops at the first; Schema says the same as a
// JSON Schema, as far as a schema can.
//
// What it promises:
//
//   - A bad, empty, unreadable or vanished file takes nothing away: the last
//     good snapshot stays in force, the log, the metrics and Status say so, and
//     the next good version is taken by itself.
//   - Half a file is never used: any wrong type, bad base64 or duplicate key
//     makes the whole file bad. An entry that is well formed but of no use for a
//     log-in (unknown authType, keys of the wrong length) keeps its quotas.
//   - One swap: log-ins and quotas change together, and a reload is reported
//     done after every subscriber has taken it.
//   - Edits of one folder wait for each other, so that none undoes another. Who
//     writes without that lock is noticed until the moment of the renaming.
//   - No password, key or salt is in an error, a log line or a metric.
//
// One lock, Store.mu, covers a whole reload, so that there is one read at a
// time and subscribers see snapshots in order. Log-ins take no lock.
//
// Left to others: noticing that the file changed (watch), what a quota means
// (quota), the log-in itself (auth), and the sessions of users that have left
// (broker, with Expelled).
package credstore
