package segment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

func TestFailedSyncIsFinal(t *testing.T) {
	c := vfs.NewCrash("/data")
	s := openStore(t, testOptions(c, "/data"))
	d := &diary{flush: storage.FlushAlways}
	l := openLog(t, s, d.config())
	if err := d.append(l); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	c.Fail(func(call string) error {
		if len(call) > 5 && call[:5] == "sync " {
			return broken
		}
		return nil
	})
	if err := d.append(l); kafka.CodeOf(err) != kafka.KafkaStorageError || !errors.Is(err, broken) {
		t.Fatalf("append: %v", err)
	}
	c.Fail(nil)
	if err := d.append(l); kafka.CodeOf(err) != kafka.KafkaStorageError {
		t.Errorf("append after the disk is back: %v", err)
	}
	if _, err := l.Read(storage.Read{MaxBytes: 1000}); kafka.CodeOf(err) != kafka.KafkaStorageError {
		t.Errorf("read: %v", err)
	}
	if s.Healthy() == nil {
		t.Error("the store calls itself healthy")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s.Run(ctx) == nil {
		t.Error("the stop was clean")
	}
	s = openStore(t, testOptions(c, "/data"))
	if got := values(t, openLog(t, s, d.config()), 0); len(got) < 1 {
		t.Errorf("after the restart: %v", got)
	}
	stop(t, s)
}

func TestFullDiskKeepsServing(t *testing.T) {
	c := vfs.NewCrash("/data")
	o := testOptions(c, "/data")
	o.DiskReserve = 1 << 20
	s := openStore(t, o)
	d := &diary{flush: storage.FlushInterval}
	l := openLog(t, s, d.config())
	for range 3 {
		if err := d.append(l); err != nil {
			t.Fatal(err)
		}
	}
	c.SetFree(1<<20 + 10)
	later := noon.Add(2 * time.Second)
	if _, err := l.Append(numbered(3), later); kafka.CodeOf(err) != kafka.KafkaStorageError || !errors.Is(err, vfs.ErrFull) {
		t.Errorf("append: %v", err)
	}
	if got := values(t, l, 0); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	strict := d.config()
	strict.Strict = true
	priv, err := s.Open(kafka.TopicPartition{Topic: "__kaasd_metadata"}, kafka.TopicID{}, strict)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := priv.Append(batch(1, 0, "x"), later); err != nil {
		t.Errorf("the reserve is not for the metadata: %v", err)
	}
	c.SetFree(1 << 30)
	if a, err := l.Append(numbered(3), later); err != nil || a.BaseOffset != 3 {
		t.Errorf("append with room: %+v, %v", a, err)
	}
	if s.Healthy() != nil {
		t.Errorf("a full disk is not for a restart: %v", s.Healthy())
	}
	stop(t, s)
}

// TestNoRoomForHints: a disk without room for an index ends nothing, and once
// there is room all is made good.
func TestNoRoomForHints(t *testing.T) {
	c := vfs.NewCrash("/data")
	s := openStore(t, testOptions(c, "/data"))
	d := &diary{flush: storage.FlushInterval}
	l := openLog(t, s, d.config())
	for range 7 {
		if err := d.append(l); err != nil {
			t.Fatal(err)
		}
	}
	c.Fail(func(call string) error {
		if strings.HasPrefix(call, "write ") && !strings.Contains(call, logSuffix) {
			return vfs.ErrFull
		}
		return nil
	})
	s.flush()
	if err := d.append(l); err != nil {
		t.Errorf("append: %v", err)
	}
	if s.Healthy() != nil {
		t.Errorf("out of service: %v", s.Healthy())
	}
	c.Fail(nil)
	s.flush()
	d.check(t, c.AfterPowerCut(0), true)
	s2 := openStore(t, testOptions(c.AfterPowerCut(0), "/data"))
	if end := openLog(t, s2, d.config()).Offsets().End; end != 8 {
		t.Errorf("the log ends at %d", end)
	}
	stop(t, s2)
	stop(t, s)
}

// TestShortWriteIsCutBack: what a failed write left is not in the way of the
// next.
func TestShortWriteIsCutBack(t *testing.T) {
	c := vfs.NewCrash("/data")
	s := openStore(t, testOptions(shortWrites{c}, "/data"))
	d := &diary{flush: storage.FlushInterval}
	l := openLog(t, s, d.config())
	for i := range 6 {
		a, err := l.Append(numbered(d.tried), noon)
		if i%2 == 0 && err == nil || i%2 == 1 && (err != nil || a.BaseOffset != int64(d.tried)) {
			t.Fatalf("append %d: %+v, %v", i, a, err)
		}
		if err == nil {
			d.tried++
		}
	}
	if got := values(t, l, 0); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	stop(t, s)
}

// shortWrites lets every second write to a log through only in part.
type shortWrites struct{ *vfs.Crash }

func (s shortWrites) OpenWrite(name string) (vfs.File, error) {
	f, err := s.Crash.OpenWrite(name)
	if err == nil && len(name) > 4 && name[len(name)-4:] == logSuffix {
		return &shortFile{File: f}, nil
	}
	return f, err
}

type shortFile struct {
	vfs.File
	n int
}

func (f *shortFile) WriteAt(p []byte, off int64) (int, error) {
	if f.n++; f.n%2 == 1 {
		f.File.WriteAt(p[:len(p)/2], off)
		return len(p) / 2, vfs.ErrFull
	}
	return f.File.WriteAt(p, off)
}
