package broker_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"kaasd/internal/broker/brokertest"
)

// allocated is what the process has made while do ran, in bytes.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A size is no reason to make room: a hundred connections that announce as much
// as they may, and send a header of it, cost what any hundred cost.
func TestAnnouncedSizesMakeNoMemory(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	for name, c := range map[string]struct {
		address string
		frame   []byte
	}{
		"100 MiB of Produce":          {b.Plain, append(size(100<<20), header(0, 9)...)},
		"4 MiB of Metadata":           {b.Plain, append(size(4<<20), header(3, 1)...)},
		"500 KiB before the log-in":   {b.SASL, append(size(500<<10), header(17, 1)...)},
		"500 KiB of no known key":     {b.SASL, append(size(500<<10), header(500, 1)...)},
		"2 GiB, closed at the size":   {b.Plain, append(size(1<<31-1), header(0, 9)...)},
		"600 KiB, closed at the size": {b.SASL, append(size(600<<10), header(18, 3)...)},
	} {
		t.Run(name, func(t *testing.T) {
			open := make([]*peer, 100)
			cost := allocated(func() {
				for i := range open {
					open[i] = dial(t, c.address)
					open[i].raw(c.frame)
				}
				client.served(t)
				for _, p := range open {
					p.drain()
				}
			})
			if cost > 32<<20 {
				t.Errorf("100 connections made %d MB", cost>>20)
			}
			client.served(t)
		})
	}
}

// A frame that promises more than it holds is cut off for less than twice what
// it holds; one that holds as many names as it promises costs no more than
// what requests may take, and one above the limit of its key nothing at all.
func TestCountsMakeNoMemory(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	const count = 1 << 20
	promised := append(binary.BigEndian.AppendUint32(nil, count), make([]byte, count)...) // as many names as bytes
	held := append(binary.AppendUvarint([]byte{0}, count), bytes.Repeat([]byte{2, 'a'}, count)...)
	for name, c := range map[string]struct {
		frame []byte
		times int // its own size, that it may cost
	}{
		"names that are not there": {sized(header(3, 1), promised), 2},
		"names of a letter":        {sized(header(3, 12), held), 16},
		"8 MiB of names":           {sized(header(3, 1), binary.BigEndian.AppendUint32(nil, 8*count), make([]byte, 8*count)), 0},
		"tags of a header":         {sized(header(18, 3), compactBomb), 0},
		"tags of a body":           {sized(header(18, 3), []byte{0, 2, 'a', 2, '1'}, compactBomb), 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, b.Plain)
			cost := allocated(func() {
				_, _ = p.Write(c.frame) // which may end in its middle
				p.mustEnd()
			})
			const around = 1 << 20 // what the broker does meanwhile
			if limit := uint64(c.times*len(c.frame) + around); cost > limit {
				t.Errorf("%d bytes made %d, want at most %d", len(c.frame), cost, limit)
			}
			client.served(t)
		})
	}
}
