package message_test

import (
	"bytes"
	"testing"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// FuzzRequest takes whole frames without their size prefix.
func FuzzRequest(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add([]byte(r.Request))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		key, version, _ := codec.PeekKey(frame)
		a, ok := message.Lookup(key)
		if !ok || version < a.Min || version > a.Max {
			return
		}
		_, body, err := codec.ParseHeader(frame, a.IsFlexible(version))
		if err == nil {
			stable(t, a, version, directions(a)[0], body)
		}
	})
}

// FuzzResponse takes an API, a version and a body.
func FuzzResponse(f *testing.F) {
	for _, r := range recordings(f) {
		key, version, _ := codec.PeekKey(r.Request)
		if r.ResponseVersion != nil {
			version = *r.ResponseVersion
		}
		if a, ok := message.Lookup(key); ok && len(r.Response) > 0 {
			_, body, _ := codec.ParseResponseHeader(r.Response, a.FlexibleResponseHeader(version))
			f.Add(int16(key), version, body)
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		a, ok := message.Lookup(kafka.APIKey(key))
		if ok && version >= a.Min && version <= a.Max {
			stable(t, a, version, directions(a)[1], body)
		}
	})
}

// stable decodes a body within a budget; what was decoded must be written and
// read back as the same bytes. A trace must end as decoding does.
func stable(t *testing.T, a message.API, version int16, d direction, body []byte) {
	m := d.ours()
	budget := 16*len(body) + 1024
	err := codec.Decode(body, version, a.IsFlexible(version), m, budget)
	if len(body) < 1<<12 {
		_, traced := codec.Trace(body, 4, version, a.IsFlexible(version), d.ours())
		if err == nil && traced != nil {
			t.Fatalf("decodes, but the trace ends with %v", traced)
		}
	}
	if err != nil {
		return
	}
	once := encode(t, a, version, m)
	twice := encode(t, a, version, decode(t, a, version, d, once))
	if !bytes.Equal(once, twice) {
		t.Fatalf("written as\n%x, then as\n%x", once, twice)
	}
}
