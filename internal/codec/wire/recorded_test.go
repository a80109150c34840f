package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/wire"
)

type recorded struct {
	ID              string
	Request         string `json:"request_hex"`
	Response        string `json:"response_hex"`
	ResponseVersion *int16 `json:"response_version"`
}

// recordings are the exchanges that the messages are tested with.
func recordings(t *testing.T) []recorded {
	t.Helper()
	f, err := os.Open("../message/testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	for d := json.NewDecoder(f); d.More(); {
		var r recorded
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pages tells both frames of a recording; that of the response is nil when it
// cannot be told.
func pages(t *testing.T, r recorded) (request, response *wire.Page) {
	frame := unhex(t, r.Request)
	key, version, _ := codec.PeekKey(frame)
	a, _ := message.Lookup(key)
	if r.ResponseVersion != nil {
		version = *r.ResponseVersion
	}
	request = wire.Request(frame)
	if r.Response != "" && wire.CheckVersion(a, version) == nil {
		response = wire.Response(unhex(t, r.Response), a, version)
	}
	return request, response
}

// refused are the recorded requests that Apache Kafka or kaasd does not read.
var refused = []string{"0.0-", "0.2-", "1.3-", "3.9-2", "3.14-", "18.3-5", "18.5-", "18.6-", "18.7-", "18.127-", "18.32767-", "18.-1-", "19.7-13"}

func isRefused(t *testing.T, r recorded) bool {
	key, _, _ := codec.PeekKey(unhex(t, r.Request))
	if _, known := message.Lookup(key); !known {
		return true
	}
	return slices.ContainsFunc(refused, func(prefix string) bool { return strings.HasPrefix(r.ID, prefix) })
}

// TestRecorded: a page tells every byte of every recorded frame, each once.
func TestRecorded(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.ID, func(t *testing.T) {
			request, response := pages(t, r)
			if (request.Err != nil) != isRefused(t, r) {
				t.Fatalf("request: %v", request.Err)
			}
			tiles(t, request)
			if response != nil {
				if response.Err != nil {
					t.Fatalf("response: %v", response.Err)
				}
				tiles(t, response)
			}
		})
	}
}

// tiles checks that children lie in their parent, in order, and leave no byte
// out but the counts of tag sections. What does not decode may leave out its
// end.
func tiles(t *testing.T, p *wire.Page) {
	t.Helper()
	if err := p.JSON(io.Discard); err != nil {
		t.Fatal(err)
	}
	var walk func(n *codec.Node)
	walk = func(n *codec.Node) {
		at, end := n.Offset, n.Offset+n.Size
		for _, child := range n.Children {
			if child.Offset < at || child.Offset > at && !hasCount(n) || child.Offset+child.Size > end {
				t.Fatalf("%s [%d, %d] in %s [%d, %d], expected at %d\n%s", child.Name, child.Offset, child.Size, n.Name, n.Offset, n.Size, at, text(t, p))
			}
			at = child.Offset + child.Size
			if child.Name != "compressed" {
				walk(child)
			}
		}
		if len(n.Children) > 0 && at != end && p.Err == nil {
			t.Fatalf("%s ends at %d, its children at %d\n%s", n.Name, end, at, text(t, p))
		}
	}
	walk(p.Tree)
}

func hasCount(n *codec.Node) bool { return n.Name == "tagged_fields" || n.Type == "tag" }

// TestPages: real frames with records, tags and errors.
func TestPages(t *testing.T) {
	byID := map[string]recorded{}
	for _, r := range recordings(t) {
		byID[r.ID] = r
	}
	for _, id := range []string{"0.9-1", "1.11-9", "1.18-7", "3.9-3"} {
		t.Run(id, func(t *testing.T) {
			request, response := pages(t, byID[id])
			got := text(t, request)
			if response != nil {
				got = append(append(got, '\n'), text(t, response)...)
			}
			golden(t, "recorded-"+id+".txt", got)
		})
	}
}

// TestCut: a frame that ends too early is told to where it ends, and the page
// says where that is and in which field.
func TestCut(t *testing.T) {
	a := find(t, "AlterClientQuotas")
	whole, err := wire.SmallestRequest(a, 1)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cut.txt", text(t, wire.Request(whole[:26])))
	for n := range whole {
		p := wire.Request(whole[:n])
		if p.Err == nil {
			t.Fatalf("cut at %d: no error", n)
		}
		if got := text(t, p); !bytes.Contains(got, []byte("stopped at offset 0x")) {
			t.Fatalf("cut at %d:\n%s", n, got)
		}
	}
}
