package wire_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", path, diff)
	}
}

func find(t *testing.T, name string) message.API {
	t.Helper()
	a, err := wire.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func text(t *testing.T, p *wire.Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSmallest: the pages of four smallest instances.
func TestSmallest(t *testing.T) {
	for _, c := range []struct {
		api     string
		version int16
	}{{"AlterClientQuotas", 1}, {"Produce", 9}, {"Fetch", 16}} {
		a := find(t, c.api)
		t.Run(c.api, func(t *testing.T) {
			request, err := wire.SmallestRequest(a, c.version)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.api+".request.txt", text(t, wire.Request(request)))
			response, err := wire.SmallestResponse(a, c.version)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.api+".response.txt", text(t, wire.Response(response, a, c.version)))
		})
	}
}
