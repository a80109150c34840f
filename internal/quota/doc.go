// Package quota knows who may use how much.
//
// It holds the quotas in force by entity, and the buckets they are paid from.
// AlterClientQuotas and the credentials file change the former (Alter, SetBase);
// requests and new connections empty the latter (Charge, Take and Settle, Work,
// Mutate, Admit). A change reaches the live buckets before the call that makes it
// returns. Nothing here waits, but Alter for its journal and the name service: a
// charge gives a Throttle, and muting the connection is the server's.
//
// # Model
//
// The rules are data, and Model is all of them: which entities and keys there
// are, which code answers what is wrong, how base and override combine, at which
// levels of precedence a client is looked up, who shares the bucket of a level,
// and what a full bucket of each kind holds.
//
// UserModel has named users and one level. An override stands before the
// file's values for the user as a whole and lives in memory; a bucket holds a
// second's worth. An alteration that changes nothing (no operations, or the
// removal of keys that are not set) installs no override, so that the file goes
// on to rule.
//
// KafkaModel has all of Kafka's entities. What Alter sets stands before the
// file's value key by key and is in the Journal before it is in force. A bucket
// holds what Kafka's windows let pass at once, ten seconds' worth. For each key
// the first level that holds a value decides, and whose bucket pays:
//
//	level                       entity with the value         bucket of
//	user+client-id              user u, client-id c           u with c
//	user+client-default         user u, client-id default     u with c
//	user                        user u                        u
//	user-default+client-id      user default, client-id c     u with c
//	user-default+client-default user default, client default  u with c
//	user-default                user default                  u
//	client-id                   client-id c                   c, whoever the user
//	client-default              client-id default             c, whoever the user
//
//	ip                          the ip's names, lowest value  the address
//	ip-default                  ip default                    the address
//
// An empty client id is a client id that has no entity of its own: the defaults
// are for it too (Kafka lets it escape). Ip names are stored as they are written;
// what they mean is found out when they are set, and kept with the setting.
//
// # Accounts
//
// An account is what is known of one entity: its override and the limits its own
// settings give, and the buckets that it owns, made when first needed. A walk over the levels
// looks up an account at each one that has any settings, and finds value and
// bucket together where the entity with the value is the owner.
//
// A bucket has the limit that its clients are resolved to. So its level can
// be found without them, by the same walk for a client that nobody names: what
// is said of a name is said of another bucket. An owner whose walk ends at a level
// of other owners has no clients left; its bucket loses the limit, its debt is
// forgiven and its mutes end. When settings change, the owners that they can have
// reached are judged anew (scope), then the generation is raised, and each
// connection, which keeps a Client with pointers to its buckets and compares that
// counter for each charge, looks its buckets up again. An owner who stays the same
// under another level keeps what it owes.
//
// Whoever may alter quotas could make any number of overrides, so what they take is
// bounded (room.go).
//
// Clients choose their client ids, so accounts that no setting names are
// bounded. Beyond the bound they share the bucket of the default that is for
// them; where it gets tight, who is full is forgotten, which changes nothing.
// Otherwise an account that is not named is forgotten after Options.Idle.
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
// kind: produce does not use up what fetch earns. All charges so far are
// the burst and what was earned until the end of the last throttle announced.
//
// Kinds differ in their unit and in what happens at the edge. Work is counted
// in nanoseconds; its throttles are no longer than a window, and since that may
// repay less than is owed its debt has an end too. Mutations that are strict are
// refused while the bucket is in debt, and those that are not refused are not
// throttled. A connection that would make a debt is refused and takes nothing.
// The rates of the broker and its listeners are buckets as well; an acceptor
// pauses for their debt, a second at most.
//
// Where two quotas judge a request each counts its decision. Only the larger
// throttle is announced, when its Mute begins, and only there it is counted.
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
// A mute is its client's. A change of settings wakes the mutes whose clients it
// names, when buckets and generation are as it wants them: they follow the limit,
// and who pays from another bucket now is read again and judged there, though the
// old bucket may keep its limit and its debt for others. Who is not named sleeps on.
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
// debt; a lone one announces the debt. A turn that is further away than 5 s is
// announced in steps of that: clients give up connections that are still for
// long, the first ones after 10 s, and with them their turn.
//
//	balance  ...paid|   turn of A   |   turn of B   |   turn of A   |
//	comes                     A               B               A
//
// # Locks
//
// Enforcer.altering before Enforcer.mu; Client.mu before Enforcer.mu. Alter
// holds altering until its changes are durable and in force, and asks the name
// service before. Enforcer.mu guards settings and accounts. Charges take none, but
// when the generation has changed. mutes.mu is the last one, taken when a mute
// begins and ends.
package quota
