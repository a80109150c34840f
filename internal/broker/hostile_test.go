package broker_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
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

// The connection is closed without an answer, and nobody else notices.
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

// Announced sizes and counts make no memory: a thousand bombs at once
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
			p.drain()
		}
	}
	client.served(t)
}

// A client that sends a byte and then nothing is closed by the idle limit, and
// one that never says a word too.
func TestIdleConnectionsEnd(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.IdleTimeout = 100 * ms })
	for _, start := range [][]byte{nil, {0}, size(100), sized(header(18, 0))[:10]} {
		p := dial(t, b.Plain)
		p.raw(start)
		p.mustEnd()
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

// Requests that are nearly right, bent in a few bytes: an answer or an end, and
// never an error of the broker's own.
func TestBentRequests(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	random := rand.New(rand.NewPCG(5, 6))
	edges := []byte{0, 1, 2, 3, 0x7f, 0x80, 0xfe, 0xff}
	for range 20 {
		for _, api := range message.APIs() {
			version := api.Min + int16(random.IntN(int(api.Max-api.Min)+1))
			req := api.NewRequest()
			codec.Fill(version, api.IsFlexible(version), batch(10), req)
			p := dial(t, b.Plain)
			frame := p.frame(version, req)
			for body := frame[18:]; len(body) > 0 && random.IntN(4) > 0; {
				body[random.IntN(len(body))] = edges[random.IntN(len(edges))]
			}
			p.raw(frame)
			p.drain()
		}
	}
	client.served(t)
	if got := scrape(t, b).sum("kaasd_request_errors_total", "error", "UNKNOWN_SERVER_ERROR"); got != 0 {
		t.Errorf("%v answers were an error of the broker's own", got)
	}
}
