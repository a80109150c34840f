package codec_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// pieceMost is the most that is in memory at a time of what is cut, but for the
// element it ends with.
const pieceMost = 64 << 10

// taker takes what is written, and remembers the longest write.
type taker struct {
	bytes.Buffer
	longest int
	fails   error // after some bytes
}

func (w *taker) Write(p []byte) (int, error) {
	if w.fails != nil && w.Len() > 100<<10 {
		return 0, w.fails
	}
	w.longest = max(w.longest, len(p))
	return w.Buffer.Write(p)
}

// items are so many, the keys of which are of some bytes and which hold tags.
func items(n int) []item {
	all := make([]item, n)
	for i := range all {
		all[i] = item{Key: strings.Repeat("k", i%300), Extra: []item{{Key: "x"}, {Key: strings.Repeat("y", i%200)}}}
	}
	return all
}

func longOrder(n, raw int) *order {
	epoch := int64(7)
	return &order{
		Name: "n", Raw: bytes.Repeat([]byte("r"), raw), Items: items(n), More: items(n / 2), Numbers: make([]int32, 10), Words: []string{"w"},
		Leader: &item{Key: "l", Extra: items(n / 3)}, Epoch: &epoch, // what is in a tag cannot be cut
	}
}

// TestPieces: an answer in pieces is the same bytes, whatever its length.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		name   string
		m      *order
		cut    bool
		inTags int // bytes of the longest tag
	}{
		{"empty", &order{}, false, 0},
		{"short", longOrder(10, 10), false, 0},
		{"just whole", longOrder(0, 63<<10), false, 0},
		{"long", longOrder(3000, 10), true, 400 << 10},
		{"long bytes", longOrder(10, 8<<20), true, 8 << 20},
		{"both", longOrder(5000, 1<<20), true, 1 << 20},
	} {
		for version := range int16(2) {
			for _, flexible := range []bool{false, true} {
				whole, err := codec.EncodeResponse(7, version, flexible, flexible, c.m)
				if err != nil {
					t.Fatal(err)
				}
				var want, got taker
				if _, err := whole.WriteTo(&want); err != nil {
					t.Fatal(err)
				}
				f, err := codec.EncodeResponseInPieces(7, version, flexible, flexible, c.m)
				if err != nil {
					t.Fatal(err)
				}
				n, err := f.WriteTo(&got)
				if err != nil || int(n) != want.Len() || f.Size() != want.Len() || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%s, version %d, flexible %v: %d bytes of %d, said %d, %v", c.name, version, flexible, n, want.Len(), f.Size(), err)
				}
				if most := max(c.inTags, 1<<10) + pieceMost; c.cut && got.longest > most || c.cut == (got.longest == want.Len()) {
					t.Errorf("%s, version %d, flexible %v: up to %d bytes of %d in a piece, want %d", c.name, version, flexible, got.longest, want.Len(), most)
				}
				whole.Release()
				f.Release()
			}
		}
	}
}

func TestPiecesThatCannotBeWritten(t *testing.T) {
	gone := errors.New("gone")
	m := longOrder(5000, 10)
	f, err := codec.EncodeResponseInPieces(7, 1, true, true, m)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	if _, err := f.WriteTo(&taker{fails: gone}); !errors.Is(err, gone) {
		t.Errorf("a writer that fails: got %v", err)
	}
	m.Items = m.Items[1:]
	if _, err := f.WriteTo(io.Discard); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("an answer that has changed: got %v", err)
	}
	m.Items[0].Key = strings.Repeat("k", 1<<15)
	if _, err := f.WriteTo(io.Discard); err == nil {
		t.Error("an answer that cannot be encoded any more was written")
	}
}

// TestPiecesOfAFrameThatIsTooLong: a frame has no more than 2^31-1 bytes, which is known
// before any of them is written.
func TestPiecesOfAFrameThatIsTooLong(t *testing.T) {
	m, key := &order{Items: make([]item, 1<<16+8)}, strings.Repeat("k", 1<<15-1)
	for i := range m.Items {
		m.Items[i].Key = key
	}
	if _, err := codec.EncodeResponseInPieces(7, 1, true, true, m); err == nil || !strings.Contains(err.Error(), "longer than its prefix can say") {
		t.Errorf("got %v", err)
	}
}

// TestPiecesHoldNoSources: records are not where they were when an answer is encoded
// again.
func TestPiecesHoldNoSources(t *testing.T) {
	s := &source{text: "records"}
	if _, err := codec.EncodeResponseInPieces(7, 1, true, true, &order{Records: codec.Records{Source: s}}); err == nil {
		t.Error("an answer in pieces has a source of records")
	}
	if s.released != 1 {
		t.Errorf("the source was released %d times", s.released)
	}
	if _, err := codec.EncodeRequest(codec.RequestHeader{Key: kafka.KeyProduce}, true, longOrder(5000, 10)); err != nil {
		t.Errorf("a long request: %v", err)
	}
}
