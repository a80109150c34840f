package wire_test

import (
	"testing"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/wire"
)

// FuzzRequest: whatever the bytes, a page is made whose lines lie inside each
// other.
func FuzzRequest(f *testing.F) {
	for _, a := range message.APIs() {
		frame, err := wire.SmallestRequest(a, a.Max)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < 1<<12 {
			tiles(t, wire.Request(frame))
		}
	})
}
