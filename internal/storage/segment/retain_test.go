package segment

import (
	"fmt"
	"testing"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

func TestDeleteRecords(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		c := plain()
		c.SegmentBytes = 300
		l := openLog(t, s, c)
		for i := range 40 {
			appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint(i)))
		}
		segments, size := len(l.segments()), l.Size()
		tests := []struct{ ask, want int64 }{{10, 10}, {5, 10}, {10, 10}, {25, 25}}
		for _, tt := range tests {
			if start, err := l.DeleteRecords(tt.ask); err != nil || start != tt.want {
				t.Errorf("up to %d: %d, %v", tt.ask, start, err)
			}
		}
		for _, bad := range []int64{41, -2} {
			if _, err := l.DeleteRecords(bad); kafka.CodeOf(err) != kafka.OffsetOutOfRange {
				t.Errorf("up to %d: %v", bad, err)
			}
		}
		if _, err := l.Read(storage.Read{Offset: 24, MaxBytes: 100}); kafka.CodeOf(err) != kafka.OffsetOutOfRange {
			t.Errorf("read below the start: %v", err)
		}
		if len(l.segments()) >= segments || l.Size() >= size {
			t.Errorf("%d segments of %d, %d bytes of %d are left", len(l.segments()), segments, l.Size(), size)
		}
		kill(s)
		s = openStore(t, o)
		l = openLog(t, s, c)
		if got := l.Offsets(); got.Start != 25 || got.End != 40 {
			t.Errorf("after the restart: %+v", got)
		}
		if start, err := l.DeleteRecords(-1); err != nil || start != 40 {
			t.Errorf("all: %d, %v", start, err)
		}
		stop(t, s)
		s = openStore(t, o)
		l = openLog(t, s, c)
		if got := l.Offsets(); got.Start != 40 || got.End != 40 {
			t.Errorf("after all: %+v", got)
		}
		if a := appendBatch(t, l, batch(1, 0, "x")); a.BaseOffset != 40 || a.LogStart != 40 {
			t.Errorf("append: %+v", a)
		}
		stop(t, s)
	})
}

// TestDeleteRecordsBehindCheckpoint: a start that was moved after the last
// checkpoint is what a kill leaves, also before the log is used.
func TestDeleteRecordsBehindCheckpoint(t *testing.T) {
	o := killed(t)
	s := openStore(t, o)
	l := openLog(t, s, small())
	if err := l.sync(true); err != nil {
		t.Fatal(err)
	}
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	start := l.segments()[0].next.Load() - 1 // no file goes
	if _, err := l.DeleteRecords(start); err != nil {
		t.Fatal(err)
	}
	kill(s)
	s = openStore(t, o)
	l = openLog(t, s, small())
	if got := l.Offsets().Start; got != start {
		t.Errorf("the log begins at %d, not at %d", got, start)
	}
	stop(t, s)
}

func TestRetention(t *testing.T) {
	tests := map[string]struct {
		change func(*storage.Config)
		after  time.Duration
		start  int64 // at least
		end    int64 // at most
	}{
		"nothing":           {func(c *storage.Config) {}, 1000 * time.Hour, 0, 0},
		"not yet":           {func(c *storage.Config) { c.RetentionAge = time.Hour }, time.Minute, 0, 0},
		"some":              {func(c *storage.Config) { c.RetentionAge = time.Hour }, time.Hour + 20*time.Second, 10, 20},
		"all":               {func(c *storage.Config) { c.RetentionAge = time.Hour }, 2 * time.Hour, 40, 40},
		"size":              {func(c *storage.Config) { c.RetentionBytes = 1000 }, 0, 20, 30},
		"size of nothing":   {func(c *storage.Config) { c.RetentionBytes = 0 }, 0, 35, 39},
		"age before size":   {func(c *storage.Config) { c.RetentionAge, c.RetentionBytes = time.Hour, 1<<20 }, 2 * time.Hour, 40, 40},
		"large enough":      {func(c *storage.Config) { c.RetentionBytes = 1 << 20 }, 0, 0, 0},
		"the newest counts": {func(c *storage.Config) { c.RetentionAge = time.Millisecond }, 0, 30, 39},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, o Options) {
				s := openStore(t, o)
				c := plain()
				c.SegmentBytes = 300
				tt.change(&c)
				l := openLog(t, s, c)
				for i := range 40 {
					appendBatch(t, l, batch(1, noon.Add(time.Duration(i)*time.Second).UnixMilli(), fmt.Sprint(i)))
				}
				stop(t, s)
				s = openStore(t, o) // also for a log that nobody has used
				l = openLog(t, s, c)
				now := noon.Add(tt.after)
				if tt.after == 0 {
					now = noon.Add(39 * time.Second)
				}
				l.retain(now)
				if start := l.Offsets().Start; start < tt.start || start > tt.end {
					t.Errorf("start %d, want %d to %d", start, tt.start, tt.end)
				}
				kill(s)
				s = openStore(t, o)
				l = openLog(t, s, c)
				marks := l.Offsets()
				if marks.Start < tt.start || marks.Start > tt.end || marks.End != 40 {
					t.Errorf("after the restart: %+v", marks)
				}
				if got := values(t, l, marks.Start); len(got) != int(40-marks.Start) {
					t.Errorf("%d records from %d on", len(got), marks.Start)
				}
				stop(t, s)
			})
		})
	}
}

func TestSegmentAge(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		c := plain()
		c.SegmentAge = time.Minute
		l := openLog(t, s, c)
		for _, at := range []int{0, 30, 60, 61, 90, 125} { // the time of the first record counts
			appendBatch(t, l, batch(1, noon.Add(time.Duration(at)*time.Second).UnixMilli(), "x"))
		}
		var bases []int64
		for _, seg := range l.segments() {
			bases = append(bases, seg.base)
		}
		if fmt.Sprint(bases) != "[0 3 5]" {
			t.Errorf("segments begin at %v", bases)
		}
		stop(t, s)
	})
}

// TestReadersOutliveRetention: what a reader holds stays readable.
func TestReadersOutliveRetention(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		c := plain()
		c.SegmentBytes = 300
		l := openLog(t, s, c)
		for i := range 40 {
			appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint(i)))
		}
		held, err := l.Read(storage.Read{Offset: 0, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		seg := l.segments()[0]
		if _, err := l.DeleteRecords(-1); err != nil {
			t.Fatal(err)
		}
		if _, err := held.Records.WriteTo(discard{}); err != nil {
			t.Error(err)
		}
		held.Records.Release()
		if seg.file != nil {
			t.Error("the last reader left the file open")
		}
		stop(t, s)
	})
}
