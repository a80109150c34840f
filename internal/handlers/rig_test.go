package handlers

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// rig is what moves records, without sockets: real logs in memory, real
// metadata, real quotas. Nothing of it runs in the background, so that it lives
// in bubbles and under benchmarks, and the folder can be opened again.
type rig struct {
	*Handlers
	store *segment.Store
	meta  *metadata.Store
}

// newRig has topics flush as asked unless they ask for something stronger.
func newRig(t testing.TB, flush storage.Flush) *rig {
	t.Helper()
	return openRig(t, vfs.Memory(), flush)
}

func openRig(t testing.TB, fs vfs.FS, flush storage.Flush) *rig {
	t.Helper()
	o := segment.DefaultOptions()
	o.FS, o.Dir, o.DiskReserve = fs, "/data", 0
	log, reg := zap.NewNop(), prometheus.NewRegistry()
	store, err := segment.Open(o, log, reg)
	if err != nil {
		t.Fatal(err)
	}
	metaLog, err := store.Open(metadata.LogPartition, metadata.LogID, metadata.LogConfig())
	if err != nil {
		t.Fatal(err)
	}
	mo := metadata.Options{NodeID: 1, Flush: flush, FlushInterval: time.Second}
	meta, err := metadata.Open(context.Background(), metaLog, mo, log, reg)
	if err != nil {
		t.Fatal(err)
	}
	h := New(DefaultOptions(), Collaborators{
		Metadata: meta, Store: store, Quotas: quota.New(quota.UserModel(), quota.DefaultOptions(), log, reg), Authorizer: auth.Everyone{},
	}, log, reg)
	return &rig{Handlers: h, store: store, meta: meta}
}

// stop ends the store, so that the folder can be opened again.
func (r *rig) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.store.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// topic makes a topic, with pairs of configs, and gives its id.
func (r *rig) topic(t testing.TB, name string, partitions int32, configs ...string) kafka.TopicID {
	t.Helper()
	c := metadata.TopicCreated{Name: name, ID: newTopicID(), Partitions: partitions, Configs: map[string]string{}}
	for i := 0; i < len(configs); i += 2 {
		c.Configs[configs[i]] = configs[i+1]
	}
	if _, err := r.meta.Commit(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func (r *rig) deleteTopic(t testing.TB, id kafka.TopicID) {
	t.Helper()
	if _, err := r.meta.Commit(context.Background(), metadata.TopicDeleted{ID: id}); err != nil {
		t.Fatal(err)
	}
}

// limit gives everybody a quota, in bytes per second; 0 is none.
func (r *rig) limit(produce, fetch float64) {
	limits := quota.Limits{}
	if produce > 0 {
		limits[kafka.ProducerByteRate] = produce
	}
	if fetch > 0 {
		limits[kafka.ConsumerByteRate] = fetch
	}
	r.Quotas.SetBase(map[string]quota.Limits{kafka.Anonymous.Name: limits})
}

// peer is one connection.
type peer struct {
	t       testing.TB
	session server.Session
	client  string
	ctx     context.Context
}

func (r *rig) connect(t testing.TB) *peer {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092}
	return &peer{t: t, client: "rig", ctx: context.Background(), session: r.Connect(server.Conn{ID: 1, Listener: plainListener, Remote: at, Local: at})}
}

// reply is an answer, taken apart.
type reply struct {
	server.Answer
	message codec.Message // nil: nothing was written
	size    int           // header and body, in bytes
	request int           // the same of the request
	at      time.Time
}

// muted is how long the connection is not read.
func (r reply) muted() time.Duration {
	if r.Mute == nil {
		return 0
	}
	return r.Mute.Remaining(r.at)
}

// ask sends a request and reads its answer, whose commit is waited for.
func (p *peer) ask(key kafka.APIKey, version int16, m codec.Message) reply {
	p.t.Helper()
	r, err := p.try(key, version, m)
	if err != nil {
		p.t.Fatalf("%s v%d: %v", key, version, err)
	}
	return r
}

func (p *peer) try(key kafka.APIKey, version int16, m codec.Message) (reply, error) {
	p.t.Helper()
	frame := p.frame(key, version, m)
	a, err := p.session.Serve(p.ctx, &server.Request{Frame: frame, Received: time.Now()})
	if err != nil {
		return reply{}, err
	}
	if a.Wait != nil {
		if err := a.Wait(p.ctx); err != nil {
			return reply{}, err
		}
	}
	r := reply{Answer: a, request: len(frame), at: time.Now()}
	if a.Payload != nil {
		p.read(key, version, &r)
	}
	return r, nil
}

// frame is a request as it comes from the wire, without its size.
func (p *peer) frame(key kafka.APIKey, version int16, m codec.Message) []byte {
	p.t.Helper()
	api, _ := message.Lookup(key)
	h := codec.RequestHeader{Key: key, Version: version, CorrelationID: 7, ClientID: p.client, HasClientID: true}
	frame, err := codec.EncodeRequest(h, api.IsFlexible(version), m)
	if err != nil {
		p.t.Fatal(err)
	}
	return frame[4:]
}

func (p *peer) read(key kafka.APIKey, version int16, r *reply) {
	p.t.Helper()
	api, _ := message.Lookup(key)
	var out bytes.Buffer
	if _, err := r.Payload.WriteTo(&out); err != nil {
		p.t.Fatal(err)
	}
	r.Payload.Release()
	r.size = out.Len() - 4
	h, body, err := codec.ParseResponseHeader(out.Bytes()[4:], api.FlexibleResponseHeader(version))
	if err != nil || h.CorrelationID != 7 {
		p.t.Fatalf("response header %v: %v", h, err)
	}
	r.message = api.NewResponse()
	if err := codec.Decode(body, version, api.IsFlexible(version), r.message, 1<<24); err != nil {
		p.t.Fatal(err)
	}
}

// batch is records with the given values, of no producer, now.
func batch(values ...string) record.Batch {
	b := record.NewBuilder(record.None)
	for _, v := range values {
		b.Add(time.Now().UnixMilli(), nil, []byte(v))
	}
	return b.Batch()
}

// sized is a batch of about n bytes, never more.
func sized(n int) record.Batch {
	value := make([]byte, n)
	for {
		b := record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, value).Batch()
		if len(b) <= n {
			return b
		}
		value = value[:len(value)-(len(b)-n)]
	}
}

// produceTo is a request for one partition.
func produceTo(topic string, id kafka.TopicID, partition int32, acks int16, records []byte) *message.ProduceRequest {
	return &message.ProduceRequest{Acks: acks, TimeoutMs: 1000, TopicData: []message.ProduceTopic{{Name: topic, TopicID: id,
		PartitionData: []message.ProducePartition{{Index: partition, Records: codec.Records{Bytes: records}}}}}}
}

// produce appends one batch and gives what the answer says of it.
func (p *peer) produce(version int16, topic string, id kafka.TopicID, records []byte) message.ProduceResponsePartition {
	p.t.Helper()
	r := p.ask(kafka.KeyProduce, version, produceTo(topic, id, 0, -1, records))
	return r.message.(*message.ProduceResponse).Responses[0].PartitionResponses[0]
}

// fetchFrom is a request for one partition, without a session, that does not
// wait.
func fetchFrom(topic string, id kafka.TopicID, partition int32, offset int64) *message.FetchRequest {
	return &message.FetchRequest{ReplicaID: -1, MinBytes: 1, MaxBytes: 1 << 20, SessionEpoch: -1,
		Topics: []message.FetchTopic{{Topic: topic, TopicID: id, Partitions: []message.FetchPartition{{
			Partition: partition, CurrentLeaderEpoch: -1, FetchOffset: offset, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: 1 << 20}}}}}
}

// fetched asks for the one partition of a request.
func (p *peer) fetched(version int16, req *message.FetchRequest) message.FetchResponsePartition {
	p.t.Helper()
	resp := p.ask(kafka.KeyFetch, version, req).message.(*message.FetchResponse)
	if resp.ErrorCode != kafka.NoError || len(resp.Responses) != 1 || len(resp.Responses[0].Partitions) != 1 {
		p.t.Fatalf("fetch v%d: %+v", version, resp)
	}
	return resp.Responses[0].Partitions[0]
}

// values are those of all records in some batches.
func values(t testing.TB, records []byte) []string {
	t.Helper()
	var all []string
	for len(records) > 0 {
		b, rest, err := record.Next(records)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		for r, err := range b.Records() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(r.Value))
		}
		records = rest
	}
	return all
}
