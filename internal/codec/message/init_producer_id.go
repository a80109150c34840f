package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// InitProducerIdRequest asks for a producer id (key 22, KIP-98).
type InitProducerIdRequest struct {
	TransactionalID      *string
	TransactionTimeoutMs int32
	ProducerID           int64
	ProducerEpoch        int16
}

// Fields is the wire order.
func (m *InitProducerIdRequest) Fields(c *codec.Cursor) {
	c.NullString("TransactionalId", 0, &m.TransactionalID, "transactional producer that asks; null: an idempotent one")
	c.Int32("TransactionTimeoutMs", &m.TransactionTimeoutMs, "open transactions end after this, in ms")
	if c.Version >= 3 {
		c.Int64("ProducerId", &m.ProducerID, "id the producer has; -1: none")
		c.Int16("ProducerEpoch", &m.ProducerEpoch, "epoch the producer has; -1: none")
	} else {
		codec.Default(c, &m.ProducerID, -1)
		codec.Default(c, &m.ProducerEpoch, -1)
	}
}

// InitProducerIdResponse gives a producer id.
type InitProducerIdResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ProducerID     int64
	ProducerEpoch  int16
}

// Fields is the wire order.
func (m *InitProducerIdResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.Int64("ProducerId", &m.ProducerID, "id of the producer; -1 with an error")
	c.Int16("ProducerEpoch", &m.ProducerEpoch, "epoch of the producer")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *InitProducerIdResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }
