package handlers

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// TestLongAnswersTakeTurns: those that tell of all partitions wait while others make
// theirs, short ones, records and fetches do not, and each gives its turn back.
func TestLongAnswersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.topic("orders", 2000)
		for range cap(r.answering) {
			r.answering.Take()
		}
		var answered atomic.Int32
		for key, asked := range map[kafka.APIKey]struct {
			version int16
			req     codec.Message
		}{
			kafka.KeyMetadata:                {9, &message.MetadataRequest{}},
			kafka.KeyDescribeLogDirs:         {4, &message.DescribeLogDirsRequest{}},
			kafka.KeyDescribeTopicPartitions: {0, &message.DescribeTopicPartitionsRequest{ResponsePartitionLimit: 2000}},
		} {
			p := r.connect(plainListener)
			go func() {
				p.ask(key, asked.version, asked.req)
				answered.Add(1)
			}()
			synctest.Wait()
		}
		p := r.connect(plainListener)
		p.ask(kafka.KeyFetch, 12, wideFetch("orders", 2000))
		p.ask(kafka.KeyProduce, 9, produceTo("orders", kafka.TopicID{}, 0, 1, batch("a")))
		p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{Name: ptr("none")}}})
		synctest.Wait()
		if n := answered.Load(); n != 0 {
			t.Errorf("%d long answers were made without a turn", n)
		}
		for range cap(r.answering) {
			r.answering.Pass()
		}
		synctest.Wait()
		if n := answered.Load(); n != 3 || len(r.answering) != 0 {
			t.Errorf("%d of 3 were made, %d turns are taken", n, len(r.answering))
		}
	})
}

// wideFetch asks for all partitions of a topic, and does not wait.
func wideFetch(topic string, partitions int32) *message.FetchRequest {
	req := fetchFrom(topic, kafka.TopicID{}, 0, 0)
	for i := int32(1); i < partitions; i++ {
		p := req.Topics[0].Partitions[0]
		p.Partition = i
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	return req
}

// TestWideFetchesTakeTurns: those of many partitions are made ready in turn, wait for
// records without one, and give it back; others take none.
func TestWideFetchesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.topic("orders", 2000)
		for range cap(r.fetching) {
			r.fetching.Take()
		}
		r.connect(plainListener).ask(kafka.KeyFetch, 12, wideFetch("orders", 10))
		var answered atomic.Bool
		p := r.connect(plainListener)
		go func() {
			req := wideFetch("orders", 2000)
			req.MaxWaitMs = 10_000
			p.ask(kafka.KeyFetch, 12, req)
			answered.Store(true)
		}()
		synctest.Wait()
		if answered.Load() {
			t.Error("a wide fetch was answered without a turn")
		}
		r.fetching.Pass()
		synctest.Wait()
		if n := len(r.fetching); answered.Load() || n != cap(r.fetching)-1 {
			t.Errorf("a fetch that waits for records has a turn: %d are taken", n)
		}
		time.Sleep(11 * time.Second)
		if n := len(r.fetching); !answered.Load() || n != cap(r.fetching)-1 {
			t.Errorf("it was answered: %v, %d turns are taken", answered.Load(), n)
		}
	})
}
