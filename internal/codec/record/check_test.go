package record

import (
	"encoding/binary"
	"errors"
	"testing"
)

func TestNext(t *testing.T) {
	b := sample(None).Batch()
	two := append(append([]byte(nil), b...), b...)
	first, rest, err := Next(two)
	if err != nil || len(first) != len(b) || len(rest) != len(b) || cap(first) != len(b) {
		t.Fatalf("got %d and %d bytes, want %d twice (%v)", len(first), len(rest), len(b), err)
	}
	for cut := range len(b) {
		if _, _, err := Next(b[:cut]); !errors.Is(err, ErrIncomplete) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
	for _, size := range []uint32{0, 48, 1 << 31, 1<<32 - 1} {
		bad := append(Batch(nil), b...)
		binary.BigEndian.PutUint32(bad[8:], size)
		if _, _, err := Next(bad); err == nil || errors.Is(err, ErrIncomplete) {
			t.Errorf("length %d: %v", int32(size), err)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, b := range map[string]Batch{
		"empty":       {},
		"short":       sample(None).Batch()[:60],
		"long":        append(sample(None).Batch(), 0),
		"zeros":       make(Batch, 100),
		"magic":       resealed(sample(None).Batch(), func(b Batch) { b[16] = 1 }),
		"crc":         func() Batch { b := sample(None).Batch(); b[70]++; return b }(),
		"count":       resealed(sample(None).Batch(), func(b Batch) { b[60]++ }),
		"no records":  resealed(sample(None).Batch(), func(b Batch) { clear(b[57:61]) }),
		"codec":       resealed(sample(None).Batch(), func(b Batch) { b[22] |= 6 }),
		"last offset": resealed(sample(None).Batch(), func(b Batch) { b[26]-- }),
	} {
		t.Run(name, func(t *testing.T) {
			if err := b.Check(); err == nil {
				t.Error("passes")
			}
		})
	}
}

func TestLastSequenceWraps(t *testing.T) {
	b := sample(None).Producer(1, 0, 1<<31-2).Batch()
	if got := b.LastSequence(); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}
