package broker_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// beside is a client that behaves, on a broker that is maltreated by others. It
// must not notice.
type beside struct {
	*peer
	next int64
}

func newBeside(t *testing.T, b *brokertest.Broker) *beside {
	t.Helper()
	p := dial(t, b.Plain)
	p.newTopic("beside")
	return &beside{peer: p}
}

// served appends a record and reads it back, on the connection it always had.
func (c *beside) served(t *testing.T) {
	t.Helper()
	c.t = t
	answer, _ := c.produce("beside", batch(100))
	if answer.ErrorCode != kafka.NoError || answer.BaseOffset != c.next {
		t.Fatalf("beside: got offset %d, %s; want %d", answer.BaseOffset, answer.ErrorCode, c.next)
	}
	fetched := call[message.FetchResponse](c.peer, 12, fetchRequest("beside", c.next))
	if all := batches(t, fetched.Responses[0].Partitions[0].Records.Bytes); len(all) != 1 || all[0].BaseOffset() != c.next {
		t.Fatalf("beside: got %d batches at %d", len(all), c.next)
	}
	c.next++
}

// sized is a frame of a header by hand and whatever follows.
func sized(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// header is a request header of version 1 with correlation id 7 and client id
// "abc"; tags is a byte more, the empty tag section of version 2.
func header(key, version int16) []byte {
	h := binary.BigEndian.AppendUint16(nil, uint16(key))
	h = binary.BigEndian.AppendUint16(h, uint16(version))
	return append(h, 0, 0, 0, 7, 0, 3, 'a', 'b', 'c')
}

func size(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// bomb is an array of more elements than any frame has room for.
var bomb, compactBomb = []byte{0x7f, 0xff, 0xff, 0xff}, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}

// The connection is closed without an answer, and nobody else notices: traps
// 55, 56, 57 and 58, O-e01, O-e02.
func TestHostileFramesAreCutOff(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	zeros := make([]byte, 64)
	for _, c := range []struct {
		name  string
		bytes []byte
		sasl  bool // on the listener that asks for a log-in
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: kaasd\r\n\r\n"), false},
		{"HTTP before the log-in", []byte("GET / HTTP/1.1\r\nHost: kaasd\r\n\r\n"), true},
		{"TLS", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on"), false},
		{"SSH", []byte("SSH-2.0-OpenSSH_9.9\r\n"), false},
		{"size -1", bytes.Repeat([]byte{0xff}, 20), false},
		{"size 0", size(0), false},
		{"size 2 GiB", size(1<<31 - 1), false},
		{"size 2 GiB before the log-in", size(1<<31 - 1), true},
		{"size 100 MiB before the log-in", size(100 << 20), true},
		{"size 600 KiB before the log-in", append(size(600<<10), header(18, 3)...), true},
		{"a header that is cut off", sized([]byte{0, 18, 0}), false},
		{"a client id beyond the frame", sized([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff}), false},
		{"unknown key", sized(header(93, 0), zeros), false},
		{"a key far away", sized(header(500, 0), zeros), false},
		{"a negative key", sized(header(-1, 0), zeros), false},
		{"a key between brokers", sized(header(4, 0), zeros), false},
		{"a key between controllers", sized(header(56, 0), zeros), false},
		{"Produce 2", sized(header(0, 2), zeros), false},
		{"Produce 14", sized(header(0, 14), zeros), false},
		{"Fetch 3", sized(header(1, 3), zeros), false},
		{"Metadata 14", sized(header(3, 14), zeros), false},
		{"Metadata -1", sized(header(3, -1), zeros), false},
		{"AlterClientQuotas 2", sized(header(49, 2), zeros), false},
		{"names of Metadata", sized(header(3, 1), bomb), false},
		{"compact names of Metadata", sized(header(3, 12), []byte{0}, compactBomb), false},
		{"topics of Produce", sized(header(0, 3), []byte{0xff, 0xff, 0, 1, 0, 0, 0, 0}, bomb), false},
		{"topics of Fetch", sized(header(1, 4), make([]byte, 17), bomb), false},
		{"entries of AlterClientQuotas", sized(header(49, 1), []byte{0}, compactBomb), false},
		{"components of DescribeClientQuotas", sized(header(48, 1), []byte{0}, compactBomb), false},
		{"tags of a header", sized(header(18, 3), compactBomb), false},
		{"tags of a header before the log-in", sized(header(18, 3), compactBomb), true},
		{"tags of a body", sized(header(18, 3), []byte{0, 2, 'a', 2, '1'}, compactBomb), false},
		{"a varint without an end", sized(header(18, 3), bytes.Repeat([]byte{0x80}, 20)), false},
		{"Metadata before the log-in", sized(header(3, 1), []byte{0, 0, 0, 0}), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := b.Plain
			if c.sasl {
				address = b.SASL
			}
			p := dial(t, address)
			p.raw(c.bytes)
			p.mustEnd()
			client.served(t)
		})
	}
	if got := scrape(t, b).sum("kaasd_bad_frames_total"); got == 0 {
		t.Error("no bad frame was counted")
	}
	if got := scrape(t, b).sum("kaasd_unsupported_requests_total"); got != 11 {
		t.Errorf("%v requests of keys and versions that are not served were counted, want 11", got)
	}
}

// Announced sizes and counts make no memory (O-e02): a thousand bombs at once
// leave the process as it was.
func TestBombsMakeNoMemory(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		var open []*peer
		for range 50 {
			p := dial(t, b.Plain)
			p.raw(sized(header(3, 1), bomb))
			open = append(open, p)
		}
		for _, p := range open {
			p.mustEnd()
			_ = p.Close()
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 {
		t.Errorf("1000 frames of 15 bytes made %d MB", grown>>20)
	}
	client.served(t)
}

// Random bytes behind a header that is right, for every API and version: an
// answer or an end, and the broker lives.
func TestRandomBodies(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	random := rand.New(rand.NewPCG(1, 2))
	for _, api := range message.APIs() {
		for version := api.Min; version <= api.Max; version++ {
			p := dial(t, b.Plain)
			body := make([]byte, random.IntN(200))
			for i := range body {
				body[i] = byte(random.Uint32())
			}
			p.raw(sized(header(int16(api.Key), version), []byte{0}, body))
			_ = p.Conn.(*net.TCPConn).CloseWrite()
			if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, p); err != nil && !isReset(err) {
				t.Fatalf("%s %d: %v", api.Name, version, err)
			}
		}
	}
	client.served(t)
}

// ApiVersions above ours is answered in version 0 with the range of that key,
// whatever its body; the connection stays (traps 4 and 5, O-c01).
func TestVersionsOfAnotherAge(t *testing.T) {
	b := brokertest.Start(t)
	for _, address := range []string{b.Plain, b.SASL} {
		for _, request := range [][]byte{
			unhex(t, "00000013"+"0012"+"0063"+"00000007"+"0003616263"+"00"+"0278"+"0231"+"00"),
			sized(header(18, 5), []byte{0, 2, 'x', 2, '1', 0, 0xff, 0xff}),
			sized(header(18, 6), []byte{0}, bytes.Repeat([]byte{0xff}, 40)),
			sized(header(18, 99), []byte{0}),
		} {
			p := dial(t, address)
			p.raw(request)
			if got, want := p.readFrame(), unhex(t, "00000007"+"0023"+"00000001"+"0012"+"0000"+"0004"); !bytes.Equal(got, want) {
				t.Errorf("%x is answered %x, want %x", request, got, want)
			}
			for version := int16(3); version <= 4; version++ {
				if address == b.SASL && version == 4 {
					break // once before the log-in
				}
				resp := call[message.ApiVersionsResponse](p, version, &message.ApiVersionsRequest{ClientSoftwareName: "peer", ClientSoftwareVersion: "1"})
				if resp.ErrorCode != 0 || len(resp.ApiKeys) < len(clientKeys) {
					t.Errorf("version %d: %s, %d keys", version, resp.ErrorCode, len(resp.ApiKeys))
				}
			}
		}
	}
}

// clientKeys are what producers, consumers and the tools for topics, configs and
// quotas cannot do without.
var clientKeys = []kafka.APIKey{
	kafka.KeyProduce, kafka.KeyFetch, kafka.KeyListOffsets, kafka.KeyMetadata, kafka.KeySASLHandshake, kafka.KeyApiVersions,
	kafka.KeyCreateTopics, kafka.KeyDeleteTopics, kafka.KeyDeleteRecords, kafka.KeyInitProducerID, kafka.KeyOffsetForLeaderEpoch,
	kafka.KeyDescribeConfigs, kafka.KeyAlterConfigs, kafka.KeySASLAuthenticate, kafka.KeyCreatePartitions,
	kafka.KeyIncrementalAlterConfigs, kafka.KeyDescribeClientQuotas, kafka.KeyAlterClientQuotas,
	kafka.KeyDescribeUserScramCredentials, kafka.KeyDescribeCluster,
}

// What clients look for is listed, and every version that is listed is
// answered (section 0.3).
func TestWhatIsListedIsServed(t *testing.T) {
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	listed := map[kafka.APIKey]bool{}
	for _, k := range p.versions().ApiKeys {
		listed[k.ApiKey] = true
		api, ok := message.Lookup(k.ApiKey)
		if !ok || k.MaxVersion != api.Max {
			t.Fatalf("%s is listed up to %d, known up to %d", k.ApiKey, k.MaxVersion, api.Max)
		}
		if k.ApiKey == kafka.KeyProduce && k.MinVersion == 0 {
			k.MinVersion = 3 // listed for old clients that look for their codecs there
		}
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			req := api.NewRequest()
			codec.Fill(version, api.IsFlexible(version), batch(1), req)
			if produce, ok := req.(*message.ProduceRequest); ok {
				produce.Acks = 1
			}
			p.send(version, req)
			p.read(api.NewResponse())
		}
	}
	for _, key := range clientKeys {
		if !listed[key] {
			t.Errorf("%s is not listed", key)
		}
	}
}

// A bad software name is refused and the connection stays.
func TestSoftwareNames(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	for _, name := range []string{"", "-a", "a b", "a_b", "\u00fc"} {
		resp := call[message.ApiVersionsResponse](p, 3, &message.ApiVersionsRequest{ClientSoftwareName: name, ClientSoftwareVersion: "1"})
		if resp.ErrorCode != kafka.InvalidRequest {
			t.Errorf("%q: %s", name, resp.ErrorCode)
		}
	}
	p.versions()
}

// An error of acks=0 can only be told by closing the connection (trap 14).
func TestUnansweredErrorEndsTheConnection(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	p := dial(t, b.Plain)
	p.send(9, produceRequest("none", 0, batch(10)))
	p.mustEnd()
	client.served(t)
}

// Topic ids that are not known are 100, the zero id among them (trap 23).
func TestUnknownTopicIDs(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	for _, id := range []kafka.TopicID{{}, {1, 2, 3}} {
		req := produceRequest("", -1, batch(10))
		req.TopicData[0].TopicID = id
		produced := call[message.ProduceResponse](p, 13, req)
		if got := produced.Responses[0].PartitionResponses[0]; got.ErrorCode != kafka.UnknownTopicID || got.BaseOffset != -1 {
			t.Errorf("produce by id %s: %s, offset %d", id, got.ErrorCode, got.BaseOffset)
		}
		fetch := fetchRequest("", 0)
		fetch.Topics[0].TopicID = id
		fetched := call[message.FetchResponse](p, 13, fetch)
		if got := fetched.Responses[0].Partitions[0]; got.ErrorCode != kafka.UnknownTopicID {
			t.Errorf("fetch by id %s: %s", id, got.ErrorCode)
		}
	}
}

// Whatever byte of a batch is flipped, it is refused or stored as it is meant,
// and the broker lives (trap 28).
func TestFlippedBytes(t *testing.T) {
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	p.newTopic("t")
	good := record.NewBuilder(record.None).Add(time.Now().UnixMilli(), []byte("k"), []byte("v")).Batch()
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0xff
		answer, _ := p.produce("t", bad)
		switch {
		case i >= 12 && i < 16: // the leader epoch is the broker's to write
			if answer.ErrorCode != kafka.NoError {
				t.Errorf("byte %d: %s", i, answer.ErrorCode)
			}
		case i == 22: // the bit of transactions, which is looked at before the batch is checked
			if answer.ErrorCode != kafka.TransactionalIDAuthorizationFailed {
				t.Errorf("byte %d: %s", i, answer.ErrorCode)
			}
		case answer.ErrorCode != kafka.CorruptMessage && answer.ErrorCode != kafka.InvalidRecord:
			t.Errorf("byte %d: %s", i, answer.ErrorCode)
		}
	}
	if got := endOffset(p, "t"); got != 4 {
		t.Errorf("%d batches were stored, want 4", got)
	}
}

// One batch of magic 2 is what a partition of Produce holds (O-c04, traps 29
// and 30); a fault of one partition is its own.
func TestOneBatchPerPartition(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	old := batch(10)
	old[16] = 1
	zstd := record.NewBuilder(record.Zstd).Add(time.Now().UnixMilli(), nil, []byte("v")).Batch()
	for _, c := range []struct {
		name    string
		version int16
		records record.Batch
		code    kafka.Code
	}{
		{"two batches", 9, slices.Concat(batch(10), batch(10)), kafka.InvalidRecord},
		{"no batch", 9, record.Batch{}, kafka.InvalidRecord},
		{"half a batch", 9, batch(10)[:40], kafka.InvalidRecord},
		{"magic 1", 3, old, kafka.InvalidRecord},
		{"zstd before version 7", 6, zstd, kafka.UnsupportedCompressionType},
		{"zstd", 7, zstd, kafka.NoError},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			req := produceRequest("t", -1, c.records)
			req.TopicData = append(req.TopicData, produceRequest("none", -1, batch(10)).TopicData...)
			resp := call[message.ProduceResponse](p, c.version, req)
			if got := resp.Responses[0].PartitionResponses[0].ErrorCode; got != c.code {
				t.Errorf("got %s, want %s", got, c.code)
			}
			if got := resp.Responses[1].PartitionResponses[0].ErrorCode; got != kafka.UnknownTopicOrPartition {
				t.Errorf("the other topic: %s", got)
			}
		})
	}
}

// A client that sends a byte and then nothing is closed by the idle limit, and
// one that never says a word too (trap 59).
func TestIdleConnectionsEnd(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.IdleTimeout = 100 * ms })
	for _, start := range [][]byte{nil, {0}, size(100), sized(header(18, 0))[:10]} {
		p := dial(t, b.Plain)
		p.raw(start)
		p.mustEnd()
	}
}

// Answers come in the order of the requests; a parked fetch holds back its own
// connection alone (trap 60, O-c11).
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
// does not exist and an offset that is not there (trap 9, O-c05).
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

// More connections than are allowed are closed at once, and counted; those that
// are there stay.
func TestConnectionLimits(t *testing.T) {
	for name, limit := range map[string]func(*broker.Config){
		"in all":      func(c *broker.Config) { c.Network.MaxConnections = 3 },
		"per address": func(c *broker.Config) { c.Network.MaxConnectionsPerIP = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			b := brokertest.Start(t, limit)
			client := newBeside(t, b)
			others := []*peer{dial(t, b.Plain), dial(t, b.Plain)}
			for _, p := range others {
				p.versions()
			}
			dial(t, b.Plain).mustEnd()
			client.served(t)
			if got := scrape(t, b).sum("kaasd_connections_rejected_total", "reason", "limit"); got != 1 {
				t.Errorf("%v connections were counted as rejected", got)
			}
			_ = others[0].Close()
			eventually(t, "another one is let in", func() bool {
				p := dial(t, b.Plain)
				defer func() { _ = p.Close() }()
				p.raw(p.frame(0, &message.ApiVersionsRequest{}))
				if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
					t.Fatal(err)
				}
				_, err := p.Read(make([]byte, 1))
				return err == nil
			})
		})
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
