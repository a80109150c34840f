package segment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// TestTrace is the order of calls that everything durable hangs on.
func TestTrace(t *testing.T) {
	c := vfs.NewCrash("/data")
	s := openStore(t, testOptions(c, "/data"))
	config := plain()
	config.Flush, config.SegmentBytes = storage.FlushAlways, 150
	l := openLog(t, s, config)
	told := 0
	expect := func(what string, want ...string) {
		t.Helper()
		calls := c.Calls()
		if diff := cmp.Diff(want, brief(calls[told:])); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		told = len(calls)
	}
	expect("start", "replace meta.properties", "remove clean", "syncdir .")
	commit := func(value string) {
		t.Helper()
		a := appendBatch(t, l, batch(1, noon.UnixMilli(), value))
		if err := l.Wait(context.Background(), a.NextOffset); err != nil {
			t.Fatal(err)
		}
		s.work.Wait()
	}
	commit("0")
	expect("first append", "mkdir orders-0", "write partition.metadata unsynced", "create 00.log", "write 00.log 0+69",
		"replace leader-epoch-checkpoint", "sync 00.log", "sync partition.metadata", "syncdir .", "syncdir orders-0")
	commit("1")
	expect("append", "write 00.log 69+69", "sync 00.log")
	commit("2")
	expect("roll", "create 02.log", "write 02.log 0+69", "sync 00.log", "replace 00.index", "replace 00.timeindex", "replace 02.snapshot",
		"sync 02.log", "syncdir orders-0")
	if _, err := l.DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	expect("delete records", "replace log-start-offset-checkpoint", "syncdir orders-0", "syncdir .", "syncdir orders-0",
		"remove 00.index", "remove 00.timeindex", "remove 00.snapshot", "remove 00.log")
	stop(t, s)
	expect("stop", "replace leader-epoch-checkpoint", "syncdir orders-0", "replace checkpoint", "syncdir .", "replace clean", "syncdir .")

	s = openStore(t, testOptions(c, "/data"))
	l = openLog(t, s, plain())
	appendBatch(t, l, batch(1, noon.UnixMilli(), strings.Repeat("x", walkable)))
	expect("restart", "replace meta.properties", "remove clean", "syncdir .", "write 02.log 69+1048650")
	stop(t, s)
	expect("stop of a long segment", "replace leader-epoch-checkpoint", "sync 02.log", "syncdir orders-0", "replace 02.index", "replace 02.timeindex",
		"replace 04.snapshot", "syncdir orders-0", "replace checkpoint", "syncdir .", "replace clean", "syncdir .")
}

// brief shortens names, and the calls that replace a file as one.
func brief(calls []string) []string {
	var list []string
	for i, call := range calls {
		call = strings.ReplaceAll(strings.ReplaceAll(call, "orders-0/", ""), "000000000000000000", "")
		name, replaced := strings.CutPrefix(call, "rename ")
		switch {
		case replaced && strings.HasPrefix(calls[i-1], "sync"):
			list = append(list, "replace "+strings.Fields(name)[1])
		case replaced:
			list = append(list, "write "+strings.Fields(name)[1]+" unsynced")
		case !strings.Contains(call, ".tmp"):
			list = append(list, call)
		}
	}
	return list
}

// TestIntervalBoundsTheLoss: what is older than an interval survives a power
// cut.
func TestIntervalBoundsTheLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := vfs.NewCrash("/data")
		s := openStore(t, testOptions(c, "/data"))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		l := openLog(t, s, plain())
		appendBatch(t, l, batch(1, 0, "a"))
		appendBatch(t, l, batch(1, 0, "b"))
		time.Sleep(time.Second + time.Millisecond) // of the bubble
		synctest.Wait()
		appendBatch(t, l, batch(1, 0, "c"))
		after := c.AfterPowerCut(0)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s = openStore(t, testOptions(after, "/data"))
		if diff := cmp.Diff([]string{"a", "b"}, values(t, openLog(t, s, plain()), 0)); diff != "" {
			t.Error(diff)
		}
		stop(t, s)
	})
}

// TestRollBringsACheckpoint: so that a start does not check what was sealed.
func TestRollBringsACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions(vfs.Memory(), "/data")
		s := openStore(t, o)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		c := small()
		c.Flush = storage.FlushOS
		l := openLog(t, s, c)
		for i := range 20 {
			appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint("value ", i)))
		}
		time.Sleep(3 * time.Second) // of the bubble
		synctest.Wait()
		raw, err := vfs.ReadFile(o.FS, "/data/checkpoint", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		marks, err := decodeCheckpoint(raw)
		if err != nil || len(marks) != 1 || marks[0].recovery != 18 || marks[0].end != 20 {
			t.Errorf("%+v, %v", marks, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestCommitsInGroups: who comes while a sync runs shares the next one.
func TestCommitsInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := vfs.NewCrash("/data")
		gate := make(chan struct{})
		s := openStore(t, testOptions(gated{c, gate}, "/data"))
		config := plain()
		config.Flush = storage.FlushAlways
		l := openLog(t, s, config)
		const writers = 50
		var g sync.WaitGroup
		for w := range writers {
			g.Go(func() {
				a, err := l.Append(batch(1, 0, fmt.Sprint(w)), noon)
				if err == nil {
					err = l.Wait(context.Background(), a.NextOffset)
				}
				if err != nil || l.Offsets().HighWatermark < a.NextOffset {
					t.Errorf("%+v, %v", a, err)
				}
			})
		}
		synctest.Wait()
		if slice, err := l.Read(storage.Read{MaxBytes: 1000}); err != nil || slice.Records != nil {
			t.Errorf("read before the sync: %+v, %v", slice, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := l.Wait(ctx, 1); err != context.DeadlineExceeded {
			t.Errorf("wait for a sync that hangs: %v", err)
		}
		close(gate)
		g.Wait()
		s.work.Wait()
		syncs := 0
		for _, call := range c.Calls() {
			if strings.HasPrefix(call, "sync orders-0/") && strings.HasSuffix(call, logSuffix) {
				syncs++
			}
		}
		if syncs > 2 {
			t.Errorf("%d syncs for %d commits", syncs, writers)
		}
		if got := values(t, l, 0); len(got) != writers {
			t.Errorf("%d records", len(got))
		}
		stop(t, s)
	})
}

// gated lets syncs of logs pass when the gate is closed for good.
type gated struct {
	*vfs.Crash
	gate chan struct{}
}

func (g gated) OpenWrite(name string) (vfs.File, error) {
	f, err := g.Crash.OpenWrite(name)
	if err == nil && strings.HasSuffix(name, logSuffix) {
		return gatedFile{f, g.gate}, nil
	}
	return f, err
}

type gatedFile struct {
	vfs.File
	gate chan struct{}
}

func (f gatedFile) Sync() error {
	<-f.gate
	return f.File.Sync()
}

// TestManyFilesOfFewOpen: more segments than may be open.
func TestManyFilesOfFewOpen(t *testing.T) {
	o := testOptions(vfs.OS(), t.TempDir())
	o.MaxOpenSegments = 8
	s := openStore(t, o)
	c := small()
	c.Flush = storage.FlushOS
	var logs []storage.Log
	for p := range int32(20) {
		l, err := s.Open(kafka.TopicPartition{Topic: "many", Partition: p}, ordersID, c)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	for i := range 20 {
		for _, l := range logs {
			appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint(i)))
		}
	}
	for _, l := range logs {
		if got := values(t, l, 0); len(got) != 20 {
			t.Errorf("%d records", len(got))
		}
	}
	if n := len(s.files.open); n > o.MaxOpenSegments {
		t.Errorf("%d files are open", n)
	}
	s.files.sweep()
	s.files.sweep()
	if n := len(s.files.open); n != 0 {
		t.Errorf("%d files are open after two idle sweeps", n)
	}
	stop(t, s)
}

// TestAppendersAndReaders run beside each other, over rolls and retention.
func TestAppendersAndReaders(t *testing.T) {
	for name, flush := range flushes {
		t.Run(name, func(t *testing.T) {
			o := testOptions(vfs.Memory(), "/data")
			s := openStore(t, o)
			c := small()
			c.Flush = flush
			l := openLog(t, s, c)
			const n = 400
			var g sync.WaitGroup
			for range 3 {
				g.Go(func() { follow(t, l, n) })
			}
			g.Go(func() {
				for i := range n {
					appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint(i)))
				}
			})
			g.Go(func() {
				for range 20 {
					s.flush()
					if err := s.checkpoint(); err != nil {
						t.Error(err)
					}
				}
			})
			g.Wait()
			stop(t, s)
		})
	}
}

// follow reads as a consumer does, parked when there is nothing.
func follow(t *testing.T, l *Log, until int64) {
	for offset := int64(0); offset < until; {
		slice, err := l.Read(storage.Read{Offset: offset, MaxBytes: 1000, AtLeast1: true})
		if err != nil {
			t.Error(err)
			return
		}
		if slice.Records == nil {
			w := storage.NewWaiter(1)
			stopped := l.Watch(w, slice.Offsets.HighWatermark)
			<-w.C()
			stopped()
			continue
		}
		if slice.Next <= offset || slice.Next > slice.Offsets.HighWatermark {
			t.Errorf("read at %d goes on at %d, high watermark %d", offset, slice.Next, slice.Offsets.HighWatermark)
		}
		if _, err := slice.Records.WriteTo(discard{}); err != nil {
			t.Error(err)
		}
		offset = slice.Next
		slice.Records.Release()
	}
}
