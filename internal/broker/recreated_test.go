package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// The id of a topic that is gone is 100 for everybody who comes with it, and
// its name leads to the new one, which begins with nothing.
func TestOldIDsOfATopicMadeAgain(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		p := dial(t, b.Plain)
		old := p.newTopic("t")
		p.mustProduce("t", batch(10))
		req := fetchRequest("", 0)
		req.Topics[0].TopicID, req.SessionEpoch = old, 0
		session := call[message.FetchResponse](p, 13, req).SessionID
		p.deleteTopic("t")
		now := p.newTopic("t")
		gone := call[message.FetchResponse](p, 13, &message.FetchRequest{ReplicaID: -1, MaxBytes: 1 << 20, SessionID: session, SessionEpoch: 1})
		if len(gone.Responses) != 1 || gone.Responses[0].Partitions[0].ErrorCode != kafka.UnknownTopicID {
			t.Errorf("the session of the old topic: %+v", gone)
		}
		for range 2 {
			for id, want := range map[kafka.TopicID]kafka.Code{old: kafka.UnknownTopicID, now: kafka.NoError} {
				if got := p.codesByID(id); got != [3]kafka.Code{want, want, want} {
					t.Errorf("id %s: %v, want %s", id, got, want)
				}
			}
			if got := topicID(p, "t"); got != now {
				t.Errorf("the topic is %s, want %s", got, now)
			}
			p = dial(t, again().Plain)
		}
		if start, end := offsetAt(p, "t", -2).Offset, endOffset(p, "t"); start != 0 || end != 2 {
			t.Errorf("the new topic goes from %d to %d, want 0 to 2", start, end)
		}
	})
}

// codesByID asks for the topic of an id, and appends to and reads from it.
func (p *peer) codesByID(id kafka.TopicID) [3]kafka.Code {
	p.t.Helper()
	meta := call[message.MetadataResponse](p, 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{TopicID: id}}})
	produce := produceRequest("", -1, batch(10))
	produce.TopicData[0].TopicID = id
	fetch := fetchRequest("", 0)
	fetch.Topics[0].TopicID = id
	return [3]kafka.Code{meta.Topics[0].ErrorCode, p.producedTo(13, produce).ErrorCode, p.fetchOne(13, fetch).ErrorCode}
}

func (p *peer) deleteTopic(name string) {
	p.t.Helper()
	resp := call[message.DeleteTopicsResponse](p, 5, &message.DeleteTopicsRequest{TimeoutMs: 30_000, TopicNames: []string{name}})
	if got := resp.Responses[0].ErrorCode; got != kafka.NoError {
		p.t.Fatalf("delete topic %s: %s", name, got)
	}
}

// A client that holds an id that is gone learns of it, lets the topic go and
// takes the new one up, without being made anew.
func TestClientTakesUpATopicMadeAgain(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.Properties["auto.create.topics.enable"] = "false" })
	client := newClient(t, b.Plain, kgo.ConsumeTopics("t"), kgo.MetadataMinAge(10*ms), kgo.UnknownTopicRetries(1),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	admin := kadm.NewClient(newClient(t, b.Plain))
	for _, value := range []string{"one", "two"} {
		if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "t"); err != nil {
			t.Fatal(err)
		}
		eventually(t, value+" is produced", func() bool {
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(value)}).FirstErr(); err != nil {
				client.PurgeTopicsFromClient("t")
				client.AddConsumeTopics("t")
				return false
			}
			return true
		})
		for read := ""; read != value; {
			client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { read = string(r.Value) })
		}
		if _, err := admin.DeleteTopic(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
}
