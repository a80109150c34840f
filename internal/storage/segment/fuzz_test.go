package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// good gives the bytes of a segment of three batches.
func good() []byte {
	var all []byte
	for i := range 3 {
		b := batch(2, noon.UnixMilli(), fmt.Sprint("value ", i))
		b.Stamp(int64(2*i), 0)
		all = append(all, b...)
	}
	return all
}

// FuzzRecovery: whatever a segment holds, the log opens, gives only good
// batches, goes on behind them, and finds the same after a clean restart.
func FuzzRecovery(f *testing.F) {
	f.Add(good(), false)
	f.Add(good()[:100], true)
	f.Add(append(good(), make([]byte, 700)...), false)
	f.Add(append(good(), good()...), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := testOptions(vfs.Memory(), "/data")
		if err := o.FS.MkdirAll("/data/orders-0"); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFile(o.FS, firstSegment, raw); err != nil {
			t.Fatal(err)
		}
		c := plain()
		c.Strict = strict
		if strict {
			o.StrictTopics = []string{"orders"}
		}
		s := openStore(t, o)
		l := openLog(t, s, c)
		if _, err := l.Read(storage.Read{MaxBytes: 1}); err != nil {
			if strict && kafka.CodeOf(err) == kafka.KafkaStorageError {
				return
			}
			t.Fatal(err)
		}
		want := 0
		for rest, err := raw, error(nil); ; want++ { // by another way: batch after batch
			var b record.Batch
			if b, rest, err = record.Next(rest); err != nil || b.Check() != nil || b.BaseOffset() != l.offsetOf(want, raw) {
				break
			}
		}
		end := l.Offsets().End
		if end != l.offsetOf(want, raw) {
			t.Fatalf("the log ends at %d, %d batches are good", end, want)
		}
		if a := appendBatch(t, l, batch(1, 0, "more")); a.BaseOffset != end {
			t.Fatalf("went on at %d, not %d", a.BaseOffset, end)
		}
		stop(t, s)
		s = openStore(t, o)
		if got := openLog(t, s, c).Offsets().End; got != end+1 {
			t.Fatalf("ends at %d after a restart, not %d", got, end+1)
		}
		stop(t, s)
	})
}

// offsetOf is where the nth batch of raw begins if those before are good.
func (l *Log) offsetOf(n int, raw []byte) int64 {
	next := int64(0)
	for range n {
		b, rest, err := record.Next(raw)
		if err != nil {
			return -1
		}
		next, raw = b.NextOffset(), rest
	}
	return next
}

// FuzzIndex: index files of any content never hide a record.
func FuzzIndex(f *testing.F) {
	x := newIndex(0)
	for at, rest := int64(0), good(); len(rest) > 0; {
		b, tail, _ := record.Next(rest)
		x.add(b, at, 1)
		at += b.Size()
		rest = tail
	}
	offsets, times := x.encode()
	f.Add(offsets, times)
	f.Add([]byte{0, 0, 0, 3, 0, 0, 0, 77}, []byte{})
	f.Add(bytes.Repeat([]byte{1}, 80), bytes.Repeat([]byte{2}, 120))
	f.Fuzz(func(t *testing.T, offsets, times []byte) {
		fsys := vfs.Memory()
		s := newStore(testOptions(fsys, "/data"), nop)
		s.metrics = newMetrics(nil)
		if err := fsys.MkdirAll("/data/orders-0"); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{logSuffix: good(), indexSuffix: offsets, timeSuffix: times} {
			if err := vfs.WriteFile(fsys, "/data/orders-0/"+baseName(0)+name, data); err != nil {
				t.Fatal(err)
			}
		}
		l := s.newLog(orders, ordersID)
		l.handed = &handed{}
		seg := s.newSegment("/data/orders-0", 0)
		seg.size.Store(int64(len(good())))
		seg.next.Store(6)
		seg.show(seg.size.Load(), 6)
		for offset := range int64(6) {
			for _, most := range []int{1, 150, 1 << 20} { // one batch, some, all
				r, err := l.slice(seg, storage.Read{Offset: offset, MaxBytes: most, AtLeast1: true}, false)
				if err != nil {
					t.Fatal(err)
				}
				var buf bytes.Buffer
				if _, err := r.WriteTo(&buf); err != nil {
					t.Fatal(err)
				}
				for want, rest := offset, buf.Bytes(); want < r.next; {
					b, tail, err := record.Next(rest)
					if err != nil || b.BaseOffset() > want || b.NextOffset() <= want {
						t.Fatalf("%d bytes from offset %d on: %v, a batch from %d on", most, want, err, b.BaseOffset())
					}
					want, rest = b.NextOffset(), tail
				}
				r.Release()
			}
		}
	})
}

// FuzzCheckpoint: no content makes it panic, and what is accepted says the
// same when it is written again.
func FuzzCheckpoint(f *testing.F) {
	f.Add(encodeCheckpoint(nil))
	f.Add(encodeCheckpoint([]*mark{
		{id: ordersID, tp: orders, start: 1, recovery: 2, end: 3, size: 4, epoch: 5, bytes: 6, oldest: 7, bases: []int64{0, 2}},
		{tp: kafka.TopicPartition{Topic: "a-b", Partition: 12}, epoch: -1, oldest: -1},
	}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, data := range [][]byte{raw, sum(raw)} {
			marks, err := decodeCheckpoint(data)
			if err != nil {
				continue
			}
			again, err := decodeCheckpoint(encodeCheckpoint(marks))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(marks, again, cmp.AllowUnexported(mark{})); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// sum gives raw the checksum that it must end with.
func sum(raw []byte) []byte {
	const tail = len("crc32c 00000000\n")
	body := raw[:max(0, len(raw)-tail)]
	return fmt.Appendf(bytes.Clone(body), "crc32c %08x\n", crc(body))
}

// FuzzSmallFiles: epochs, properties, snapshots, topic ids and starts.
func FuzzSmallFiles(f *testing.F) {
	f.Add(epochs{{0, 0}, {3, 7}}.encode())
	f.Add(properties{"cluster", 1, 2, 3}.encode())
	f.Add(encodeMetadata(ordersID))
	f.Add(encodeStart(orders, 5))
	f.Add(newProducers(&census{most: 1}, new(sync.Mutex)).encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if e, err := decodeEpochs(raw); err == nil {
			if again, err := decodeEpochs(e.encode()); err != nil || !cmp.Equal(e, again, cmp.AllowUnexported(epochStart{})) {
				t.Errorf("%v became %v, %v", e, again, err)
			}
		}
		decodeProperties(raw)
		if len(raw) >= 6 {
			binary.BigEndian.PutUint32(raw[2:], crc(raw[6:]))
		}
		decodeProducers(raw, 0)
		fsys := vfs.Memory()
		for _, name := range []string{metadataFile, startFile} {
			if err := vfs.WriteFile(fsys, path.Join("/", name), raw); err != nil {
				t.Fatal(err)
			}
		}
		readMetadata(fsys, "/")
		if start, err := readStart(fsys, "/"); err == nil && start < 0 {
			t.Errorf("start %d", start)
		}
	})
}
