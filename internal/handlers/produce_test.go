package handlers

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

func TestProduceThenFetchInEveryVersion(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	for v := int16(3); v <= 13; v++ {
		got := p.produce(v, "orders", id, batch("a", "b"))
		want := message.ProduceResponsePartition{BaseOffset: 2 * int64(v-3), LogAppendTimeMs: -1, LogStartOffset: 0}
		if v < 5 {
			want.LogStartOffset = -1
		}
		if v >= 8 {
			want.RecordErrors = []message.ProduceResponseRecordError{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("v%d: %s", v, diff)
		}
	}
	for v := int16(4); v <= 18; v++ {
		got := p.fetched(v, fetchFrom("orders", id, 0, 20))
		if got.ErrorCode != kafka.NoError || got.HighWatermark != 22 || got.LastStableOffset != 22 || got.PreferredReadReplica != -1 {
			t.Errorf("v%d: %+v", v, got)
		}
		if diff := cmp.Diff([]string{"a", "b"}, values(t, got.Records.Bytes)); diff != "" {
			t.Errorf("v%d: %s", v, diff)
		}
		if v >= 12 && got.AbortedTransactions != nil {
			t.Errorf("v%d: aborted transactions %v, want null", v, got.AbortedTransactions)
		}
	}
}

func TestProduceCodes(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	small := r.topic("small", 1, "max.message.bytes", "100").ID
	internal := r.topic("__consumer_offsets", 1).ID
	bad := batch("a")
	bad[len(bad)-1]++
	late := record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, nil).Add(time.Now().Add(2*time.Hour).UnixMilli(), nil, nil).Batch()
	transactional := batch("a")
	transactional[22] |= 1 << 4
	reseal(transactional)
	with := func(req *message.ProduceRequest, txn string) *message.ProduceRequest {
		req.TransactionalID = &txn
		return req
	}
	for _, tt := range []struct {
		name    string
		version int16
		req     *message.ProduceRequest
		want    kafka.Code
	}{
		{"acks 2", 9, produceTo("orders", id, 0, 2, batch("a")), kafka.InvalidRequiredAcks},
		{"acks -2", 13, produceTo("orders", id, 0, -2, batch("a")), kafka.InvalidRequiredAcks},
		{"unknown topic", 12, produceTo("other", id, 0, 1, batch("a")), kafka.UnknownTopicOrPartition},
		{"unknown partition", 13, produceTo("", id, 1, 1, batch("a")), kafka.UnknownTopicOrPartition},
		{"negative partition", 9, produceTo("orders", id, -1, 1, batch("a")), kafka.UnknownTopicOrPartition},
		{"unknown id", 13, produceTo("", kafka.TopicID{9}, 0, 1, batch("a")), kafka.UnknownTopicID},
		{"zero id", 13, produceTo("orders", kafka.TopicID{}, 0, 1, batch("a")), kafka.UnknownTopicID},
		{"internal", 13, produceTo("", internal, 0, 1, batch("a")), kafka.InvalidTopic},
		{"the metadata log", 9, produceTo("__kaasd_metadata", id, 0, 1, batch("a")), kafka.UnknownTopicOrPartition},
		{"zstd before v7", 6, produceTo("orders", id, 0, 1, record.NewBuilder(record.Zstd).Add(0, nil, nil).Batch()), kafka.UnsupportedCompressionType},
		{"zstd", 7, produceTo("orders", id, 0, 1, record.NewBuilder(record.Zstd).Add(0, nil, nil).Batch()), kafka.NoError},
		{"too large", 9, produceTo("small", small, 0, 1, sized(150)), kafka.MessageTooLarge},
		{"checksum", 9, produceTo("orders", id, 0, 1, bad), kafka.CorruptMessage},
		{"null", 7, produceTo("orders", id, 0, 1, nil), kafka.InvalidRecord},
		{"empty", 9, produceTo("orders", id, 0, 1, []byte{}), kafka.InvalidRecord},
		{"two batches", 9, produceTo("orders", id, 0, 1, append(batch("a"), batch("b")...)), kafka.InvalidRecord},
		{"too late", 9, produceTo("orders", id, 0, 1, late), kafka.InvalidTimestamp},
		{"transactional without id", 9, produceTo("orders", id, 0, 1, transactional), kafka.TransactionalIDAuthorizationFailed},
		{"transactional", 9, with(produceTo("orders", id, 0, 1, transactional), "t"), kafka.InvalidTxnState},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := r.connect(plainListener).ask(kafka.KeyProduce, tt.version, tt.req).message.(*message.ProduceResponse)
			got := resp.Responses[0].PartitionResponses[0]
			if got.ErrorCode != tt.want || got.Index != tt.req.TopicData[0].PartitionData[0].Index {
				t.Errorf("got %v for partition %d", got.ErrorCode, got.Index)
			}
			if (got.BaseOffset == -1) != (tt.want != kafka.NoError) {
				t.Errorf("base offset %d with %v", got.BaseOffset, got.ErrorCode)
			}
			if tt.version >= 8 && (got.ErrorMessage == nil) != (tt.want == kafka.NoError) {
				t.Errorf("message %v", got.ErrorMessage)
			}
		})
	}
	t.Run("record errors", func(t *testing.T) {
		got := r.connect(plainListener).produce(9, "orders", id, late)
		if len(got.RecordErrors) != 1 || got.RecordErrors[0].BatchIndex != 1 || *got.RecordErrors[0].BatchIndexErrorMessage == "" {
			t.Errorf("got %+v", got.RecordErrors)
		}
	})
	t.Run("the broker's own client id", func(t *testing.T) {
		p := r.connect(plainListener)
		p.clientID = "__admin_client"
		if got := p.produce(13, "", internal, batch("a")); got.ErrorCode != kafka.NoError {
			t.Errorf("got %v", got.ErrorCode)
		}
	})
}

// reseal makes the checksum fit.
func reseal(b record.Batch) { binary.BigEndian.PutUint32(b[17:], b.Sum()) }

func TestProduceErrorsStayInTheirPartition(t *testing.T) {
	r := newRig(t)
	r.topic("orders", 2)
	req := &message.ProduceRequest{Acks: 1, TopicData: []message.ProduceTopic{
		{Name: "orders", PartitionData: []message.ProducePartition{
			{Index: 1, Records: codec.Records{Bytes: batch("a")}}, {Index: 7, Records: codec.Records{Bytes: batch("b")}},
			{Index: 0, Records: codec.Records{}}, {Index: 1, Records: codec.Records{Bytes: batch("c")}}}},
		{Name: "other", PartitionData: []message.ProducePartition{{Index: 3, Records: codec.Records{Bytes: batch("d")}}}},
	}}
	resp := r.connect(plainListener).ask(kafka.KeyProduce, 9, req).message.(*message.ProduceResponse)
	type line struct {
		topic     string
		partition int32
		code      kafka.Code
		base      int64
	}
	var got []line
	for _, tr := range resp.Responses {
		for _, pr := range tr.PartitionResponses {
			got = append(got, line{tr.Name, pr.Index, pr.ErrorCode, pr.BaseOffset})
		}
	}
	want := []line{
		{"orders", 1, kafka.NoError, 0}, {"orders", 7, kafka.UnknownTopicOrPartition, -1}, {"orders", 0, kafka.InvalidRecord, -1},
		{"orders", 1, kafka.NoError, 1}, {"other", 3, kafka.UnknownTopicOrPartition, -1},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Error(diff)
	}
}

func TestProduceWithoutAnswer(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	good := p.ask(kafka.KeyProduce, 9, produceTo("orders", id, 0, 0, batch("a")))
	if good.message != nil || good.Close {
		t.Errorf("acks=0: answer %v, close %v", good.message, good.Close)
	}
	if got := values(t, p.fetched(12, fetchFrom("orders", id, 0, 0)).Records.Bytes); len(got) != 1 {
		t.Errorf("stored %q", got)
	}
	bad := p.ask(kafka.KeyProduce, 9, produceTo("other", id, 0, 0, batch("a")))
	if bad.message != nil || !bad.Close {
		t.Errorf("acks=0 to an unknown topic: answer %v, close %v", bad.message, bad.Close)
	}
}

func TestProduceSequences(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	for _, s := range []struct {
		producer int64
		epoch    int16
		sequence int32
		want     kafka.Code
		base     int64
	}{
		{1, 0, 0, kafka.NoError, 0},
		{1, 0, 1, kafka.NoError, 1},
		{1, 0, 0, kafka.NoError, 0}, // again
		{1, 0, 5, kafka.OutOfOrderSequenceNumber, -1},
		{1, 1, 0, kafka.NoError, 2},
		{1, 0, 2, kafka.InvalidProducerEpoch, -1},
		{2, 0, math.MaxInt32, kafka.NoError, 3}, // the first one is any
		{2, 0, 0, kafka.NoError, 4},
	} {
		b := record.NewBuilder(record.None).Producer(s.producer, s.epoch, s.sequence).Add(time.Now().UnixMilli(), nil, nil).Batch()
		got := p.produce(9, "orders", id, b)
		if got.ErrorCode != s.want || got.BaseOffset != s.base {
			t.Errorf("sequence %+v: %v at %d", s, got.ErrorCode, got.BaseOffset)
		}
	}
}

func TestProduceAppendTime(t *testing.T) {
	for c := record.None; c <= record.Zstd; c++ {
		r := newRig(t)
		id := r.topic("orders", 1, "message.timestamp.type", "LogAppendTime").ID
		p := r.connect(plainListener)
		before := time.Now().UnixMilli()
		got := p.produce(13, "", id, record.NewBuilder(c).Add(1, nil, []byte("a")).Batch())
		if got.LogAppendTimeMs < before || got.LogAppendTimeMs > time.Now().UnixMilli() {
			t.Fatalf("%v: append time %d", c, got.LogAppendTimeMs)
		}
		stored := record.Batch(p.fetched(12, fetchFrom("orders", id, 0, 0)).Records.Bytes)
		if err := stored.Check(); err != nil || !stored.AppendTime() || stored.Codec() != c || stored.MaxTimestamp() != got.LogAppendTimeMs {
			t.Errorf("%v: stored as %v, append time %v %d: %v", c, stored.Codec(), stored.AppendTime(), stored.MaxTimestamp(), err)
		}
	}
}

func TestProduceRecompresses(t *testing.T) {
	r := newRig(t)
	for name, want := range map[string]record.Codec{"producer": record.Gzip, "uncompressed": record.None, "zstd": record.Zstd, "gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4} {
		id := r.topic("t-"+name, 1, "compression.type", name).ID
		p := r.connect(plainListener)
		got := p.produce(13, "", id, record.NewBuilder(record.Gzip).Add(time.Now().UnixMilli(), nil, []byte("value")).Batch())
		if got.ErrorCode != kafka.NoError {
			t.Fatalf("%s: %v", name, got.ErrorCode)
		}
		stored := p.fetched(13, fetchFrom("", id, 0, 0)).Records.Bytes
		if codec := record.Batch(stored).Codec(); codec != want {
			t.Errorf("%s: stored as %v", name, codec)
		}
		if diff := cmp.Diff([]string{"value"}, values(t, stored)); diff != "" {
			t.Error(diff)
		}
	}
	t.Run("the size is judged again", func(t *testing.T) {
		id := r.topic("plain", 1, "compression.type", "uncompressed", "max.message.bytes", "200").ID
		b := record.NewBuilder(record.Gzip).Add(time.Now().UnixMilli(), nil, make([]byte, 1000)).Batch()
		if got := r.connect(plainListener).produce(13, "", id, b); got.ErrorCode != kafka.MessageTooLarge {
			t.Errorf("%d bytes compressed: %v", len(b), got.ErrorCode)
		}
	})
}

func TestProduceWaitsForTheDisk(t *testing.T) {
	r := newRig(t, func(s *setup) { s.flush = storage.FlushAlways })
	a, b := r.topic("a", 1).ID, r.topic("b", 1).ID
	req := produceTo("", a, 0, 1, batch("a"))
	req.TopicData = append(req.TopicData, produceTo("", b, 0, 1, batch("b")).TopicData...)
	p := r.connect(plainListener)
	got := p.ask(kafka.KeyProduce, 13, req)
	if got.Wait == nil || got.Alone {
		t.Fatalf("wait %v, alone %v", got.Wait != nil, got.Alone)
	}
	for _, id := range []kafka.TopicID{a, b} {
		if out := p.fetched(13, fetchFrom("", id, 0, 0)); out.HighWatermark != 1 {
			t.Errorf("high watermark %d after the wait", out.HighWatermark)
		}
	}
	if got := p.ask(kafka.KeyProduce, 13, produceTo("", a, 0, 0, batch("c"))); got.Wait == nil {
		t.Error("acks=0 does not see its records committed")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	p.ctx = ended
	if got, err := p.try(kafka.KeyProduce, 13, produceTo("", a, 0, 1, batch("d"))); err == nil && got.message == nil {
		t.Error("an ended wait is an answer")
	}
}
