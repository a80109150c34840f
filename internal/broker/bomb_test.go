package broker_test

import (
	"slices"
	"testing"

	"kaasd/internal/broker/brokertest"
)

// reported are the frames of a few bytes that cost other brokers gigabytes:
// arrays of 2^31-1 elements or more in the first field that is one.
func reported(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"Metadata":               unhex(t, "0000000f"+"0003"+"0001"+"00000001"+"0001"+"61"+"7fffffff"),
		"compact Metadata":       sized(header(3, 12), []byte{0}, compactBomb),
		"Produce":                sized(header(0, 3), []byte{0xff, 0xff, 0, 1, 0, 0, 0, 0}, bomb),
		"compact Produce":        sized(header(0, 9), []byte{0, 0, 0, 1, 0, 0, 0, 0}, compactBomb),
		"records of Produce":     sized(header(0, 3), []byte{0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0}, bomb),
		"Fetch":                  sized(header(1, 4), make([]byte, 17), bomb),
		"compact Fetch":          sized(header(1, 12), []byte{0}, make([]byte, 25), compactBomb),
		"AlterClientQuotas":      sized(header(49, 0), bomb),
		"its compact form":       sized(header(49, 1), []byte{0}, compactBomb),
		"DescribeClientQuotas":   sized(header(48, 0), bomb),
		"its other compact form": sized(header(48, 1), []byte{0}, compactBomb),
		"JoinGroup":              sized(header(11, 0), []byte{0, 1, 'g', 0, 0, 0x27, 0x10, 0, 0, 0, 1, 'c'}, bomb),
		"JoinGroup's group":      sized(header(11, 0), []byte{0x7f, 0xff}),
		"compact JoinGroup":      sized(header(11, 9), []byte{0, 2, 'g', 0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10, 1, 0, 2, 'c'}, compactBomb),
		"OffsetCommit":           sized(header(8, 2), []byte{0, 1, 'g', 0xff, 0xff, 0xff, 0xff, 0, 0}, make([]byte, 8), bomb),
		"SaslHandshake":          sized(header(17, 1), []byte{0x7f, 0xff}),
	}
}

// A thousand of them on open connections, which all end, leave the process where
// it was.
func TestReportedBombs(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	before := inUse()
	for name, frame := range reported(t) {
		cost := made(func() {
			for range 3 {
				var open []*peer
				for range 21 {
					p := dial(t, b.Plain)
					p.raw(frame)
					open = append(open, p)
				}
				for _, p := range open {
					if err := p.ended(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					_ = p.Close()
				}
			}
		})
		if cost > 63*64<<10 {
			t.Errorf("%s: 63 frames of %d bytes made %d", name, len(frame), cost)
		}
	}
	client.served(t)
	if grown := inUse() - before; grown > 10<<20 {
		t.Errorf("%d bytes are left", grown)
	}
}

// Streams that are no Kafka at all, or the beginning of a frame and no more, end
// with the peer: those cut off at once, these when it goes.
func TestStrangeBeginnings(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	for _, start := range [][]byte{
		size(100<<20 + 1), {0xff, 0xff, 0xff, 0xff}, size(0), size(1<<31 - 1), []byte("GET / HTTP/1.1\r\n\r\n"), []byte("\x16\x03\x01\x02\x00\x01"),
	} {
		for _, address := range []string{b.Plain, b.SASL} {
			p := dial(t, address)
			p.raw(start)
			p.mustEnd()
		}
	}
	if got := scrape(t, b).sum("kaasd_bad_frames_total"); got != 12 {
		t.Errorf("%v bad frames were counted, want 12", got)
	}
	for _, start := range [][]byte{{0, 0, 0}, size(20), slices.Concat(size(100<<20), header(0, 9))} {
		p := dial(t, b.Plain)
		p.raw(start)
		p.drain()
		_ = p.Close()
	}
	onlyOpen(t, b)
	client.served(t)
}
