package codec_test

import (
	"bytes"
	"testing"

	"kaasd/internal/codec"
)

// FuzzHeader: whatever the bytes, the body of a frame is what lies behind its
// header, and what is peeked at is what is read.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("\x00\x03\x00\x01\x00\x00\x00\x07\x00\x03abc\x00\x00\x00\x00"), false)
	f.Add([]byte("\x00\x12\x00\x03\x00\x00\x00\x07\x00\x03abc\x00\x02a\x021\x00"), true)
	f.Add([]byte("\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\x01\x05\x03xyz"), true)
	f.Add([]byte("\x00\x12\x00\x03\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\x0f"), true)
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x01\x7f\xff"), false)
	f.Fuzz(func(t *testing.T, frame []byte, flexible bool) {
		h, body, err := codec.ParseHeader(frame, flexible)
		if !bytes.HasSuffix(frame, body) {
			t.Fatalf("%d bytes of body are not the end of the frame", len(body))
		}
		if _, rest, err := codec.ParseResponseHeader(frame, flexible); err == nil && !bytes.HasSuffix(frame, rest) {
			t.Fatalf("%d bytes of a response's body are not the end of the frame", len(rest))
		}
		key, version, known := codec.PeekKey(frame)
		id, whole := codec.PeekClientID(frame)
		if err != nil {
			return
		}
		if !known || key != h.Key || version != h.Version {
			t.Errorf("peeked at key %d, version %d, read %d, %d", key, version, h.Key, h.Version)
		}
		if !whole || string(id) != h.ClientID {
			t.Errorf("peeked at client id %q, read %q", id, h.ClientID)
		}
	})
}
