package broker_test

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// inUse is the memory of heap and stacks that is in use, in bytes.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// made is the memory that f makes in the whole process, garbage included.
func made(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// onlyOpen waits until one connection is open: that of the client beside.
func onlyOpen(t *testing.T, b *brokertest.Broker) {
	t.Helper()
	eventually(t, "the others are closed", func() bool { return scrape(t, b).sum("kaasd_connections") == 1 })
}

// Connections on which nothing is said, or a frame is begun, take little: the
// bound is for both ends, which live in this process. The idle limit closes them.
func TestHalfOpenConnectionsTakeLittle(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.IdleTimeout = 2 * time.Second })
	before := inUse()
	const n = 600
	var open []*peer
	for i := range n {
		p := dial(t, []string{b.Plain, b.SASL}[i%2])
		switch i % 3 {
		case 1:
			p.raw(size(100_000))
		case 2:
			p.raw(append(size(100_000), header(18, 0)...))
		}
		open = append(open, p)
	}
	if each := (inUse() - before) / n; each > 40<<10 {
		t.Errorf("a connection takes %d bytes", each)
	}
	for _, p := range open {
		p.mustEnd()
	}
	newBeside(t, b).served(t)
	onlyOpen(t, b)
}

// Whoever connects and leaves leaves nothing behind.
func TestComingAndGoing(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	before, running := inUse(), runtime.NumGoroutine()
	for i := range 1000 {
		p := dial(t, []string{b.Plain, b.SASL}[i%2])
		if i%3 == 0 {
			p.raw(size(1 << 20)[:1+i%4])
		}
		_ = p.Close()
	}
	onlyOpen(t, b)
	client.served(t)
	eventually(t, "their goroutines end", func() bool { return runtime.NumGoroutine() <= running+5 })
	if grown := inUse() - before; grown > 16<<20 {
		t.Errorf("%d bytes are left", grown)
	}
}

// Frames that are begun and stall hold memory only while nobody waits for it:
// the client beside needs some for each of its requests.
func TestStalledFramesDelayNobodyForLong(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.RequestMemory = 4 << 20 })
	client := newBeside(t, b)
	for i := range 60 {
		begun := append(size([]uint32{250 << 10, 90 << 20}[i%2]), header(0, 9)...)
		dial(t, b.Plain).raw(append(begun, make([]byte, 2000)...))
	}
	for range 10 {
		answer, _ := client.produce("beside", batch(60<<10))
		if answer.ErrorCode != kafka.NoError || answer.BaseOffset != client.next {
			t.Fatalf("got offset %d, %s; want %d", answer.BaseOffset, answer.ErrorCode, client.next)
		}
		client.next++
	}
	client.served(t)
}

// Answers that nobody reads are in files and sockets, not in memory.
func TestUnreadAnswersTakeLittle(t *testing.T) {
	b := brokertest.Start(t, withFolder(t))
	client := newBeside(t, b)
	client.newTopic("much")
	large := batch(900 << 10)
	for range 20 {
		client.mustProduce("much", large)
	}
	before := inUse()
	for range 40 {
		p := dial(t, b.Plain)
		for range 3 {
			p.send(12, fetchRequest("much", 0))
		}
	}
	client.served(t)
	if grown := inUse() - before; grown > 32<<20 {
		t.Errorf("answers of %d MB take %d bytes", 40*3*18, grown)
	}
	client.served(t)
}

// lateBomb is a batch of few bytes that opens to many, whose time has to be
// looked at: it is a year ahead.
func lateBomb(c record.Codec, size int) record.Batch {
	return record.NewBuilder(c).Add(time.Now().Add(365*24*time.Hour).UnixMilli(), nil, make([]byte, size)).Batch()
}

// Batches that open to a hundred times what was sent are judged without the
// memory for it, on many connections at once.
func TestCompressionBombs(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	for codec, size := range map[record.Codec]int{record.Gzip: 60 << 20, record.Snappy: 8 << 20, record.LZ4: 60 << 20, record.Zstd: 60 << 20} {
		t.Run(codec.String(), func(t *testing.T) {
			frame := client.frame(9, produceRequest("beside", -1, lateBomb(codec, size)))
			cost := made(func() {
				var all sync.WaitGroup
				for range 8 {
					p := dial(t, b.Plain)
					p.raw(frame)
					all.Go(func() {
						if _, err := p.frameOrEnd(); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			})
			if limit := int64(8 * 36 << 20); cost > limit {
				t.Errorf("8 batches that open to %d MB each made %d MB", size>>20, cost>>20)
			}
			client.served(t)
		})
	}
	if got := scrape(t, b).sum("kaasd_request_errors_total", "error", "INVALID_TIMESTAMP"); got != 32 {
		t.Errorf("%v batches were refused for their time, want 32", got)
	}
}

// A stored bomb is not opened into memory by those who look for a time in it.
func TestLookingIntoABomb(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	client.newTopic("bomb")
	now := time.Now().UnixMilli()
	client.mustProduce("bomb", record.NewBuilder(record.Zstd).Add(now, nil, nil).Add(now+10, nil, make([]byte, 100<<20)).Batch())
	cost := made(func() {
		for range 4 {
			got := call[message.ListOffsetsResponse](client.peer, 6, &message.ListOffsetsRequest{ReplicaID: -1, Topics: []message.ListOffsetsTopic{{
				Name: "bomb", Partitions: []message.ListOffsetsPartition{{CurrentLeaderEpoch: -1, Timestamp: now + 5}},
			}}}).Topics[0].Partitions[0]
			if got.ErrorCode != kafka.NoError || got.Offset != 1 {
				t.Fatalf("got offset %d, %s", got.Offset, got.ErrorCode)
			}
		}
	})
	if cost > 4*40<<20 {
		t.Errorf("4 look-ups made %d MB", cost>>20)
	}
	client.served(t)
}

// What a large request may be decoded to is bounded by about its own size.
func TestLargeBombsAfterTheLogin(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	const bytes = 7 << 20 // of 8 that are let in
	// As many elements as there are bytes, and as many as the bytes are enough for.
	zeros := func(head []byte, each uint32) []byte {
		return sized(head, binary.BigEndian.AppendUint32(nil, bytes/each), make([]byte, bytes))
	}
	for name, frame := range map[string][]byte{
		"topics":               zeros(header(19, 2), 1),
		"topics that fit":      zeros(header(19, 2), 16),
		"batches":              zeros(append(header(0, 3), 0xff, 0xff, 0, 1, 0, 0, 0, 0), 1),
		"batches that fit":     zeros(append(header(0, 3), 0xff, 0xff, 0, 1, 0, 0, 0, 0), 6),
		"names":                zeros(header(3, 1), 1),
		"names that fit":       zeros(header(3, 1), 2),
		"resources that fit":   zeros(header(32, 1), 7),
		"DescribeClientQuotas": sized(header(48, 1), []byte{0}, binary.AppendUvarint(nil, bytes), slices.Repeat([]byte{1}, bytes)),
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, b.Plain)
			cost := made(func() {
				p.raw(frame)
				p.drain()
			})
			// Its buffer grows, which makes twice the frame, and decoding may make
			// 8 MiB and the frame once more.
			if cost > 12<<20+4*bytes {
				t.Errorf("a frame of %d MB made %d MB", bytes>>20, cost>>20)
			}
			client.served(t)
		})
	}
}

// Tokens and names as large as they may be before the log-in cost a few times
// their bytes, and the next client logs in.
func TestBombsBeforeTheLogin(t *testing.T) {
	b := brokertest.Start(t, withFile(t, credentials(t, account{name: "alice", password: "secret"})))
	client := newBeside(t, b)
	const bytes = 400 << 10
	for name, token := range map[string][]byte{
		"zeros":    make([]byte, bytes),
		"a name":   []byte("\x00" + strings.Repeat("n", bytes) + "\x00p"),
		"a secret": []byte("\x00alice\x00" + strings.Repeat("p", bytes)),
	} {
		t.Run(name, func(t *testing.T) {
			cost := made(func() {
				p := dial(t, b.SASL)
				call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: "PLAIN"})
				p.raw(p.frame(2, &message.SaslAuthenticateRequest{AuthBytes: token}))
				p.drain()
			})
			if cost > 16*bytes {
				t.Errorf("a token of %d bytes made %d", len(token), cost)
			}
			client.served(t)
		})
	}
	dialAs(t, b.SASL, "alice", "secret").versions()
}
