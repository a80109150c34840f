package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// ranges is an answer of heads, each followed by a range of a file.
type ranges struct {
	file  *os.File
	heads [][]byte
	sizes []int
	said  int // what Size says beyond the truth
	sent  *atomic.Int64
}

func (p *ranges) Size() int {
	n := p.said
	for i := range p.heads {
		n += len(p.heads[i]) + p.sizes[i]
	}
	return n
}

// WriteTo has the ranges sent, or reads those that cannot be.
func (p *ranges) WriteTo(w io.Writer) (int64, error) {
	pos := int64(0)
	for i, head := range p.heads {
		if _, err := w.Write(head); err != nil {
			return 0, err
		}
		size := int64(p.sizes[i])
		_, err := w.(*outlet).SendFile(p.file.Fd(), pos, size)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			_, err = io.Copy(struct{ io.Writer }{w}, io.NewSectionReader(p.file, pos, size))
		case err == nil:
			p.sent.Add(1)
		}
		if err != nil {
			return 0, err
		}
		pos += size
	}
	return int64(p.Size()), nil
}

func (p *ranges) Release() {}

// fileOf is a file of random bytes.
func fileOf(t testing.TB, size int) (*os.File, []byte) {
	t.Helper()
	data := make([]byte, size)
	dice := rand.NewChaCha8([32]byte{1})
	dice.Read(data)
	name := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, data
}

// answered serves an answer to everybody.
func answered(p Payload) *handler {
	return &handler{serve: func(context.Context, *Request) (Answer, error) { return Answer{Payload: p, Alone: true}, nil }}
}

// inRanges is an answer with ranges of many sizes, as a frame, and its bytes.
func inRanges(t *testing.T, sent *atomic.Int64) (*ranges, []byte) {
	t.Helper()
	f, data := fileOf(t, 12<<20)
	p := &ranges{file: f, sent: sent}
	var want []byte
	pos := 0
	for i, size := range []int{1, 100, 70_000, 5 << 20, 0, 4 << 20} {
		p.heads = append(p.heads, bytes.Repeat([]byte{byte('a' + i)}, 4+50*i))
		p.sizes = append(p.sizes, size)
		want = append(append(want, p.heads[i]...), data[pos:pos+size]...)
		pos += size
	}
	frame := framed(want[4:])
	copy(p.heads[0], frame[:4])
	return p, frame[4:]
}

// TestFileIsSent: what a socket sends from a file itself arrives as if it had
// been written, in order with what is gathered before and after.
func TestFileIsSent(t *testing.T) {
	var sent atomic.Int64
	p, want := inRanges(t, &sent)
	r := start(t, testOptions(), answered(p))
	c := r.dial()
	for range 3 {
		c.send(framed([]byte("fetch")))
		if got := c.receive(); !bytes.Equal(got, want) {
			t.Fatal("the bytes differ")
		}
	}
	if n := sent.Load(); n != int64(3*len(p.sizes)) {
		t.Errorf("%d ranges were sent, want %d", n, 3*len(p.sizes))
	}
}

// TestFileIsReadWithoutSocket: a transport that is no plain socket, such as one
// that encrypts, must see the bytes.
func TestFileIsReadWithoutSocket(t *testing.T) {
	var sent atomic.Int64
	p, want := inRanges(t, &sent)
	bubble(t, testOptions(), answered(p), func(t *testing.T, r *rig) {
		c := r.pipe()
		c.send(framed([]byte("fetch")))
		if got := c.receive(); !bytes.Equal(got, want) {
			t.Error("the bytes differ")
		}
	})
	if n := sent.Load(); n != 0 {
		t.Errorf("%d ranges were sent", n)
	}
}

// TestFileThatCannotBeSent is read.
func TestFileThatCannotBeSent(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	told := make(chan error, 1)
	r := start(t, testOptions(), answered(&odd{dir, told}))
	c := r.dial()
	c.send(framed([]byte("fetch")))
	if got := c.receive(); string(got) != "instead" {
		t.Errorf("got %q", got)
	}
	if err := <-told; !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a folder is sent: %v", err)
	}
}

// odd tries to send what cannot be sent.
type odd struct {
	file *os.File
	told chan error
}

func (p *odd) Size() int { return 11 }

func (p *odd) WriteTo(w io.Writer) (int64, error) {
	_, err := w.(*outlet).SendFile(p.file.Fd(), 0, 7)
	p.told <- err
	n, err := w.Write(framed([]byte("instead")))
	return int64(n), err
}

func (p *odd) Release() {}

// TestSendingFails: an answer that cannot be finished closes the connection.
func TestSendingFails(t *testing.T) {
	f, _ := fileOf(t, 8<<20)
	for name, p := range map[string]*ranges{
		"a file that ends early":        {file: f, heads: [][]byte{make([]byte, 4)}, sizes: []int{9 << 20}},
		"more than the answer's size":   {file: f, heads: [][]byte{make([]byte, 4)}, sizes: []int{100}, said: -1},
		"less than the answer's size":   {file: f, heads: [][]byte{make([]byte, 4)}, sizes: []int{100}, said: 1},
		"a peer that takes nothing":     {file: f, heads: [][]byte{make([]byte, 4), make([]byte, 4)}, sizes: []int{8 << 20, 0}},
		"a peer that takes nothing new": {file: f, heads: [][]byte{make([]byte, 4), make([]byte, 4), make([]byte, 4)}, sizes: []int{1 << 10, 7 << 20, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p.sent = new(atomic.Int64)
			h := answered(p)
			o := testOptions()
			o.WriteTimeout = 20 * time.Millisecond
			r := start(t, o, h)
			c := r.dial()
			_ = c.Conn.(interface{ SetReadBuffer(int) error }).SetReadBuffer(4 << 10)
			c.send(framed([]byte("fetch")))
			eventually(t, "the connection ends", func() bool { return h.ended.Load() == 1 })
		})
	}
}

// BenchmarkFile answers with ranges of a file, sent by the kernel or copied.
func BenchmarkFile(b *testing.B) {
	const size = 1 << 20
	f, _ := fileOf(b, size)
	p := &ranges{file: f, heads: [][]byte{framed(make([]byte, size))[:4]}, sizes: []int{size}, sent: new(atomic.Int64)}
	for name, answer := range map[string]Payload{"sent": p, "copied": copied{p}} {
		b.Run(name, func(b *testing.B) {
			r := start(b, testOptions(), answered(answer))
			c := r.dial()
			request, got := framed([]byte("fetch")), make([]byte, size+4)
			b.SetBytes(size)
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// copied reads the one range of an answer through a buffer, as where it cannot
// be sent.
type copied struct{ *ranges }

var bufferOfCopied [256 << 10]byte

func (p copied) WriteTo(w io.Writer) (int64, error) {
	if _, err := w.Write(p.heads[0]); err != nil {
		return 0, err
	}
	for pos := int64(0); pos < int64(p.sizes[0]); {
		n, err := p.file.ReadAt(bufferOfCopied[:], pos)
		if n == 0 {
			return pos, err
		}
		if _, err := w.Write(bufferOfCopied[:n]); err != nil {
			return pos, err
		}
		pos += int64(n)
	}
	return int64(p.Size()), nil
}
