package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// What FindCoordinator may be asked for.
const (
	keyGroup       = 0
	keyTransaction = 1
	keyShare       = 2
)

// FindCoordinator (key 10, KIP-699): v0-6, flexible from v3, several keys from
// v4. The coordinator of every group is this broker, under the address of the
// listener that was asked.
//
// Differs from Kafka: there is no coordinator of transactions. Clients give up
// at once on the code they are told: 35 with the reason, and 53 in version 2, in
// which librdkafka asks: it comes back for any other until its time is over.
// There is no coordinator of share groups either, whose state Kafka finds from
// v6 on: 42, as before.
func (h *Handlers) findCoordinator(c *call, req *message.FindCoordinatorRequest) (*message.FindCoordinatorResponse, error) {
	resp := &message.FindCoordinatorResponse{}
	if c.header.Version >= 4 {
		keys, err := distinctNames(req.CoordinatorKeys)
		if err != nil {
			return nil, err
		}
		resp.Coordinators = make([]message.FindCoordinatorResponseCoordinator, len(keys))
		for i, key := range keys {
			resp.Coordinators[i] = c.coordinator(req.KeyType, key)
		}
		return resp, nil
	}
	one := c.coordinator(req.KeyType, req.Key)
	if one.ErrorCode == kafka.NoError {
		one.ErrorMessage = &noError
	}
	resp.ErrorCode, resp.ErrorMessage = one.ErrorCode, one.ErrorMessage
	resp.NodeID, resp.Host, resp.Port = one.NodeID, one.Host, one.Port
	return resp, nil
}

// noError is Kafka's message of success up to version 3; later there is none.
var noError = "NONE"

func (c *call) coordinator(kind int8, key string) message.FindCoordinatorResponseCoordinator {
	if err := c.mayFind(kind, key); err != nil {
		return message.FindCoordinatorResponseCoordinator{Key: key, NodeID: -1, Port: -1, ErrorCode: c.code(err), ErrorMessage: text(err)}
	}
	host, port := c.address()
	return message.FindCoordinatorResponseCoordinator{Key: key, NodeID: int32(c.h.NodeID), Host: host, Port: port, ErrorMessage: new(string)}
}

func (c *call) mayFind(kind int8, key string) error {
	switch kind {
	case keyGroup:
		return c.allow(kafka.OpDescribe, kafka.GroupResource(key))
	case keyTransaction:
		if err := c.allow(kafka.OpDescribe, kafka.Resource{Type: kafka.ResourceTransactionalID, Name: key}); err != nil {
			return err
		}
		code := kafka.UnsupportedVersion
		if c.header.Version == 2 {
			code = kafka.TransactionalIDAuthorizationFailed
		}
		return noTransactions(code)
	}
	if kind == keyShare {
		return kafka.Errorf(kafka.InvalidRequest, "share groups are not served by this broker")
	}
	return kafka.Errorf(kafka.InvalidRequest, "this broker coordinates groups: nothing of type %d", kind)
}

// noTransactions tells the user of a transactional producer what to do; some
// clients show the text, others the code alone.
func noTransactions(code kafka.Code) error {
	return kafka.Errorf(code, "transactions are not served by this broker: use a producer without transactional.id")
}
