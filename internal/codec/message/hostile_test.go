package message_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
)

// allocated is the memory that f makes, in bytes, garbage included.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// slack is what decoding may cost beyond its budget: the cursor, the error.
const slack = 16 << 10

// TestTruncated: a body cut at any byte is an error that names a field and an
// offset inside the body, and never more.
func TestTruncated(t *testing.T) {
	eachVersion(t, func(t *testing.T, a message.API, v int16, d direction) {
		m := d.ours()
		fill(rand.New(rand.NewPCG(7, 7)), reflect.ValueOf(m).Elem())
		whole := encode(t, a, v, m)
		for n := range whole {
			err := codec.Decode(whole[:n], v, a.IsFlexible(v), d.ours(), plenty)
			var e *codec.Error
			if !errors.As(err, &e) || e.Field == "" || e.Offset > n {
				t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
			}
		}
	})
}

// TestDamaged: one wrong byte anywhere never costs more than the budget.
func TestDamaged(t *testing.T) {
	eachVersion(t, func(t *testing.T, a message.API, v int16, d direction) {
		m := d.ours()
		fill(rand.New(rand.NewPCG(8, 8)), reflect.ValueOf(m).Elem())
		b := encode(t, a, v, m)
		budget := 16 * len(b)
		cost := allocated(func() {
			for i := range min(len(b), 2000) {
				for _, x := range []byte{0, 0x7f, 0x80, 0xff} {
					was := b[i]
					b[i] = x
					_ = codec.Decode(b, v, a.IsFlexible(v), d.ours(), budget)
					b[i] = was
				}
			}
		})
		if limit := 4 * len(b) * (budget + slack); cost > limit {
			t.Fatalf("%d bytes made, limit %d", cost, limit)
		}
	})
}

// bombs are bodies that promise far more than they hold.
func bombs() map[string][]byte {
	huge := binary.AppendUvarint(nil, 1<<32-1)
	zeros := strings.Repeat("\x00", 64)
	return map[string][]byte{
		"varint of ones":            []byte(strings.Repeat("\xff", 64)),
		"largest compact length":    append(huge, zeros...),
		"largest length":            []byte("\x7f\xff\xff\xff" + zeros),
		"negative length":           []byte("\x80\x00\x00\x00" + zeros),
		"two below zero":            []byte("\xff\xff\xff\xfe" + zeros),
		"as many elements as bytes": append(binary.AppendUvarint(nil, 1<<20), make([]byte, 1<<20)...),
		"the same, not compact":     append(binary.BigEndian.AppendUint32(nil, 1<<20), make([]byte, 1<<20)...),
		"many one-byte strings":     []byte(strings.Repeat("\x02a", 1<<19)),
	}
}

// TestBombs: whatever a body claims, decoding makes no more memory than it is
// allowed, and ends.
func TestBombs(t *testing.T) {
	eachVersion(t, func(t *testing.T, a message.API, v int16, d direction) {
		for name, b := range bombs() {
			const budget = 64 << 10
			cost := allocated(func() { _ = codec.Decode(b, v, a.IsFlexible(v), d.ours(), budget) })
			if cost > budget+slack {
				t.Errorf("%s: %d bytes made, budget %d", name, cost, budget)
			}
		}
	})
}

// TestArrayBomb: the very bodies that cost other decoders hundreds of
// megabytes.
func TestArrayBomb(t *testing.T) {
	for _, c := range []struct {
		key     string
		version int16
	}{{"Metadata", 1}, {"CreateTopics", 2}, {"Metadata", 9}} {
		t.Run(fmt.Sprintf("%s/v%d", c.key, c.version), func(t *testing.T) {
			a := named(t, c.key)
			const size = 1 << 20
			b := binary.BigEndian.AppendUint32(nil, size-4)
			if a.IsFlexible(c.version) {
				b = binary.AppendUvarint(nil, size-4)
			}
			b = append(b, make([]byte, size-len(b))...)
			var err error
			cost := allocated(func() { err = codec.Decode(b, c.version, a.IsFlexible(c.version), a.NewRequest(), 16*size) })
			if cost > 16*size+slack {
				t.Fatalf("%d bytes made of %d", cost, size)
			}
			t.Logf("%d bytes made, %v", cost, err)
		})
	}
}

// TestTagBomb: a section that claims 2^28 tags in a few bytes ends at once, in
// the header too.
func TestTagBomb(t *testing.T) {
	count := binary.AppendUvarint(nil, 1<<28)
	t.Run("body", func(t *testing.T) {
		a := named(t, "ApiVersions")
		body := append([]byte{1, 1}, count...)
		if err := codec.Decode(body, 3, true, a.NewRequest(), plenty); err == nil {
			t.Fatal("no error")
		}
	})
	t.Run("header", func(t *testing.T) {
		frame := append([]byte{0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff}, count...)
		if _, _, err := codec.ParseHeader(frame, true); err == nil {
			t.Fatal("no error")
		}
	})
	t.Run("as many as fit", func(t *testing.T) {
		const tags = 1 << 16
		body := append([]byte{1, 1}, binary.AppendUvarint(nil, tags)...)
		for range tags {
			body = append(body, 9, 0)
		}
		a := named(t, "ApiVersions")
		if err := codec.Decode(body, 3, true, a.NewRequest(), 0); err != nil {
			t.Fatal(err)
		}
	})
}

func named(t testing.TB, name string) message.API {
	t.Helper()
	for _, a := range message.APIs() {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no API %s", name)
	return message.API{}
}
