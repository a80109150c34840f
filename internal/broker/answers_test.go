package broker_test

import (
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Answers come in the order of the requests; a parked fetch holds back its own
// connection alone.
func TestAnswersComeInOrder(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	client.newTopic("t")
	p := dial(t, b.Plain)
	parked := fetchRequest("t", 0)
	parked.MaxWaitMs = 600_000
	p.send(12, parked)
	for range 33 {
		p.send(0, &message.ApiVersionsRequest{})
		p.send(9, produceRequest("t", 1, batch(10)))
		p.send(9, produceRequest("none", 1, batch(10)))
	}
	client.served(t)
	client.mustProduce("t", batch(10)) // wakes the fetch
	var fetched message.FetchResponse
	p.read(&fetched)
	if n := len(batches(t, fetched.Responses[0].Partitions[0].Records.Bytes)); n != 1 {
		t.Errorf("the fetch woke with %d batches", n)
	}
	for i := range int64(33) {
		p.read(&message.ApiVersionsResponse{})
		var good, bad message.ProduceResponse
		p.read(&good)
		p.read(&bad)
		if got := good.Responses[0].PartitionResponses[0].BaseOffset; got != i+1 {
			t.Errorf("produce %d: offset %d", i, got)
		}
		if got := bad.Responses[0].PartitionResponses[0].ErrorCode; got != kafka.UnknownTopicOrPartition {
			t.Errorf("produce %d to no topic: %s", i, got)
		}
	}
}

// Records of a fetch are empty and never null: of an empty partition, one that
// does not exist and an offset that is not there.
func TestRecordsAreNeverNull(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	id := p.newTopic("t")
	for version := int16(4); version <= 18; version++ {
		for _, c := range []struct {
			topic  string
			id     kafka.TopicID
			offset int64
		}{{"t", id, 0}, {"t", id, 5}, {"none", kafka.TopicID{9}, 0}} {
			req := fetchRequest(c.topic, c.offset)
			req.Topics[0].TopicID = c.id
			resp := call[message.FetchResponse](p, version, req)
			if got := resp.Responses[0].Partitions[0].Records.Bytes; got == nil || len(got) != 0 {
				t.Errorf("version %d, topic %s at %d: null %v, %d bytes", version, c.topic, c.offset, got == nil, len(got))
			}
		}
	}
}

// Fetches that are parked on a topic end when it is deleted.
func TestDeletedTopicEndsParkedFetches(t *testing.T) {
	b := brokertest.Start(t)
	admin, p := dial(t, b.Plain), dial(t, b.Plain)
	admin.newTopic("t")
	wait := fetchRequest("t", 0)
	wait.MaxWaitMs = 600_000
	p.send(12, wait)
	call[message.DeleteTopicsResponse](admin, 5, &message.DeleteTopicsRequest{TimeoutMs: 30_000, TopicNames: []string{"t"}})
	var resp message.FetchResponse
	p.read(&resp)
	if got := resp.Responses[0].Partitions[0].ErrorCode; got != kafka.UnknownTopicOrPartition {
		t.Errorf("got %s", got)
	}
}
