package handlers

import (
	"context"
	"errors"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// InitProducerId (key 22, KIP-98, KIP-360, KIP-679): v0-5, flexible from v2. Without a
// transactional id every request gets a new producer id with epoch 0.
//
// Differs from Kafka: transactions are not served, and a transactional id is
// answered with 53: the code that librdkafka, too, does not come back for.
func (h *Handlers) initProducerId(c *call, req *message.InitProducerIdRequest) (*message.InitProducerIdResponse, error) {
	id, err := h.newProducerID(c, req)
	if err != nil {
		if errors.Is(err, context.Cause(c.ctx)) {
			return nil, err
		}
		return &message.InitProducerIdResponse{ErrorCode: c.code(err), ProducerID: -1, ProducerEpoch: -1}, nil
	}
	return &message.InitProducerIdResponse{ProducerID: id}, nil
}

func (h *Handlers) newProducerID(c *call, req *message.InitProducerIdRequest) (int64, error) {
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "":
		return 0, kafka.Errorf(kafka.InvalidRequest, "the transactional id is empty")
	case req.TransactionalID != nil:
		return 0, noTransactions(kafka.TransactionalIDAuthorizationFailed)
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		return 0, kafka.Errorf(kafka.InvalidRequest, "producer id %d and epoch %d: both are -1 or neither is", req.ProducerID, req.ProducerEpoch)
	}
	// Who may write to any topic may do so without duplicates (KIP-679). That is asked
	// first: what is denied by the other question is told in the log.
	if !c.h.Authorizer.Anywhere(c.caller(), kafka.OpWrite, kafka.ResourceTopic) {
		if err := c.allow(kafka.OpIdempotentWrite, kafka.Cluster); err != nil {
			return 0, err
		}
	}
	return h.producerIDs.take(c)
}
