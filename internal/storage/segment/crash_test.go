package segment

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// diary is what a run on a file system that may be cut at any moment tried and
// was told.
type diary struct {
	flush   storage.Flush
	tried   int   // records, one a batch: record i has offset i and sequence i
	acked   int64 // everything below was acknowledged
	start   int64 // DeleteRecords was acknowledged for it
	asked   int64 // DeleteRecords was asked for it
	deleted bool  // the other topic's deletion was acknowledged
	stops   int   // clean stops that were told
}

const producerID = 77

var (
	other   = kafka.TopicPartition{Topic: "other", Partition: 3}
	otherID = kafka.TopicID{7}
)

// numbered is a batch; some lie across two sectors, with the header in the first.
func numbered(i int) record.Batch {
	long := record.Header{Key: "padding", Value: bytes.Repeat([]byte{0xaa}, 60)}
	return record.NewBuilder(record.None).Producer(producerID, 1, int32(i)).Add(noon.UnixMilli()+int64(i), nil, fmt.Appendf(nil, "value %d", i), long).Batch()
}

func (d *diary) config() storage.Config {
	c := plain()
	c.Flush, c.SegmentBytes, c.IndexIntervalBytes = d.flush, 650, 200
	return c
}

// run is the story: appends, rolls, checkpoints, deletions, restarts. It ends
// where the file system is cut.
func (d *diary) run(c *vfs.Crash) {
	for part := range 3 {
		s, err := Open(testOptions(c, "/data"), zap.NewNop(), nil)
		if err != nil {
			return
		}
		if err := d.chapter(s, part); err != nil {
			kill(s)
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if part == 1 { // one restart after a kill, the others clean
			kill(s)
			continue
		}
		if s.Run(ctx) != nil {
			return
		}
		d.stops++
	}
}

func (d *diary) chapter(s *Store, part int) error {
	l, err := s.Open(orders, ordersID, d.config())
	if err != nil {
		return err
	}
	for i := range 8 {
		if err := d.append(l); err != nil {
			return err
		}
		if i == 3 {
			s.flush()
			if err := s.checkpoint(); err != nil {
				return err
			}
		}
	}
	switch part {
	case 0:
		side, err := s.Open(other, otherID, d.config())
		if err != nil {
			return err
		}
		if _, err := side.Append(batch(1, 0, "side"), noon); err != nil {
			return err
		}
		return d.deleteRecords(l, 2) // no segment goes with it
	case 1:
		if err := d.deleteRecords(l, 7); err != nil {
			return err
		}
		if err := s.Delete(other, otherID); err != nil {
			return err
		}
		d.deleted = true
		s.work.Wait()
	}
	return nil
}

func (d *diary) deleteRecords(l storage.Log, offset int64) error {
	d.asked = offset
	_, err := l.DeleteRecords(offset)
	if err == nil {
		d.start = offset
	}
	return err
}

func (d *diary) append(l storage.Log) error {
	b := numbered(d.tried)
	d.tried++
	a, err := l.Append(b, noon)
	if err != nil {
		return err
	}
	if err := l.Wait(context.Background(), a.NextOffset); err != nil {
		return err
	}
	if a.BaseOffset != int64(d.tried-1) || a.Duplicate {
		return fmt.Errorf("record %d went to %d", d.tried-1, a.BaseOffset)
	}
	d.acked = a.NextOffset
	return nil
}

// check holds what is found after the crash against the diary. After a power
// cut what was acknowledged may be gone, but under FlushAlways.
func (d *diary) check(t *testing.T, c *vfs.Crash, power bool) {
	t.Helper()
	lost := power && d.flush != storage.FlushAlways
	s, err := Open(testOptions(c, "/data"), zap.NewNop(), nil)
	if err != nil {
		t.Fatalf("open after the crash: %v\n%v", err, c.Calls())
	}
	l := openLog(t, s, d.config())
	o := l.Offsets()
	if !lost && (o.End < d.acked || o.Start < d.start || o.Start > d.asked) || o.End > int64(d.tried) {
		t.Fatalf("offsets %+v do not fit %+v", o, d)
	}
	if o.HighWatermark != o.End || o.Epoch != s.Epoch() {
		t.Errorf("offsets %+v, epoch %d", o, s.Epoch())
	}
	d.checkRecords(t, l, o, lost)
	d.checkRetries(t, l, o, lost)
	for _, p := range s.Partitions() {
		if p.TopicPartition == other && d.deleted && !power {
			t.Error("a deleted topic is back")
		}
		if p.TopicPartition != other {
			continue
		}
		side, err := s.Open(other, otherID, d.config())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range valuesAt(t, side, side.Offsets().Start) {
			if v != "side" {
				t.Errorf("the other topic holds %q", v)
			}
		}
	}
	want := maps.Collect(valuesAt(t, l, l.Offsets().Start))
	stop(t, s)

	s = openStore(t, testOptions(c, "/data"))
	l = openLog(t, s, d.config())
	if diff := cmp.Diff(want, maps.Collect(valuesAt(t, l, l.Offsets().Start))); diff != "" {
		t.Errorf("after a clean restart: %s", diff)
	}
	stop(t, s)
	if err := Verify(c, "/data", func(f Finding) { t.Errorf("verify: %s", f) }); err != nil {
		t.Error(err)
	}
}

// checkRecords: what is there is what was tried, in order, nothing twice.
func (d *diary) checkRecords(t *testing.T, l *Log, o storage.Offsets, lost bool) {
	t.Helper()
	next := o.Start
	for offset, v := range valuesAt(t, l, o.Start) {
		if want := fmt.Sprintf("value %d", offset); v != want || offset < next || offset > next && !lost {
			t.Fatalf("offset %d: got %q, %d is next", offset, v, next)
		}
		next = offset + 1
	}
	if next != o.End {
		t.Fatalf("reading ended at %d, the log at %d", next, o.End)
	}
}

// checkRetries: a producer that got no answer sends again. What is there is
// answered with its offset, what is not is appended behind it.
func (d *diary) checkRetries(t *testing.T, l *Log, o storage.Offsets, lost bool) {
	t.Helper()
	if lost {
		return // then the producer's sequence begins anew
	}
	for i := max(0, int(o.End)-remembered); i < d.tried; i++ {
		a, err := l.Append(numbered(i), noon)
		if err != nil {
			t.Fatalf("retry of %d: %v", i, err)
		}
		if there := int64(i) < o.End; a.Duplicate != there || a.BaseOffset != int64(i) {
			t.Errorf("retry of %d: %+v, the log ended at %d", i, a, o.End)
		}
		if err := l.Wait(context.Background(), a.NextOffset); err != nil {
			t.Fatal(err)
		}
	}
}

var flushes = map[string]storage.Flush{"os": storage.FlushOS, "interval": storage.FlushInterval, "always": storage.FlushAlways}

// TestEveryCut cuts the story at every call, in writes also after some bytes,
// and looks what a kill and power cuts have left.
func TestEveryCut(t *testing.T) {
	for name, flush := range flushes {
		t.Run(name, func(t *testing.T) {
			whole := vfs.NewCrash("/data")
			d := &diary{flush: flush}
			d.run(whole)
			if d.stops != 2 || d.acked != 24 {
				t.Fatalf("the story is not told to its end: %+v", d)
			}
			for i, call := range whole.Calls() {
				cuts := uint64(2)
				if strings.HasPrefix(call, "sync ") && strings.HasSuffix(call, logSuffix) {
					cuts = 12 // there are torn batches to be had
				}
				cut(t, flush, i+1, 0, cuts)
				if strings.HasPrefix(call, "write") {
					cut(t, flush, i+1, 30, cuts)
					cut(t, flush, i+1, 1<<20, cuts)
				}
			}
		})
	}
}

func cut(t *testing.T, flush storage.Flush, call, keep int, cuts uint64) {
	t.Helper()
	c := vfs.NewCrash("/data")
	c.CutAt(call, keep)
	d := &diary{flush: flush}
	d.run(c)
	what := fmt.Sprintf("call %d keep %d", call, keep)
	ok := t.Run(what+" kill", func(t *testing.T) { d.check(t, c.AfterKill(), false) })
	for seed := range cuts {
		ok = t.Run(fmt.Sprintf("%s power %d", what, seed), func(t *testing.T) {
			d.check(t, c.AfterPowerCut(seed*uint64(call)), true)
		}) && ok
	}
	if !ok {
		calls := c.Calls()
		t.Fatalf("%s: the last calls were %q", what, calls[max(0, len(calls)-8):])
	}
}

// TestRecoveryIsCut cuts the way back up as well, after a power cut that left
// a torn tail.
func TestRecoveryIsCut(t *testing.T) {
	torn := func() (*vfs.Crash, *diary) {
		c := vfs.NewCrash("/data")
		c.CutAt(60, 40)
		d := &diary{flush: storage.FlushAlways}
		d.run(c)
		return c.AfterPowerCut(5), d
	}
	c, d := torn()
	d.check(t, c, true)
	for call := 1; call <= len(c.Calls()); call++ {
		c, d := torn()
		c.CutAt(call, 20)
		again := *d
		if s, err := Open(testOptions(c, "/data"), zap.NewNop(), nil); err == nil {
			if l, err := s.Open(orders, ordersID, d.config()); err == nil {
				l.Offsets()
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			s.Run(ctx)
		}
		again.check(t, c.AfterKill(), true)
	}
}
