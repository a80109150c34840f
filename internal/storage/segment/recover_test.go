package segment

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// killed gives a folder of a broker that was killed after ten records, six to a
// segment, nothing of them synced.
func killed(t testing.TB) Options {
	t.Helper()
	o := testOptions(vfs.Memory(), "/data")
	s := openStore(t, o)
	l := openLog(t, s, small())
	for i := range 10 {
		appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint("value ", i)))
	}
	kill(s)
	return o
}

func small() storage.Config {
	c := plain()
	c.SegmentBytes = 480
	return c
}

const (
	firstSegment  = "/data/orders-0/00000000000000000000.log"
	secondSegment = "/data/orders-0/00000000000000000006.log"
)

func edit(t testing.TB, fsys vfs.FS, name string, change func([]byte) []byte) {
	t.Helper()
	data, err := vfs.ReadFile(fsys, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(fsys, name, change(data)); err != nil {
		t.Fatal(err)
	}
}

func listed(t testing.TB, fsys vfs.FS, suffix string) []string {
	t.Helper()
	names, err := fsys.ReadDir("/data/orders-0")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			list = append(list, name)
		}
	}
	return list
}

// TestRecoveryCuts: from the first bad batch to the end, and what is cut off is
// kept.
func TestRecoveryCuts(t *testing.T) {
	size := len(batch(1, noon.UnixMilli(), "value 0"))
	earlier := batch(1, noon.UnixMilli(), "old")
	earlier.Stamp(3, 0)
	tests := map[string]struct {
		name   string
		change func([]byte) []byte
		left   int
		cut    []string
	}{
		"nothing":             {secondSegment, func(b []byte) []byte { return b }, 10, nil},
		"torn end":            {secondSegment, func(b []byte) []byte { return b[:len(b)-5] }, 9, []string{fmt.Sprintf("00000000000000000006.%d.cut", 3*size)}},
		"torn header":         {secondSegment, func(b []byte) []byte { return b[:3*size+14] }, 9, []string{fmt.Sprintf("00000000000000000006.%d.cut", 3*size)}},
		"zeros at the end":    {secondSegment, func(b []byte) []byte { return append(b, make([]byte, 5000)...) }, 10, nil},
		"only zeros":          {secondSegment, func(b []byte) []byte { return make([]byte, 4000) }, 6, nil},
		"empty":               {secondSegment, func(b []byte) []byte { return nil }, 6, nil},
		"of an earlier life":  {secondSegment, func(b []byte) []byte { return append(b, earlier...) }, 10, []string{fmt.Sprintf("00000000000000000006.%d.cut", 4*size)}},
		"a bit in the middle": {secondSegment, func(b []byte) []byte { b[size+70] ^= 1; return b }, 7, []string{fmt.Sprintf("00000000000000000006.%d.cut", size)}},
		"a bit in the first":  {firstSegment, func(b []byte) []byte { b[2*size+70] ^= 1; return b }, 2, []string{fmt.Sprintf("00000000000000000000.%d.cut", 2*size), "00000000000000000006.0.cut"}},
		"length of nonsense":  {secondSegment, func(b []byte) []byte { copy(b[size+8:], "\x7f\xff\xff\xff"); return b }, 7, []string{fmt.Sprintf("00000000000000000006.%d.cut", size)}},
		"negative length":     {secondSegment, func(b []byte) []byte { b[size+8] = 0xff; return b }, 7, []string{fmt.Sprintf("00000000000000000006.%d.cut", size)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := killed(t)
			edit(t, o.FS, tt.name, tt.change)
			for range 2 {
				s := openStore(t, o)
				l := openLog(t, s, small())
				if got := values(t, l, 0); len(got) != tt.left {
					t.Errorf("%d records are left, want %d", len(got), tt.left)
				}
				if epoch, end := l.EpochEnd(0); epoch != 0 || end != int64(tt.left) {
					t.Errorf("epoch %d ends at %d, want %d", epoch, end, tt.left)
				}
				if diff := cmp.Diff(tt.cut, listed(t, o.FS, cutSuffix)); diff != "" {
					t.Error(diff)
				}
				kill(s)
			}
			s := openStore(t, o)
			l := openLog(t, s, small())
			if a := appendBatch(t, l, batch(1, 0, "more")); a.BaseOffset != int64(tt.left) {
				t.Errorf("went on at %d", a.BaseOffset)
			}
			stop(t, s)
		})
	}
}

// TestStrictLogs: the torn end of what was not synced goes; damage before good
// batches ends the opening, and so does the loss of what was synced, as all of
// it is after a clean stop.
func TestStrictLogs(t *testing.T) {
	meta := kafka.TopicPartition{Topic: "__kaasd_metadata"}
	file := "/data/__kaasd_metadata-0/00000000000000000000.log"
	size := len(batch(1, noon.UnixMilli(), "value 0"))
	tests := map[string]struct {
		change func([]byte) []byte
		left   int    // after a kill; -1: refused
		clean  int    // the same after a clean stop
		says   string // when refused
	}{
		"whole":               {func(b []byte) []byte { return b }, 5, 5, ""},
		"torn end":            {func(b []byte) []byte { return b[:len(b)-3] }, 4, -1, "missing at the end"},
		"damaged end":         {func(b []byte) []byte { b[len(b)-3] ^= 1; return b }, 4, -1, "missing at the end"},
		"zeros at the end":    {func(b []byte) []byte { return append(b, make([]byte, 999)...) }, 5, 5, ""},
		"a bit":               {func(b []byte) []byte { b[size+70] ^= 1; return b }, -1, -1, "offset 1:"},
		"a length":            {func(b []byte) []byte { b[size+9] ^= 1; return b }, -1, -1, "offset 1:"},
		"zeros in the middle": {func(b []byte) []byte { clear(b[size : 2*size]); return b }, -1, -1, "offset 1:"},
		"a batch less":        {func(b []byte) []byte { return b[:4*size] }, 4, -1, "ends at offset 4, but everything below 5 was synced"},
		"nothing left":        {func(b []byte) []byte { return nil }, 0, -1, "ends at offset 0"},
	}
	for name, tt := range tests {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " clean ", clean), func(t *testing.T) {
				o := testOptions(vfs.Memory(), "/data")
				c := plain()
				c.Strict, c.Flush = true, storage.FlushAlways
				s := openStore(t, o)
				l, err := s.Open(meta, kafka.TopicID{}, c)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 5 {
					appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint("value ", i)))
				}
				if clean {
					stop(t, s)
				} else {
					s.work.Wait()
					kill(s)
				}
				edit(t, o.FS, file, tt.change)
				s = openStore(t, o)
				l, err = s.Open(meta, kafka.TopicID{}, c)
				if err != nil {
					t.Fatal(err)
				}
				_, err = l.Read(storage.Read{MaxBytes: 1 << 20})
				left := tt.left
				if clean {
					left = tt.clean
				}
				switch {
				case left < 0 && (err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "/data/__kaasd_metadata-0")):
					t.Errorf("got %v", err)
				case left >= 0 && err != nil:
					t.Error(err)
				case left >= 0:
					if got := values(t, l, 0); len(got) != left {
						t.Errorf("%d records are left, want %d", len(got), left)
					}
				}
				kill(s)
			})
		}
	}
}

// TestStrictLogBeforeItsStart: a strict log that ends before where it begins is
// refused, and nothing of it is thrown away.
func TestStrictLogBeforeItsStart(t *testing.T) {
	meta := kafka.TopicPartition{Topic: "__kaasd_metadata"}
	o := testOptions(vfs.Memory(), "/data")
	c := plain()
	c.Strict, c.Flush = true, storage.FlushAlways
	s := openStore(t, o)
	l, err := s.Open(meta, kafka.TopicID{}, c)
	if err != nil {
		t.Fatal(err)
	}
	appendBatch(t, l, batch(1, noon.UnixMilli(), "value"))
	s.work.Wait()
	if err := vfs.WriteFile(o.FS, "/data/__kaasd_metadata-0/"+startFile, encodeStart(meta, 7)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		kill(s)
		s = openStore(t, o)
		if l, err = s.Open(meta, kafka.TopicID{}, c); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Read(storage.Read{MaxBytes: 1 << 20}); err == nil || !strings.Contains(err.Error(), "ends at offset 1, but begins at 7") {
			t.Errorf("got %v", err)
		}
	}
	kill(s)
	if size, err := o.FS.Stat("/data/__kaasd_metadata-0/00000000000000000000.log"); err != nil || size == 0 {
		t.Errorf("%d bytes are left, %v", size, err)
	}
}

// TestMissingSegment: a gap is told and does not keep the broker down; readers
// go on behind it.
func TestMissingSegment(t *testing.T) {
	o := testOptions(vfs.Memory(), "/data")
	s := openStore(t, o)
	l := openLog(t, s, small())
	for i := range 20 {
		appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint("value ", i)))
	}
	stop(t, s)
	for _, suffix := range []string{".log", ".index", ".timeindex"} {
		if err := o.FS.Remove(strings.TrimSuffix(secondSegment, ".log") + suffix); err != nil {
			t.Fatal(err)
		}
	}
	check := func(l *Log) {
		t.Helper()
		count := 0
		for offset, v := range valuesAt(t, l, 0) {
			if v != fmt.Sprint("value ", offset) || offset >= 6 && offset < 12 {
				t.Errorf("offset %d: %q", offset, v)
			}
			count++
		}
		if count != 14 {
			t.Errorf("%d records", count)
		}
	}
	s = openStore(t, o)
	check(openLog(t, s, small()))
	kill(s)
	if err := o.FS.Remove("/data/checkpoint"); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, o)
	check(openLog(t, s, small()))
	stop(t, s)
}

// TestDamageInWhatWasSynced: it costs what is damaged, and not what lies behind.
func TestDamageInWhatWasSynced(t *testing.T) {
	o := testOptions(vfs.Memory(), "/data")
	s := openStore(t, o)
	l := openLog(t, s, small())
	for i := range 20 {
		appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint("value ", i)))
	}
	stop(t, s)
	edit(t, o.FS, secondSegment, func(b []byte) []byte { b[16] = 9; return b })
	for _, snapshot := range listed(t, o.FS, snapshotSuffix) { // so that the segment is walked
		if err := o.FS.Remove("/data/orders-0/" + snapshot); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, o)
	l = openLog(t, s, small())
	if got := values(t, l, 12); len(got) != 8 {
		t.Errorf("got %v", got)
	}
	if _, err := l.Read(storage.Read{Offset: 7, MaxBytes: 1000}); kafka.CodeOf(err) != kafka.KafkaStorageError {
		t.Errorf("read of the damage: %v", err)
	}
	stop(t, s)
}

// TestDamagedHints: whatever is in the files that can be made anew, the
// records are found.
func TestDamagedHints(t *testing.T) {
	changes := map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"zeros": func(b []byte) []byte { return make([]byte, len(b)) },
		"half":  func(b []byte) []byte { return b[:len(b)/2] },
		"ones":  func(b []byte) []byte { return bytes.Repeat([]byte{1}, len(b)) },
		"more":  func(b []byte) []byte { return append(b, b...) },
	}
	for _, suffix := range []string{indexSuffix, timeSuffix, snapshotSuffix, epochFile, "checkpoint"} {
		for name, change := range changes {
			t.Run(suffix+" "+name, func(t *testing.T) {
				o := testOptions(vfs.Memory(), "/data")
				c := small()
				c.IndexIntervalBytes = 100
				s := openStore(t, o)
				l := openLog(t, s, c)
				for i := range int32(20) {
					b := record.NewBuilder(record.None).Producer(5, 0, i).Add(1000+int64(i), nil, fmt.Append(nil, "value ", i)).Batch()
					appendBatch(t, l, b)
				}
				stop(t, s)
				if suffix == "checkpoint" {
					edit(t, o.FS, "/data/checkpoint", change)
				} else {
					for _, file := range listed(t, o.FS, suffix) {
						edit(t, o.FS, "/data/orders-0/"+file, change)
					}
				}
				s = openStore(t, o)
				l = openLog(t, s, c)
				if got := values(t, l, 0); len(got) != 20 {
					t.Errorf("%d records", len(got))
				}
				for i := range int64(20) {
					if got, err := l.OffsetFor(1000 + i); err != nil || got.Offset != i {
						t.Errorf("time %d: %+v, %v", 1000+i, got, err)
					}
				}
				b := record.NewBuilder(record.None).Producer(5, 0, 19).Add(1019, nil, []byte("value 19")).Batch()
				if a := appendBatch(t, l, b); !a.Duplicate {
					t.Errorf("retry: %+v", a)
				}
				stop(t, s)
			})
		}
	}
}

// TestIndexThatLeadsAstray: a plausible index with wrong positions is found
// out by what lies there.
func TestIndexThatLeadsAstray(t *testing.T) {
	o := testOptions(vfs.Memory(), "/data")
	c := small()
	c.IndexIntervalBytes = 1
	s := openStore(t, o)
	l := openLog(t, s, c)
	for i := range 10 {
		appendBatch(t, l, batch(1, noon.UnixMilli(), fmt.Sprint("value ", i)))
	}
	stop(t, s)
	edit(t, o.FS, strings.TrimSuffix(firstSegment, logSuffix)+indexSuffix, func(b []byte) []byte {
		for at := 7; at < len(b); at += offsetEntrySize {
			b[at] += 3
		}
		return b
	})
	s = openStore(t, o)
	l = openLog(t, s, c)
	if got := values(t, l, 4); len(got) != 6 {
		t.Errorf("got %v", got)
	}
	stop(t, s)
}

// TestNextLifeOfATopic: what the checkpoint says about a topic does not hold
// for the next one of that name.
func TestNextLifeOfATopic(t *testing.T) {
	for name, written := range map[string]int{"not used": 0, "used": 3} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(vfs.Memory(), "/data")
			s := openStore(t, o)
			l := openLog(t, s, plain())
			for range 9 {
				appendBatch(t, l, batch(1, 0, "old"))
			}
			if err := s.checkpoint(); err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(orders, ordersID); err != nil {
				t.Fatal(err)
			}
			s.work.Wait()
			next, err := s.Open(orders, kafka.TopicID{9}, plain())
			if err != nil {
				t.Fatal(err)
			}
			for range written {
				appendBatch(t, next, batch(1, 0, "new"))
			}
			kill(s)
			s = openStore(t, o)
			if next, err = s.Open(orders, kafka.TopicID{9}, plain()); err != nil {
				t.Fatal(err)
			}
			if got := values(t, next, 0); len(got) != written {
				t.Errorf("got %v", got)
			}
			stop(t, s)
		})
	}
}

func TestUnreadableFolderAnswersStorageError(t *testing.T) {
	o := testOptions(vfs.Memory(), "/data")
	s := openStore(t, o)
	if err := vfs.WriteFile(o.FS, "/data/orders-0", []byte("a file where a folder should be")); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, s, plain())
	if _, err := l.Append(batch(1, 0, "x"), noon); kafka.CodeOf(err) != kafka.KafkaStorageError {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Read(storage.Read{MaxBytes: 10}); kafka.CodeOf(err) != kafka.KafkaStorageError {
		t.Errorf("read: %v", err)
	}
	if err := o.FS.Remove("/data/orders-0"); err != nil {
		t.Fatal(err)
	}
	if a := appendBatch(t, l, batch(1, 0, "x")); a.BaseOffset != 0 {
		t.Errorf("after the repair: %+v", a)
	}
	stop(t, s)
}

func TestVerify(t *testing.T) {
	o := killed(t)
	var found []string
	verify := func() []string {
		t.Helper()
		found = nil
		if err := Verify(o.FS, o.Dir, func(f Finding) { found = append(found, f.String()) }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := verify(); got != nil {
		t.Errorf("a good folder: %q", got)
	}
	edit(t, o.FS, firstSegment, func(b []byte) []byte { b[145] ^= 1; return b })
	got := verify()
	if len(got) != 2 || !strings.HasPrefix(got[0], "orders-0/00000000000000000000.log: byte 75, offset 1: checksum is") {
		t.Errorf("got %q", got)
	}
	if err := Verify(o.FS, "/", func(Finding) {}); err == nil {
		t.Error("a folder of something else: no error")
	}
}
