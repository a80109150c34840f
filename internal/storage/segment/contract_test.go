package segment

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// each runs the contract test on every ground a log can stand on.
func each(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("memory", func(t *testing.T) { test(t, testOptions(vfs.Memory(), "/data")) })
	t.Run("files", func(t *testing.T) { test(t, testOptions(vfs.OS(), t.TempDir()+"/data")) })
}

func TestAppendGivesDenseOffsets(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		l := openLog(t, s, plain())
		if got := l.Offsets(); got != (storage.Offsets{}) {
			t.Errorf("new log: %+v", got)
		}
		want := []string{}
		next := int64(0)
		for i := range 5 {
			value := fmt.Sprint("v", i)
			a := appendBatch(t, l, batch(i+1, noon.UnixMilli(), value))
			if diff := cmp.Diff(storage.Appended{BaseOffset: next, NextOffset: next + int64(i) + 1, AppendTime: -1}, a); diff != "" {
				t.Error(diff)
			}
			next = a.NextOffset
			for range i + 1 {
				want = append(want, value)
			}
		}
		for from := range want {
			if diff := cmp.Diff(want[from:], values(t, l, int64(from))); diff != "" {
				t.Errorf("from %d: %s", from, diff)
			}
		}
		if diff := cmp.Diff(storage.Offsets{LastStable: 15, HighWatermark: 15, End: 15}, l.Offsets()); diff != "" {
			t.Error(diff)
		}
		stop(t, s)
	})
}

func TestReadLimits(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		l := openLog(t, s, plain())
		one := len(batch(1, 0, "12345"))
		for range 10 {
			appendBatch(t, l, batch(1, noon.UnixMilli(), "12345"))
		}
		tests := map[string]struct {
			read storage.Read
			size int
			code kafka.Code
		}{
			"all":                  {storage.Read{Offset: 0, MaxBytes: 1 << 20}, 10 * one, 0},
			"whole batches only":   {storage.Read{Offset: 0, MaxBytes: 3*one + 7}, 3 * one, 0},
			"exactly":              {storage.Read{Offset: 4, MaxBytes: 2 * one}, 2 * one, 0},
			"too small":            {storage.Read{Offset: 4, MaxBytes: one - 1}, 0, 0},
			"at least one":         {storage.Read{Offset: 4, MaxBytes: 1, AtLeast1: true}, one, 0},
			"to the end":           {storage.Read{Offset: 8, MaxBytes: 3 * one}, 2 * one, 0},
			"at the end":           {storage.Read{Offset: 10, MaxBytes: 1 << 20, AtLeast1: true}, 0, 0},
			"beyond the end":       {storage.Read{Offset: 11, MaxBytes: 1 << 20}, 0, kafka.OffsetOutOfRange},
			"before the start":     {storage.Read{Offset: -1, MaxBytes: 1 << 20}, 0, kafka.OffsetOutOfRange},
			"committed is the end": {storage.Read{Offset: 0, MaxBytes: 1 << 20, Committed: true}, 10 * one, 0},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				slice, err := l.Read(tt.read)
				size := 0
				if slice.Records != nil {
					size = slice.Records.Size()
					slice.Records.Release()
				}
				if size != tt.size || kafka.CodeOf(err) != tt.code {
					t.Errorf("got %d bytes, %v; want %d, %s", size, err, tt.size, tt.code)
				}
			})
		}
		stop(t, s)
	})
}

func TestRollsAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		c := plain()
		c.SegmentBytes = 300
		l := openLog(t, s, c)
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprint(i))
			appendBatch(t, l, batch(1, noon.UnixMilli()+int64(i), fmt.Sprint(i)))
		}
		if n := len(l.segments()); n < 10 {
			t.Errorf("only %d segments", n)
		}
		if diff := cmp.Diff(want, values(t, l, 0)); diff != "" {
			t.Error(diff)
		}
		size := l.Size()
		stop(t, s)

		s = openStore(t, o)
		l = openLog(t, s, c)
		if diff := cmp.Diff(storage.Offsets{LastStable: 50, HighWatermark: 50, End: 50, Epoch: 1}, l.Offsets()); diff != "" {
			t.Error(diff)
		}
		if l.serving.Load() {
			t.Error("a clean start opened the log")
		}
		if l.Size() != size {
			t.Errorf("size: got %d, want %d", l.Size(), size)
		}
		appendBatch(t, l, batch(1, noon.UnixMilli(), "more"))
		if diff := cmp.Diff(append(want, "more"), values(t, l, 0)); diff != "" {
			t.Error(diff)
		}
		kill(s)

		s = openStore(t, o)
		l = openLog(t, s, c)
		if diff := cmp.Diff(append(want, "more"), values(t, l, 0)); diff != "" {
			t.Error(diff)
		}
		stop(t, s)
	})
}

func TestWatch(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		l := openLog(t, s, plain())
		b := batch(1, 0, "x")
		w := storage.NewWaiter(int64(2 * len(b)))
		stopped := l.Watch(w, 0)
		appendBatch(t, l, batch(1, 0, "x"))
		select {
		case <-w.C():
			t.Error("woke before its bytes were there")
		default:
		}
		appendBatch(t, l, batch(1, 0, "x"))
		<-w.C()
		stopped()
		late := storage.NewWaiter(1 << 20)
		defer l.Watch(late, 0)()
		<-late.C() // what was appended since the caller looked
		gone := storage.NewWaiter(1 << 20)
		defer l.Watch(gone, 2)()
		if err := s.Delete(orders, ordersID); err != nil {
			t.Fatal(err)
		}
		<-gone.C()
		stop(t, s)
	})
}

func TestDeleteAndCreateAgain(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		l := openLog(t, s, plain())
		appendBatch(t, l, batch(3, 0, "old"))
		held, err := l.Read(storage.Read{Offset: 0, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(orders, kafka.TopicID{9}); err != nil || len(s.Partitions()) != 1 {
			t.Errorf("delete of another life: %v, %v", err, s.Partitions())
		}
		if err := s.Delete(orders, ordersID); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(batch(1, 0, "x"), noon); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
			t.Errorf("append: %v", err)
		}
		if _, err := l.Read(storage.Read{MaxBytes: 100}); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
			t.Errorf("read: %v", err)
		}
		if err := l.Wait(context.Background(), 100); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
			t.Errorf("wait: %v", err)
		}
		if _, err := held.Records.WriteTo(discard{}); err != nil {
			t.Errorf("a reader that was there first: %v", err)
		}
		held.Records.Release()
		again, err := s.Open(orders, kafka.TopicID{9}, plain())
		if err != nil {
			t.Fatal(err)
		}
		appendBatch(t, again, batch(1, 0, "new"))
		if diff := cmp.Diff([]string{"new"}, values(t, again, 0)); diff != "" {
			t.Error(diff)
		}
		if _, err := s.Open(orders, ordersID, plain()); kafka.CodeOf(err) != kafka.KafkaStorageError {
			t.Errorf("open with another id: %v", err)
		}
		s.work.Wait() // for the files to go
		stop(t, s)
		names, err := o.FS.ReadDir(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"LOCK", "checkpoint", "clean", "meta.properties", "orders-0"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestAlwaysShowsOnlyWhatIsSynced(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		c := plain()
		c.Flush = storage.FlushAlways
		l := openLog(t, s, c)
		for i := range 20 {
			a := appendBatch(t, l, batch(1, 0, fmt.Sprint(i)))
			if err := l.Wait(context.Background(), a.NextOffset); err != nil {
				t.Fatal(err)
			}
			if hw := l.Offsets().HighWatermark; hw < a.NextOffset {
				t.Errorf("high watermark %d after the wait for %d", hw, a.NextOffset)
			}
		}
		if got := values(t, l, 0); len(got) != 20 {
			t.Errorf("got %d records", len(got))
		}
		stop(t, s)
	})
}
