// Command loadgen loads a broker over plain connections of its own and holds
// what was charged against a limit. It is no client library: it sends frames
// encoded beforehand as fast as the broker takes them, so what it measures is
// the broker.
//
//	loadgen --address localhost:9092 --mode produce --topic t --connections 20 --limit 10485760
//
// Measured are charged bytes: header and body, of requests for produce and of
// answers for fetch, without the size prefix and without empty throttled
// answers. The measurement begins when every connection has been throttled
// once, since before that the burst passes, and keeps books as a quota does:
// an answer says when all that was charged up to it will be paid, which is
// its time plus the throttle it announces. Between two such moments the
// charges of a saturated bucket are the limit times the time, whatever the
// size of requests and however many wait. The rate is the median of those of
// all halves, so that an answer that comes late does not count. What a
// throttled fetch announces is when its turn comes, not when the debt is paid;
// but a fetch takes no more than is there and its excess of a batch, so its
// books are the plain times.
//
// The books say more than the rate: all charges of a bucket are what it held
// when it was full, --burst, and the limit times the time until they are paid.
// With --burst they are held against --books percent.
//
// Connections say that they are --bucket user/client-id: those of one flag
// share a bucket and each flag is measured by itself. Besides produce and fetch
// there are other loads:
//
//	request   asks for the broker as often as it goes: is it throttled, and muted?
//	mutate    creates topics; what is charged are their partitions
//	connect   opens connections over --duration: how many are served, how the others end
//	raise     mutes all connections, gives an --entity another limit, and tells how soon each feels it
//
// With --reconnect every request comes on a new connection, which must give nobody more.
//
// It prints one line of JSON. It ends with 1 when the rate is further from --limit
// than --tolerance percent, or what else was asked for does not hold, and with 2
// when it was called wrongly.
package main
