package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/wire"
)

// TestEverySmallest: the smallest instance of every message in every version
// is told to its last byte.
func TestEverySmallest(t *testing.T) {
	for _, a := range message.APIs() {
		for v := a.Min; v <= a.Max; v++ {
			t.Run(fmt.Sprintf("%s/v%d", a.Name, v), func(t *testing.T) {
				request, err := wire.SmallestRequest(a, v)
				if err != nil {
					t.Fatal(err)
				}
				response, err := wire.SmallestResponse(a, v)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range []*wire.Page{
					wire.Request(request), wire.Request(request[4:]),
					wire.Response(response, a, v), wire.Response(response[4:], a, v),
				} {
					if p.Err != nil {
						t.Fatalf("%v\n%s", p.Err, text(t, p))
					}
					tiles(t, p)
				}
			})
		}
	}
}

func TestSchema(t *testing.T) {
	for _, name := range []string{"AlterClientQuotas", "Fetch"} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := wire.Schema(&b, find(t, name)); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".schema.json", b.Bytes())
		})
	}
	t.Run("all", func(t *testing.T) {
		for _, a := range message.APIs() {
			var b bytes.Buffer
			if err := wire.Schema(&b, a); err != nil || !json.Valid(b.Bytes()) {
				t.Fatalf("%s: %v", a.Name, err)
			}
			if strings.Contains(b.String(), `"about": ""`) {
				t.Fatalf("%s: a field without a word about it:\n%s", a.Name, b.String())
			}
		}
	})
}

func TestJSON(t *testing.T) {
	a := find(t, "49")
	frame, err := wire.SmallestResponse(a, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := wire.Response(frame, a, 1).JSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "AlterClientQuotas.response.json", b.Bytes())
}

func TestParseHex(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"0000001f 0031 | 02", "0000001f003102", ""},
		{"0x00, 0xFF\n", "00ff", ""},
		{"00:ff", "00ff", ""},
		{"0g", "", "character 'g' at position 2 is not a hex digit"},
		{"000", "", "3 hex digits are half a byte too many or too few"},
		{" \n", "", "no hex digits were given"},
	} {
		t.Run(c.text, func(t *testing.T) {
			b, err := wire.ParseHex(c.text)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Fatalf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || fmt.Sprintf("%x", b) != c.want {
				t.Fatalf("got %x, %v, want %s", b, err, c.want)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	if _, err := wire.Find("Nope"); err == nil || !strings.Contains(err.Error(), `no API "Nope"; known are Produce, Fetch`) {
		t.Error(err)
	}
	a := find(t, "fetch")
	if _, err := wire.SmallestRequest(a, 3); err == nil || err.Error() != "Fetch has no version 3; it has 4 to 18" {
		t.Error(err)
	}
	p := wire.Request([]byte{0, 0, 0, 11, 3, 0xe7, 0, 0, 0, 0, 0, 1, 0, 1, 'x'})
	if want := "offset 0x0004, field api_key: API 999 is not spoken here"; p.Err == nil || p.Err.Error() != want {
		t.Errorf("got %v, want %s", p.Err, want)
	}
}
