package handlers

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
)

// call is one request on its way: who asks, and what the answer is going to be
// besides its message.
type call struct {
	*session
	ctx     context.Context
	header  codec.RequestHeader
	size    int       // what quotas count: header and body, in bytes
	now     time.Time // when the request was there
	request *server.Request
	route   *route
	image   *metadata.Image // the same for the whole request

	// answer is what the server gets. Its payload is made of the message.
	answer server.Answer
	// throttle is announced in the answer and mutes the connection.
	throttle quota.Throttle
	// grant, when granted, was taken for the answer at a time. It is settled
	// once the answer's size is known, which gives the throttle.
	grant   quota.Grant
	granted bool
	at      time.Time

	// What is spent waiting is not work.
	parked     time.Duration // for records
	committing time.Duration // for commits

	login   bool          // the request came before the session was established
	exempt  bool          // its work is charged to nobody
	charged time.Duration // of its work, so far
	turn    server.Turns  // of which it has one (inTurn); nil: it has none
}

// throttled is a response that can announce a throttle.
type throttled interface{ SetThrottle(ms int32) }

// budget is the memory that decoding the request may make, in bytes
// (records are slices of the frame and cost none).
func (c *call) budget() int {
	switch {
	case !c.Established():
		return 2 * c.size
	case c.header.Key == kafka.KeyProduce:
		return c.size + 1<<20
	}
	// The requests of clients for all partitions there can be take 7 MiB. A small
	// one may grow more than a large one, whose elements are not all empty: the
	// two are the same at 546 KiB. How much its answer takes is bounded by what it
	// may name (maxNamed).
	return min(16*c.size, 8<<20+c.size)
}

// code is the error code that err has for the client. It is counted here, and
// an error without a code, whose text stays in the house, is logged.
func (c *call) code(err error) kafka.Code {
	code := kafka.CodeOf(err)
	if code == kafka.NoError {
		return code
	}
	c.h.metrics.errors.WithLabelValues(c.route.Name, code.String()).Inc()
	if code == kafka.UnknownServerError {
		c.h.log.Error("request met an unexpected error", append(c.who(), zap.String("api", c.route.Name), zap.Error(err))...)
	}
	return code
}

// text is what a person is told about err; nil for no error and for one
// without words.
func text(err error) *string {
	words := kafka.MessageOf(err)
	if words == "" {
		return nil
	}
	return &words
}

// may asks the authorizer on behalf of the caller.
func (c *call) may(op kafka.Operation, r kafka.Resource) bool {
	return c.h.Authorizer.Authorize(c.caller(), op, r)
}

// allow is may as an error that names what is missing.
func (c *call) allow(op kafka.Operation, r kafka.Resource) error {
	if c.may(op, r) {
		return nil
	}
	c.tellDenied(op, r)
	return kafka.Errorf(denied[r.Type], "%s has no permission for %s on %s", c.principal(), op, r)
}

// tellDenied tells the operator as whom somebody was refused what, of each
// principal, operation and resource once in 10 s: the client is not told its name.
func (c *call) tellDenied(op kafka.Operation, r kafka.Resource) {
	fields, ok := c.seldom(&c.h.denials, func() string { return op.String() + " " + kafka.Label(r.String()) })
	if ok {
		c.h.log.Info("denied", append(fields, zap.String("api", c.route.Name), zap.Stringer("operation", op), zap.String("resource", kafka.Label(r.String())))...)
	}
}

// denied is the code that tells of a missing permission.
var denied = map[kafka.ResourceType]kafka.Code{
	kafka.ResourceTopic:           kafka.TopicAuthorizationFailed,
	kafka.ResourceGroup:           kafka.GroupAuthorizationFailed,
	kafka.ResourceCluster:         kafka.ClusterAuthorizationFailed,
	kafka.ResourceTransactionalID: kafka.TransactionalIDAuthorizationFailed,
}

// payer is what the call is charged to.
func (c *call) payer() *quota.Client { return c.quotaClient(c.header.ClientID) }

// finish puts the message into the answer, pays for it, and mutes the
// connection when that left a debt. No message is no payload. When several
// quotas want the client to wait, the longest wait is announced, and the
// connection muted for that one alone.
func (c *call) finish(m codec.Message) error {
	c.chargeWork()
	if m != nil {
		if err := c.encode(m); err != nil {
			return err
		}
	}
	if c.throttle.Muted() {
		c.answer.Mute = c.hold(c.payer().Mute(c.throttle))
	}
	return nil
}

func (c *call) encode(m codec.Message) error {
	if t, ok := m.(throttled); ok && c.throttle.Muted() {
		t.SetThrottle(c.throttle.Millis())
	}
	v, encode := c.header.Version, codec.EncodeResponseInPieces
	if c.header.Key == kafka.KeyFetch { // it holds records, and is settled
		encode = codec.EncodeResponse
	}
	f, err := encode(c.header.CorrelationID, v, c.route.IsFlexible(v), c.route.FlexibleResponseHeader(v), m)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	c.answer.Payload = f
	if c.header.Key == kafka.KeyFetch && len(f.Head()) <= littleHead {
		c.request.DropFrame() // records may be on their way for long, and nothing asked for is needed
	}
	c.settle(f)
	return nil
}

// littleHead is how much of a Fetch's answer may be in memory, in bytes, while nothing
// is counted for it.
const littleHead = 16 << 10

// settle pays for the answer out of its grant. How much that is shows only in
// the encoded answer, and what is then left to wait belongs at its beginning: it
// is written over what was encoded there.
func (c *call) settle(f *codec.Frame) {
	if !c.granted {
		return
	}
	c.granted = false
	c.throttle = quota.Larger(c.grant.Settle(f.Size()-sizePrefix, c.at), c.throttle)
	if c.throttle.Muted() {
		binary.BigEndian.PutUint32(f.Head()[c.throttleAt():], uint32(c.throttle.Millis()))
	}
}

// giveBack returns a grant whose answer will not be sent.
func (c *call) giveBack() {
	if c.granted {
		c.granted = false
		c.grant.Settle(0, c.at)
	}
}

// sizePrefix is the length of a frame's size, in bytes.
const sizePrefix = 4

// throttleAt is where throttle_time_ms lies in the frame of an answer that
// begins with it: behind size, correlation id and the tags of the header.
func (c *call) throttleAt() int {
	if c.route.FlexibleResponseHeader(c.header.Version) {
		return sizePrefix + 5
	}
	return sizePrefix + 4
}
