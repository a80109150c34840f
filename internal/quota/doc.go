// Package quota knows who may use how much.
//
// It holds the quotas in force by entity, and the buckets they are paid from.
// AlterClientQuotas and the credentials file change the former (Alter, SetBase);
// Produce and Fetch empty the latter (Charge; Take and Settle). A change reaches
// the live buckets before the call that makes it returns. Nothing here waits:
// a charge gives a Throttle, and muting the connection is the server's.
//
// # Model
//
// The rules are data: which entities and keys there are, which code answers
// what is wrong, which levels of precedence a client is looked up at, how much
// a full bucket holds. UserModel is the model of named users: an override
// stands for the user as a whole, before the file's values; it lives in memory.
// A model with more levels is another value of Model, and a level another
// function from a client to an entity; buckets, throttles and metrics do not
// know which one is in force.
//
// An alteration that changes nothing (no operations, or the removal of keys
// that are not set) installs no override, so that the file goes on to rule.
//
// # Bucket
//
// A bucket is one atomic word: the moment, in 1/256 ns, at which its balance is
// zero.
//
//	now - burst          word        now                    word
//	    |------------------|----------|         or |-----------|
//	    full                  credit             now   debt
//
// A charge raises the word to now - burst, where it is full, and adds what the
// bytes cost. No charge is refused and the debt has no floor: N connections of
// a user get the rate, not N times it. What lies above now is the throttle;
// below a millisecond none is announced and the debt stays. One bucket for each
// direction: produce does not use up what fetch earns. All charges so far are
// the burst and what was earned until the end of the last throttle announced.
//
// Since no charge is refused, a client that comes back for every request would
// never be held. So only so many new connections may join a debt (Join): the
// next ones first wait, unread, for as long as it lasts.
//
// A limit is immutable and stands behind an atomic pointer. Another rate swaps
// it and rescales the word, so that the bytes owed stay. A charge that runs
// beside the swap is costed at the old rate: one per core at most. A limit knows
// its successor, and a muted connection follows that chain: a raise or removal
// shortens its mute, a lower limit does not lengthen it.
//
// # Fetch
//
// A fetch takes from the balance before it reads and settles when it knows what
// it hands out, so that consumers that come together do not each get all of it.
// The first batch is handed out whole; beyond the balance it is debt. Before its
// size is known as much is reserved as the last ones needed.
//
// Throttled fetches of one bucket take turns. Each is promised the time after
// the turns promised so far, as long as a handout takes to earn and some
// milliseconds at least, and may fetch again until its turn is used up. So
// consumers come back one by one, in a round, each to a balance that holds
// something for it. Turns are promises to connections, not a queue: who went
// away is skipped, since a turn that is not taken is credit for the next ones.
// What a waiting fetch announces is therefore its turn, never less than the
// debt; a lone one announces the debt.
//
//	balance  ...paid|   turn of A   |   turn of B   |   turn of A   |
//	comes                     A               B               A
//
// # Who has a bucket
//
// An owner has an account, the buckets of both directions, from its first
// setting on; when it has none any more, until it was idle for Options.Idle. A
// connection keeps a Client with pointers to its buckets and compares one
// generation counter for each charge.
//
// # Locks
//
// Enforcer.mu before shard.mu; Client.mu before shard.mu. Charges take none,
// but when the generation has changed.
package quota
