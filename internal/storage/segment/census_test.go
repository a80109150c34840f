package segment

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// from is one record of a producer.
func from(id int64, sequence int32) record.Batch {
	return record.NewBuilder(record.None).Producer(id, 0, sequence).Add(noon.UnixMilli(), nil, []byte("x")).Batch()
}

// openPart opens a log of that many.
func openPart(t *testing.T, s *Store, part int32, c storage.Config) *Log {
	t.Helper()
	l, err := s.Open(kafka.TopicPartition{Topic: "orders", Partition: part}, ordersID, c)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*Log)
}

// knows says whether the log remembers a producer that sent sequence 0: then it
// takes a retry for one.
func knows(t *testing.T, l *Log, id int64) bool {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known, err := l.producers.judge(from(id, 0))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// TestProducersAreBounded: whoever makes up producers on one log or on many has
// those forgotten that were silent for longest, and not those of others.
func TestProducersAreBounded(t *testing.T) {
	const most = 80
	for name, logs := range map[string]int32{"one log": 1, "some logs": 4} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, testOptions(vfs.Memory(), "/data"))
			s.census.most = most
			victim := openPart(t, s, 100, plain())
			for id := range int64(3) {
				appendBatch(t, victim, from(id, 0))
			}
			var last *Log
			for id := range int64(1000) {
				last = openPart(t, s, int32(id)%logs, plain())
				appendBatch(t, last, from(id, 0))
			}
			for id := int64(3); id < 6; id++ {
				appendBatch(t, victim, from(id, 0))
			}
			if got := s.census.n.Load(); got > most {
				t.Errorf("%d producers are remembered, want %d", got, most)
			}
			for id := range int64(6) {
				if !knows(t, victim, id) {
					t.Errorf("producer %d of another log is forgotten", id)
				}
			}
			if knows(t, last, 3) || !knows(t, last, 999) {
				t.Error("not those that were silent for longest are forgotten")
			}
			if a := appendBatch(t, openPart(t, s, 3%logs, plain()), from(3, 1)); a.Duplicate {
				t.Errorf("a forgotten producer goes on: %+v", a)
			}
			stop(t, s)
		})
	}
}

// TestProducersOfManyAtOnce: logs that have each other's producers forgotten do not
// stand in each other's way.
func TestProducersOfManyAtOnce(t *testing.T) {
	const most, logs = 64, 8
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	s.census.most = most
	var g errgroup.Group
	for part := range int32(logs) {
		l := openPart(t, s, part, plain())
		g.Go(func() error {
			for id := range int64(500) {
				if _, err := l.Append(from(id, 0), noon); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, p := range s.census.logs {
		total += p.n.Load()
	}
	if got := s.census.n.Load(); got != total || got > most+most/8+logs {
		t.Errorf("%d producers are remembered, %d counted, want %d", total, got, most)
	}
	stop(t, s)
}

// TestProducersOfOneLog: one log remembers so many, whatever the memory, and who
// goes on writing stays.
func TestProducersOfOneLog(t *testing.T) {
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	l := openPart(t, s, 0, plain())
	appendBatch(t, l, from(0, 0))
	for id := range int64(mostOfLog) {
		appendBatch(t, l, from(id+1, 0))
		if id%1000 == 0 {
			appendBatch(t, l, from(0, int32(id/1000)+1))
		}
	}
	list, err := l.Producers()
	if err != nil || len(list) != mostOfLog || list[0].ID != 0 || list[1].ID != 2 {
		t.Errorf("%d producers from %v on, %v", len(list), list[:2], err)
	}
	if got := l.producers.n.Load(); got != mostOfLog {
		t.Errorf("counted %d", got)
	}
	stop(t, s)
}

// TestBoundHoldsAtStart: what a start reads is bounded alike, from a snapshot and
// from the batches, and those who wrote last are known.
func TestBoundHoldsAtStart(t *testing.T) {
	const most = 50
	for name, size := range map[string]int64{"batches": 1 << 30, "snapshots": 2000} {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.Memory()
			s := openStore(t, testOptions(fsys, "/data"))
			c := plain()
			c.SegmentBytes = size
			l := openPart(t, s, 0, c)
			for id := range int64(400) {
				appendBatch(t, l, from(1000-id, 0))
			}
			s.flush()
			if err := s.checkpoint(); err != nil {
				t.Fatal(err)
			}
			kill(s)
			s = newStore(testOptions(fsys, "/data"), s.log)
			s.census.most, s.metrics = most, newMetrics(nil)
			if err := s.open(); err != nil {
				t.Fatal(err)
			}
			l = openPart(t, s, 0, c)
			if list, err := l.Producers(); err != nil || len(list) != most || list[0].ID != 601 {
				t.Errorf("%d producers, %v", len(list), err)
			}
			if got := s.census.n.Load(); got != most {
				t.Errorf("counted %d", got)
			}
		})
	}
}

// TestDeletedProducersAreNotCounted: a log that goes, and silence, make room.
func TestDeletedProducersAreNotCounted(t *testing.T) {
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	for part := range int32(3) {
		l := openPart(t, s, part, plain())
		appendBatch(t, l, from(1, 0))
		appendBatch(t, l, from(2, 0))
		if part == 2 {
			l.retain(noon.Add(25 * s.o.ProducerExpiry))
		}
	}
	if err := s.Delete(kafka.TopicPartition{Topic: "orders", Partition: 1}, ordersID); err != nil {
		t.Fatal(err)
	}
	if got := s.census.n.Load(); got != 2 || len(s.census.logs) != 1 {
		t.Errorf("%d producers of %d logs are counted", got, len(s.census.logs))
	}
	stop(t, s)
}

// TestShareOfProducers: their memory is a sixteenth.
func TestShareOfProducers(t *testing.T) {
	for memory, want := range map[int64]int64{0: 64 << 20, 64 << 20: 16 << 20, 224 << 20: 16 << 20, 1 << 30: 64 << 20, 1 << 40: 1 << 30} {
		o := Options{Memory: memory}
		if got := o.producers(); got != want/producerBytes {
			t.Errorf("memory %d: %d producers, want %d", memory, got, want/producerBytes)
		}
	}
}
