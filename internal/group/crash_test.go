package group

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// deed is one step of a saga: what was done is to be there afterwards, or with
// durable is what a power cut must not take either.
type deed struct {
	do      func(c *Coordinator) error
	durable bool
}

// deeds are commits and what else changes offsets, with rewrites of the log in
// between. Under FlushAlways each is durable when it returns, otherwise only a
// rewrite is.
func deeds(flush storage.Flush) []deed {
	ctx, now := context.Background(), time.Now()
	always := flush == storage.FlushAlways
	commit := func(name string, topic byte, partition int32, at int64) deed {
		return deed{func(c *Coordinator) error {
			return c.Commit(ctx, now, name, &Commit{Generation: -1, Topics: offset(topic, partition, at)})
		}, always}
	}
	rewrite := deed{func(c *Coordinator) error { return c.journal.rewrite(ctx, now, c.rewriteAll) }, true}
	return []deed{
		commit("g\xff", 1, 0, 1), commit("g\xff", 1, 1, 2), commit("h", 2, 0, 3),
		{memberCommits, always},
		rewrite,
		commit("g\xff", 1, 0, 4),
		{func(c *Coordinator) error {
			_, err := c.Drop(ctx, now, "g\xff", offset(1, 1, 0))
			return err
		}, always},
		rewrite,
		{func(c *Coordinator) error { return c.Delete(ctx, now, "h") }, always},
		commit("g\xff", 1, 2, 5), commit("i", 3, 0, 6), commit("i", 3, 0, 7),
		rewrite, rewrite,
		commit("g\xff", 1, 0, 8),
	}
}

// memberCommits is a member that comes, commits and stays.
func memberCommits(c *Coordinator) error {
	now := time.Now()
	f := c.Join(now, "m", consumer(""))
	v := f.Value()
	s := c.Sync(now, "m", &Sync{MemberID: v.MemberID, Generation: v.Generation})
	if err := s.Value().Err; err != nil {
		return err
	}
	return c.Commit(context.Background(), now, "m", &Commit{MemberID: v.MemberID, Generation: v.Generation, Topics: offset(4, 0, 9)})
}

// sketch is all offsets in words.
func sketch(c *Coordinator) string {
	var b strings.Builder
	for _, g := range c.all() {
		for _, t := range c.AllCommitted(g.name) {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, "%q %s:%d:%d\n", g.name, t.Name, p.Partition, p.Offset)
			}
		}
	}
	return b.String()
}

// saga is how far the deeds got before the file system was cut off.
type saga struct {
	durable   int // so many deeds a power cut must not take
	done      int // so many were acknowledged
	attempted int // so many were begun
}

func (told saga) String() string {
	return fmt.Sprintf("%d of %d deeds, %d of them durable", told.done, told.attempted, told.durable)
}

func crashOptions(flush storage.Flush) Options {
	o := DefaultOptions()
	o.InitialDelay = 0
	o.Log = LogConfig(flush)
	o.Log.SegmentBytes = 400 // so that rewrites let go of files
	return o
}

func tellSaga(t *testing.T, fs vfs.FS, flush storage.Flush, after func(string)) (told saga) {
	c, stop, err := openOn(t, fs, crashOptions(flush))
	if err != nil {
		return told
	}
	defer stop()
	for _, d := range deeds(flush) {
		told.attempted++
		if err := d.do(c); err != nil {
			return told
		}
		told.done++
		if d.durable {
			told.durable = told.done
		}
		after(sketch(c))
	}
	return told
}

// check opens what is left: it is what one of the deeds from least on led to.
func (told saga) check(t *testing.T, fs vfs.FS, flush storage.Flush, sketches []string, least int) {
	t.Helper()
	c, stop, err := openOn(t, fs, crashOptions(flush))
	if err != nil {
		t.Errorf("the folder does not open again: %v", err)
		return
	}
	defer stop()
	got, may := sketch(c), sketches[least:told.attempted+1]
	fits := slices.Contains(may, got)
	if flush != storage.FlushAlways && least == told.durable {
		fits = piecewise(got, may)
	}
	if !fits {
		t.Errorf("after %v got:\n%s\nwant one of:\n%s", told, got, strings.Join(may, "\nor:\n"))
	}
	if err := c.Commit(t.Context(), time.Now(), "next", &Commit{Generation: -1, Topics: offset(1, 0, 1)}); err != nil {
		t.Errorf("the next commit: %v", err)
	}
}

// piecewise says whether each partition is as in one of the sketches: what was
// not synced may be lost in any order. A partition that all of them have must
// be there.
func piecewise(got string, sketches []string) bool {
	for line := range strings.Lines(got) {
		if !slices.ContainsFunc(sketches, func(s string) bool { return strings.Contains(s, line) }) {
			return false
		}
	}
	for line := range strings.Lines(sketches[0]) {
		key := line[:strings.LastIndex(line, ":")+1]
		if !slices.ContainsFunc(sketches, func(s string) bool { return !strings.Contains(s, key) }) && !strings.Contains(got, key) {
			return false
		}
	}
	return true
}

// TestEveryCut cuts the saga off at every call to the file system, in writes
// also after some bytes, and looks at what a kill and power cuts have left.
func TestEveryCut(t *testing.T) {
	for name, flush := range map[string]storage.Flush{"always": storage.FlushAlways, "interval": storage.FlushInterval} {
		t.Run(name, func(t *testing.T) {
			sketches, cuts := []string{""}, uint64(3)
			if testing.Short() {
				cuts = 1
			}
			whole := vfs.NewCrash("/data")
			told := tellSaga(t, whole, flush, func(s string) { sketches = append(sketches, s) })
			if told.done != len(deeds(flush)) {
				t.Fatalf("the saga is not told to its end: %v", told)
			}
			told.check(t, whole.AfterKill(), flush, sketches, told.done)
			for i, call := range whole.Calls() {
				keeps := []int{0}
				if strings.HasPrefix(call, "write") {
					keeps = []int{0, 30, 1 << 20}
				}
				for _, keep := range keeps {
					t.Run(fmt.Sprintf("call %d %s, %d bytes of it", i+1, call, keep), func(t *testing.T) {
						f := vfs.NewCrash("/data")
						f.CutAt(i+1, keep)
						told := tellSaga(t, f, flush, func(string) {})
						told.check(t, f.AfterKill(), flush, sketches, told.done)
						for seed := range cuts {
							told.check(t, f.AfterPowerCut(seed), flush, sketches, told.durable)
						}
					})
				}
			}
		})
	}
}

// TestFullDisk: a commit that is not written is not there, and the client is
// told to come back.
func TestFullDisk(t *testing.T) {
	f := vfs.NewCrash("/data")
	c, stop, err := openOn(t, f, crashOptions(storage.FlushInterval))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	commit := func(at int64) error {
		return c.Commit(t.Context(), time.Now(), "g", &Commit{Generation: -1, Topics: offset(1, 0, at)})
	}
	if err := commit(1); err != nil {
		t.Fatal(err)
	}
	f.Fail(func(call string) error {
		if strings.HasPrefix(call, "write") && strings.Contains(call, ".log") {
			return vfs.ErrFull
		}
		return nil
	})
	if err := commit(2); kafka.CodeOf(err) != kafka.CoordinatorNotAvailable {
		t.Errorf("got %v", err)
	}
	if got := found(c, "g", 1, 0); got != 1 {
		t.Errorf("offset %d is visible", got)
	}
	f.Fail(func(string) error { return nil })
	if err := commit(3); err != nil || found(c, "g", 1, 0) != 3 {
		t.Errorf("%v, %d", err, found(c, "g", 1, 0))
	}
}
