// Package quota knows who may use how much.
//
// It holds the quotas in force, by entity (Describe, Alter, SetBase), and the
// buckets they are paid from (Client, Charge, Take, Settle). The Kafka API and
// the credentials file change the former; Produce and Fetch empty the latter.
// Nothing here waits: a charge gives a Throttle, and muting the connection is
// the server's.
package quota
