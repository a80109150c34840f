package broker_test

import (
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Who may not read a topic gets empty records and never null ones, in every
// version, and no offset of it.
func TestDeniedRecordsAreEmpty(t *testing.T) {
	b := brokertest.Start(t, withFile(t, credentials(t, alice, bob)), func(c *broker.Config) {
		c.Access = broker.Access{Enabled: true, SuperUsers: []string{"User:alice"}}
	})
	admin, p := dialAs(t, b.SASL, "alice", "a-secret"), dialAs(t, b.SASL, "bob", "b-secret")
	id := admin.newTopic("t")
	admin.mustProduce("t", batch(10))
	for version := int16(4); version <= 18; version++ {
		req := fetchRequest("t", 0)
		req.Topics[0].TopicID = id
		got := p.fetchOne(version, req)
		if got.ErrorCode != kafka.TopicAuthorizationFailed || got.Records.Bytes == nil || len(got.Records.Bytes) > 0 {
			t.Errorf("version %d: %s, null %v, %d bytes", version, got.ErrorCode, got.Records.Bytes == nil, len(got.Records.Bytes))
		}
		if got.HighWatermark != -1 || version >= 5 && got.LogStartOffset != -1 || got.LastStableOffset != -1 {
			t.Errorf("version %d: tells offsets %d to %d", version, got.LogStartOffset, got.HighWatermark)
		}
	}
}

// The records of an answer that is empty because of a throttle are not null
// either, nor those of a session in which nothing happened.
func TestQuietAnswersHaveNoNullRecords(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	req := fetchRequest("t", 0)
	req.SessionEpoch = 0
	opened := call[message.FetchResponse](p, 12, req)
	if got := opened.Responses[0].Partitions[0].Records.Bytes; opened.SessionID == 0 || got == nil || len(got) > 0 {
		t.Errorf("the first answer: session %d, null %v", opened.SessionID, got == nil)
	}
	next := &message.FetchRequest{ReplicaID: -1, MaxBytes: 1 << 20, SessionID: opened.SessionID, SessionEpoch: 1}
	if got := call[message.FetchResponse](p, 12, next).Responses; got == nil || len(got) > 0 {
		t.Errorf("the next answer: null %v, %d topics", got == nil, len(got))
	}
}
