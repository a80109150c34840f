package broker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// A transactional producer is told that there are no transactions, at its first
// request and by a code that it does not try again for.
func TestTransactionsAreNotServed(t *testing.T) {
	b := brokertest.Start(t)
	client := newClient(t, b.Plain, kgo.TransactionalID("tx"))
	err := client.BeginTransaction()
	if err == nil {
		err = client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr()
	}
	if !errors.Is(err, kerr.UnsupportedVersion) {
		t.Errorf("got %v", err)
	}
	for _, tried := range []kafka.Code{kafka.CoordinatorNotAvailable, kafka.NotCoordinator, kafka.CoordinatorLoadInProgress} {
		if got := scrape(t, b).sum("kaasd_request_errors_total", "error", tried.String()); got != 0 {
			t.Errorf("%v answers were %s, which clients come back for", got, tried)
		}
	}
}

// What a transactional client may ask first, in every version, is refused by a
// code that ends it: Java comes back for a minute for 14, 15 and 16, and
// librdkafka, which finds coordinators in version 2, for all but 53 and 31.
func TestFirstRequestsOfATransaction(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	for version := range int16(7) {
		if version > 0 {
			resp := call[message.FindCoordinatorResponse](p, version, &message.FindCoordinatorRequest{Key: "tx", KeyType: 1, CoordinatorKeys: []string{"tx"}})
			code, text := resp.ErrorCode, resp.ErrorMessage
			if version >= 4 {
				code, text = resp.Coordinators[0].ErrorCode, resp.Coordinators[0].ErrorMessage
			}
			want := kafka.UnsupportedVersion
			if version == 2 {
				want = kafka.TransactionalIDAuthorizationFailed
			}
			if code != want || !strings.Contains(deref(text), "without transactional.id") {
				t.Errorf("FindCoordinator %d: %s, %q", version, code, deref(text))
			}
		}
		if version > 5 {
			continue
		}
		resp := call[message.InitProducerIdResponse](p, version, &message.InitProducerIdRequest{
			TransactionalID: ptr("tx"), TransactionTimeoutMs: 60_000, ProducerID: -1, ProducerEpoch: -1,
		})
		if resp.ErrorCode != kafka.TransactionalIDAuthorizationFailed || resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
			t.Errorf("InitProducerId %d: %+v", version, resp)
		}
	}
	for _, key := range []int16{24, 25, 26, 28} { // what would follow
		follows := dial(t, p.RemoteAddr().String())
		follows.raw(sized(header(key, 0), make([]byte, 64)))
		follows.mustEnd()
	}
}

// No transaction can be open, so that read_committed is told of everything: the
// last stable offset is the end, and nothing is aborted.
func TestEverythingIsCommitted(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	p.mustProduce("t", batch(10))
	for id, want := range map[*string]kafka.Code{nil: kafka.TransactionalIDAuthorizationFailed, ptr("tx"): kafka.InvalidTxnState} {
		req := produceRequest("t", -1, transactional())
		req.TransactionalID = id
		if got := p.producedTo(9, req); got.ErrorCode != want {
			t.Errorf("a transactional batch of %q: %s, want %s", deref(id), got.ErrorCode, want)
		}
	}
	for version := int16(2); version <= 11; version++ {
		for isolation := range int8(2) {
			resp := call[message.ListOffsetsResponse](p, version, &message.ListOffsetsRequest{ReplicaID: -1, IsolationLevel: isolation, Topics: []message.ListOffsetsTopic{{
				Name: "t", Partitions: []message.ListOffsetsPartition{{CurrentLeaderEpoch: -1, Timestamp: -1}},
			}}})
			if got := resp.Topics[0].Partitions[0]; got.ErrorCode != kafka.NoError || got.Offset != 1 {
				t.Errorf("version %d, isolation %d: %+v", version, isolation, got)
			}
		}
	}
	req := fetchRequest("t", 0)
	req.IsolationLevel, req.MaxWaitMs = 1, int32(time.Minute.Milliseconds())
	got := p.fetchOne(12, req)
	if got.LastStableOffset != 1 || got.HighWatermark != 1 || got.AbortedTransactions == nil || len(got.AbortedTransactions) > 0 || len(got.Records.Bytes) == 0 {
		t.Errorf("read committed: %+v", got)
	}
}
