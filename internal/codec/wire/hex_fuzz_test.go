package wire_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"kaasd/internal/codec/wire"
)

// FuzzHex: bytes that are read from hex digits are read from their own again.
func FuzzHex(f *testing.F) {
	for _, text := range []string{"00 0a|FF", "0x12, 0x34", "0x0", "1", "", "0x", "zz", "00:01_02\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := wire.ParseHex(text)
		if err != nil {
			return
		}
		if again, err := wire.ParseHex(hex.EncodeToString(b)); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%q gives %x, and that %x, %v", text, b, again, err)
		}
	})
}
