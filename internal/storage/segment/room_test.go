package segment

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// TestReserveIsTold: who runs out of room reads how much there is, what is kept
// and what to do: at the start, and once when a write is refused.
func TestReserveIsTold(t *testing.T) {
	c := vfs.NewCrash("/data")
	o := testOptions(c, "/data")
	o.DiskReserve = 1000
	c.SetFree(1020)
	core, logs := observer.New(zap.WarnLevel)
	s, err := Open(o, zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	if free, reserve, err := s.Room(); free != 1020 || reserve != 1000 || err != nil {
		t.Errorf("room: %d, %d, %v", free, reserve, err)
	}
	d := &diary{flush: storage.FlushInterval}
	l := openLog(t, s, d.config())
	b := numbered(0)
	for range 3 {
		if _, err := l.Append(b, noon); !errors.Is(err, vfs.ErrFull) {
			t.Errorf("append: %v", err)
		}
	}
	stop(t, s)

	c.SetFree(999)
	if s, err = Open(o, zap.New(core), nil); err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	want := []told{
		{"writes are refused and reading goes on: free space is down to log.disk.reserve (make room on the disk, or lower the reserve)",
			map[string]any{"topic": "orders", "partition": int32(0), "dir": "/data", "free_bytes": int64(1020), "reserve_bytes": int64(1000), "write_bytes": int64(len(b))}},
		{"writes will be refused: less space is free than log.disk.reserve keeps (make room on the disk, or lower the reserve)",
			map[string]any{"dir": "/data", "free_bytes": int64(999), "reserve_bytes": int64(1000)}},
	}
	var got []told
	for _, e := range logs.All() {
		got = append(got, told{e.Message, e.ContextMap()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// told is a line of the log.
type told struct {
	Message string
	Fields  map[string]any
}

// TestFullDiskIsTold: a disk without any room is told with what to do.
func TestFullDiskIsTold(t *testing.T) {
	c := vfs.NewCrash("/data")
	core, logs := observer.New(zap.WarnLevel)
	s, err := Open(testOptions(c, "/data"), zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := openLog(t, s, (&diary{flush: storage.FlushInterval}).config())
	c.Fail(func(string) error { return vfs.ErrFull })
	if _, err := l.Append(numbered(0), noon.Add(time.Second)); !errors.Is(err, vfs.ErrFull) {
		t.Errorf("append: %v", err)
	}
	c.Fail(nil)
	stop(t, s)
	if n := logs.FilterMessage("writes are refused and reading goes on: the disk is full (make room on it)").Len(); n != 1 {
		t.Errorf("told %d times; the log: %v", n, logs.All())
	}
}

// TestVerifyLeavesAloneWhatIsInUse: the files of a running broker change.
func TestVerifyLeavesAloneWhatIsInUse(t *testing.T) {
	c := vfs.NewCrash("/data")
	s := openStore(t, testOptions(c, "/data"))
	var taken *vfs.LockedError
	report := func(f Finding) { t.Errorf("finding %s", f) }
	if err := Verify(c, "/data", report); !errors.As(err, &taken) || err.Error() != "data folder /data is in use" {
		t.Errorf("in use: %v", err)
	}
	stop(t, s)
	before := c.Calls()
	if err := Verify(c, "/data", report); err != nil {
		t.Errorf("after the stop: %v", err)
	}
	if diff := cmp.Diff(before, c.Calls()); diff != "" {
		t.Errorf("verify changes something:\n%s", diff)
	}
}
