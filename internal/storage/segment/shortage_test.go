package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// crowded is a file system for which there are only so many descriptors; each of
// its files takes one.
type crowded struct {
	*vfs.Crash
	left *atomic.Int64
}

func newCrowded(descriptors int64) crowded {
	c := crowded{vfs.NewCrash("/data"), new(atomic.Int64)}
	c.left.Store(descriptors)
	return c
}

func (c crowded) take() error {
	if c.left.Add(-1) < 0 {
		c.left.Add(1)
		return fmt.Errorf("%w: open: too many open files", vfs.ErrDescriptors)
	}
	return nil
}

func (c crowded) give() { c.left.Add(1) }

func (c crowded) file(open func(string) (vfs.File, error), name string) (vfs.File, error) {
	if err := c.take(); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		c.give()
		return nil, err
	}
	return crowdedFile{f, c}, nil
}

func (c crowded) Open(name string) (vfs.File, error)      { return c.file(c.Crash.Open, name) }
func (c crowded) OpenWrite(name string) (vfs.File, error) { return c.file(c.Crash.OpenWrite, name) }

func (c crowded) ReadDir(name string) ([]string, error) {
	if err := c.take(); err != nil {
		return nil, err
	}
	defer c.give()
	return c.Crash.ReadDir(name)
}

func (c crowded) SyncDir(name string) error {
	if err := c.take(); err != nil {
		return err
	}
	defer c.give()
	return c.Crash.SyncDir(name)
}

type crowdedFile struct {
	vfs.File
	c crowded
}

func (f crowdedFile) Close() error {
	f.c.give()
	return f.File.Close()
}

// TestNoDescriptors: while there are no descriptors, what needs one is refused or
// put off, and nothing is taken out of service: when they are back all goes on.
func TestNoDescriptors(t *testing.T) {
	for _, flush := range []storage.Flush{storage.FlushInterval, storage.FlushOS, storage.FlushAlways} {
		for spare := range int64(6) { // so that each of the files in turn is the one too many
			t.Run(fmt.Sprintf("%v, %d left", flush, spare), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { starve(t, flush, spare) })
			})
		}
	}
}

func starve(t *testing.T, flush storage.Flush, spare int64) {
	c := newCrowded(1 << 20)
	s := openStore(t, testOptions(c, "/data"))
	cfg := (&diary{flush: flush}).config()
	var logs []storage.Log
	for i := range int32(2) {
		l, err := s.Open(kafka.TopicPartition{Topic: "orders", Partition: i}, ordersID, cfg)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	write := func(l storage.Log) error {
		a, err := l.Append(batch(1, noon.UnixMilli(), strings.Repeat("x", 150)), noon)
		if err != nil {
			return err
		}
		return l.Wait(t.Context(), a.NextOffset)
	}
	before := c.left.Swap(spare)
	for range 7 { // over a roll
		for _, l := range logs {
			if err := write(l); err != nil && (kafka.CodeOf(err) != kafka.KafkaStorageError || !errors.Is(err, vfs.ErrDescriptors)) {
				t.Fatalf("append: %v", err)
			}
		}
		s.flush()
		s.retain(noon)
		s.tryCheckpoint()
	}
	if err := s.Healthy(); err != nil {
		t.Errorf("out of service: %v", err)
	}
	c.left.Add(before - spare)
	var want []int64
	for _, l := range logs {
		if err := write(l); err != nil {
			t.Errorf("append with descriptors: %v", err)
		}
		want = append(want, l.Offsets().End)
	}
	stop(t, s)
	if s = openStore(t, testOptions(c, "/data")); !s.clean {
		t.Error("the stop was not clean")
	}
	var got []int64
	for _, p := range s.Partitions() {
		l, err := s.Open(p.TopicPartition, p.ID, cfg)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.Offsets().End)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the logs end at %v, want %v", got, want)
	}
	stop(t, s)
}

// TestIdleFileGivesWay: a file that nobody uses is closed where another has to be
// opened, without a refusal.
func TestIdleFileGivesWay(t *testing.T) {
	c := newCrowded(1 << 20)
	s := openStore(t, testOptions(c, "/data"))
	for i := range 8 {
		l, err := s.Open(kafka.TopicPartition{Topic: "orders", Partition: int32(i)}, ordersID, plain())
		if err != nil {
			t.Fatal(err)
		}
		if i == 4 {
			c.left.Store(0)
			s.flush() // which opens files, too
		}
		if _, err := l.Append(numbered(i), noon); err != nil {
			t.Fatalf("log %d: %v", i, err)
		}
		s.flush()
	}
	if err := s.Healthy(); err != nil {
		t.Error(err)
	}
	stop(t, s)
}

// TestManyLogsAtOnce: records for many more logs than there are descriptors get in
// between two passes of the flush, by syncs on the way.
func TestManyLogsAtOnce(t *testing.T) {
	for _, flush := range []storage.Flush{storage.FlushInterval, storage.FlushOS} {
		c := newCrowded(1 << 20)
		o := testOptions(c, "/data")
		o.MaxOpenSegments, o.MostOpenSegments = 4, 8
		s := openStore(t, o)
		cfg := plain()
		cfg.Flush = flush
		before := c.left.Swap(10)
		for i := range 200 {
			l, err := s.Open(kafka.TopicPartition{Topic: "orders", Partition: int32(i % 100)}, ordersID, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(batch(1, noon.UnixMilli(), "x"), noon); err != nil {
				t.Fatalf("%v: log %d: %v", flush, i, err)
			}
		}
		s.flush()
		if got := s.files.n.Load(); got > 4 {
			t.Errorf("%v: %d files stay open", flush, got)
		}
		c.left.Add(before - 10)
		stop(t, s)
	}
}

// TestShortageIsToldOnce: one line in ten seconds for all logs.
func TestShortageIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowded(1 << 20)
		core, logs := observer.New(zap.WarnLevel)
		s, err := Open(testOptions(c, "/data"), zap.New(core), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := c.left.Swap(0)
		for range 21 {
			for i := range 3 {
				l, err := s.Open(kafka.TopicPartition{Topic: "orders", Partition: int32(i)}, ordersID, plain())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := l.Append(numbered(i), time.Now()); !errors.Is(err, vfs.ErrDescriptors) {
					t.Fatalf("append: %v", err)
				}
			}
			<-time.After(time.Second)
		}
		if got := logs.FilterMessageSnippet("descriptors").Len(); got != 3 || logs.Len() != got {
			t.Errorf("told %d times in 21 s, %d lines", got, logs.Len())
		}
		c.left.Store(before)
		stop(t, s)
	})
}

// TestCommitWaitsForDescriptors: who waits for a sync waits for a while, and the
// owner of a strict log until there are descriptors again.
func TestCommitWaitsForDescriptors(t *testing.T) {
	for name, tt := range map[string]struct {
		strict bool
		after  time.Duration
		ok     bool
	}{
		"soon":               {false, time.Second, true},
		"too late":           {false, time.Hour, false},
		"strict, much later": {true, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowded(1 << 20)
				s := openStore(t, testOptions(c, "/data"))
				cfg := plain()
				cfg.Flush, cfg.Strict = storage.FlushAlways, tt.strict
				l := openLog(t, s, cfg)
				before := c.left.Swap(1) // for the segment alone
				a, err := l.Append(numbered(0), noon)
				for errors.Is(err, vfs.ErrDescriptors) {
					c.left.Add(1)
					a, err = l.Append(numbered(0), noon)
				}
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(tt.after, func() { c.left.Store(before) })
				err = l.Wait(t.Context(), a.NextOffset)
				if (err == nil) != tt.ok {
					t.Errorf("got %v", err)
				}
				<-time.After(2 * tt.after)
				if err := l.Wait(context.Background(), a.NextOffset); err != nil {
					t.Errorf("with descriptors: %v", err)
				}
				stop(t, s)
			})
		})
	}
}

// TestSegmentsOfDescriptors: connections leave a quarter of the descriptors, of
// which refused ones take a quarter.
func TestSegmentsOfDescriptors(t *testing.T) {
	for descriptors, want := range map[uint64]int{0: 4096, 64: 16, 1024: 192, 4300: 804, 1 << 20: 4096} {
		if got := openSegmentsOf(descriptors); got != want {
			t.Errorf("%d descriptors: %d segments, want %d", descriptors, got, want)
		}
	}
}
