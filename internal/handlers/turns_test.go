package handlers

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// TestLongAnswersTakeTurns: those that tell of all partitions wait while others make
// theirs, short ones and records do not, and each gives its turn back.
func TestLongAnswersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.topic("orders", 2000)
		for range cap(r.turns) {
			r.turns.Take()
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
		p.ask(kafka.KeyProduce, 9, produceTo("orders", kafka.TopicID{}, 0, 1, batch("a")))
		p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{Name: ptr("none")}}})
		synctest.Wait()
		if n := answered.Load(); n != 0 {
			t.Errorf("%d long answers were made without a turn", n)
		}
		for range cap(r.turns) {
			r.turns.Pass()
		}
		synctest.Wait()
		if n := answered.Load(); n != 3 || len(r.turns) != 0 {
			t.Errorf("%d of 3 were made, %d turns are taken", n, len(r.turns))
		}
	})
}
