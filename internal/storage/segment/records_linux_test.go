package segment

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// socket is a writer that sends from files, unless told otherwise.
type socket struct {
	bytes.Buffer
	refuses error
	begins  int64 // is sent before it refuses
	sent    int64
}

// SendFile reads the file by its descriptor.
func (s *socket) SendFile(fd uintptr, pos, size int64) (int64, error) {
	if s.refuses != nil && s.begins == 0 {
		return 0, s.refuses
	}
	if s.refuses != nil {
		size = s.begins
	}
	f, err := os.Open("/proc/self/fd/" + strconv.Itoa(int(fd)))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := io.Copy(&s.Buffer, io.NewSectionReader(f, pos, size))
	s.sent += n
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return n, cmp.Or(err, s.refuses)
}

// TestRecordsAreSent: large ranges of young segments go from the file to the
// socket, all others through a buffer, and the bytes are the same.
func TestRecordsAreSent(t *testing.T) {
	small, large := batch(1, 1000, "small"), sized(100<<10)
	for name, c := range map[string]struct {
		fs       vfs.FS
		refuses  error
		first    []byte
		segments int // behind the one that is read
		sent     bool
	}{
		"large":                         {fs: vfs.OS(), first: large, sent: true},
		"in the segment before":         {fs: vfs.OS(), first: large, segments: 1, sent: true},
		"in an old segment":             {fs: vfs.OS(), first: large, segments: 2},
		"small":                         {fs: vfs.OS(), first: small},
		"in memory":                     {fs: vfs.Memory(), first: large},
		"a transport that cannot do it": {fs: vfs.OS(), first: large, refuses: errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, testOptions(c.fs, t.TempDir()))
			defer stop(t, store)
			config := plain()
			config.SegmentBytes = 1
			l := openLog(t, store, config)
			appendBatch(t, l, c.first)
			for range c.segments {
				appendBatch(t, l, bytes.Clone(large))
			}
			slice, err := l.Read(storage.Read{MaxBytes: 1 << 20, AtLeast1: true})
			if err != nil {
				t.Fatal(err)
			}
			defer slice.Records.Release()
			var want bytes.Buffer
			to := &socket{refuses: c.refuses}
			for _, w := range []io.Writer{&want, to} {
				if n, err := slice.Records.WriteTo(w); err != nil || n != int64(slice.Records.Size()) {
					t.Fatalf("%d bytes of %d, %v", n, slice.Records.Size(), err)
				}
			}
			if !bytes.Equal(to.Bytes(), want.Bytes()) || c.sent != (to.sent > 0) {
				t.Errorf("%d of %d bytes were sent, equal is %v", to.sent, want.Len(), bytes.Equal(to.Bytes(), want.Bytes()))
			}
		})
	}
}

// TestRecordsThatEndEarly: a file that was cut behind the back of its log is an
// error, and is counted.
func TestRecordsThatEndEarly(t *testing.T) {
	store := openStore(t, testOptions(vfs.OS(), t.TempDir()))
	defer stop(t, store)
	l := openLog(t, store, plain())
	appendBatch(t, l, sized(100<<10))
	slice, err := l.Read(storage.Read{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer slice.Records.Release()
	r := slice.Records.(*records)
	r.size += 10
	for _, w := range []io.Writer{new(bytes.Buffer), new(socket)} {
		if n, err := r.WriteTo(w); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%T: %d bytes, %v", w, n, err)
		}
	}
	// A range that was begun is not begun again by copying it.
	begun := &socket{refuses: errors.ErrUnsupported, begins: 1000}
	if n, err := r.WriteTo(begun); n != 1000 || err == nil || begun.Len() != 1000 {
		t.Errorf("%d bytes of a range that was given up after 1000 arrive, %v", begun.Len(), err)
	}
	gone := errors.New("the peer is gone")
	if _, err := r.WriteTo(&socket{refuses: gone}); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}
