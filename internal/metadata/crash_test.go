package metadata

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// saga is a list of commits, told to a store on a file system that ends in the
// middle. What it saw is in the words of sketch.
type saga struct {
	acked   string // after the last commit that was acknowledged
	pending string // what the commit under way would have led to; empty: none was
}

// sagaCommits are in the order of their telling. One without changes is a rewrite.
func sagaCommits() [][]Change {
	var rewrite []Change
	id := func(n byte) kafka.TopicID { return kafka.TopicID{n} }
	return [][]Change{
		{TopicCreated{Name: "a", ID: id(1), Partitions: 1}, TopicCreated{Name: "b", ID: id(2), Partitions: 2}},
		{TopicConfigsSet{ID: id(1), Configs: map[string]string{"retention.ms": "5"}}},
		rewrite,
		{BrokerConfigsSet{Configs: map[string]string{"message.max.bytes": "9"}}, ProducerIDsReserved{Next: 1000}},
		{TopicDeleted{ID: id(2)}, TopicCreated{Name: "b", ID: id(3), Partitions: 3}},
		{PartitionsAdded{ID: id(1), Partitions: 4}},
		{scramOf("u\xff", kafka.ScramSHA256), scramOf("u\xff", kafka.ScramSHA512), NewACLCreated(readers), NewACLCreated(writers)},
		{ScramCredentialRemoved{User: "u\xff", Mechanism: kafka.ScramSHA256}, NewACLDeleted(readers)},
		{quotaOf(odd, 0.5), quotaOf(kafka.UserEntity("alice"), 1<<63), quotaOf(lonely, 7)},
		rewrite, rewrite,
		{quotaOf(odd, 1000.0000005), NewQuotaSet(kafka.UserEntity("alice"), nil, netip.Addr{})},
		{ProducerIDsReserved{Next: 2000}, TopicDeleted{ID: id(1)}},
		rewrite,
	}
}

var (
	readers = kafka.ACL{Type: kafka.ResourceTopic, Name: "a\xff", Pattern: kafka.PatternPrefixed, Principal: "User:u\xff", Host: "*", Operation: kafka.OpRead, Permission: kafka.PermissionAllow}
	writers = kafka.ACL{Type: kafka.ResourceCluster, Name: kafka.Cluster.Name, Pattern: kafka.PatternLiteral, Principal: "User:*", Host: "::1", Operation: kafka.OpAll, Permission: kafka.PermissionDeny}
)

// odd and lonely are entities with all that a name can be.
var (
	odd    = kafka.Entity{User: kafka.Named("u\xff\x00<default>"), ClientID: kafka.EntityName{Present: true, Default: true}}
	lonely = kafka.Entity{IP: kafka.Named("localhost")}
)

func quotaOf(e kafka.Entity, rate float64) QuotaSet {
	if e.IP.Present {
		return NewQuotaSet(e, map[string]float64{kafka.ConnectionCreationRate: rate}, netip.MustParseAddr("::1"))
	}
	return NewQuotaSet(e, map[string]float64{kafka.ProducerByteRate: rate, "later": 1}, netip.Addr{})
}

func scramOf(user string, m kafka.ScramMechanism) ScramCredentialSet {
	return NewScramCredentialSet(user, kafka.SaltedScramCredential(m, []byte("salted"), []byte("salt"), 4096))
}

// openOn opens the metadata of a data folder, with segments that are small enough
// for rewrites to let go of some.
func openOn(fs vfs.FS) (s *Store, stop func(), err error) {
	cfg := LogConfig()
	cfg.SegmentBytes = 600
	return openIn(fs, "/data", cfg)
}

// openIn opens the metadata of any folder. The store of logs runs until stop.
func openIn(fs vfs.FS, dir string, cfg storage.Config) (s *Store, stop func(), err error) {
	o := segment.DefaultOptions()
	o.FS, o.Dir, o.DiskReserve = fs, dir, 0
	logs, err := segment.Open(o, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = logs.Run(done) // the file system may be gone
	}
	log, err := logs.Open(LogPartition, LogID, cfg)
	if err == nil {
		s, err = Open(context.Background(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry())
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, stop, nil
}

// tell runs the saga until it is over or the file system is cut off.
func tell(fs vfs.FS) saga {
	told := saga{acked: sketch(newImage(&Options{NodeID: 1}))}
	s, stop, err := openOn(fs)
	if err != nil {
		return told
	}
	defer stop()
	for _, changes := range sagaCommits() {
		if len(changes) == 0 {
			if rewriteNow(s) != nil {
				return told
			}
			continue
		}
		_ = s.Try(func(d *Draft) error {
			for _, c := range changes {
				if err := d.Add(c); err != nil {
					return err
				}
			}
			told.pending = sketch(d.done())
			return nil
		})
		if _, err := s.Commit(context.Background(), changes...); err != nil {
			return told
		}
		told.acked, told.pending = told.pending, ""
	}
	return told
}

// rewriteNow rewrites the log, whatever it holds.
func rewriteNow(s *Store) error {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	return s.rewrite(context.Background())
}

// check opens what is left: every acknowledged commit is there, and of the one
// under way all or nothing.
func (told saga) check(t *testing.T, fs vfs.FS) {
	t.Helper()
	s, stop, err := openOn(fs)
	if err != nil {
		t.Errorf("the folder does not open again: %v", err)
		return
	}
	got := sketch(s.Image())
	if got != told.acked && (told.pending == "" || got != told.pending) {
		t.Errorf("got:\n%s\nwant:\n%s\nor:\n%s", got, told.acked, told.pending)
	}
	if _, err := s.Commit(t.Context(), ProducerIDsReserved{Next: s.Image().NextProducerID + 1}); err != nil {
		t.Errorf("the next commit: %v", err)
	}
	if err := rewriteNow(s); err != nil {
		t.Errorf("the next rewrite: %v", err)
	}
	stop()
	again, stop, err := openOn(fs)
	if err != nil {
		t.Errorf("the folder does not open after a rewrite: %v", err)
		return
	}
	defer stop()
	if got, want := sketch(again.Image()), sketch(s.Image()); got != want {
		t.Errorf("after a rewrite got:\n%s\nwant:\n%s", got, want)
	}
}

// TestEveryCut cuts the saga off at every call to the file system, in writes
// also after some bytes, and looks at what a kill and power cuts have left.
func TestEveryCut(t *testing.T) {
	whole := vfs.NewCrash("/data")
	told := tell(whole)
	if told.pending != "" || !strings.Contains(told.acked, "producers 2000") {
		t.Fatalf("the saga is not told to its end: %+v", told)
	}
	told.check(t, whole.AfterKill())
	if err := segment.Verify(whole.AfterKill(), "/data", func(f segment.Finding) { t.Error(f) }); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(whole.Calls(), func(call string) bool { return strings.HasPrefix(call, "remove __kaasd_metadata-0/0") }) {
		t.Error("no rewrite lets go of a file")
	}
	for i, call := range whole.Calls() {
		keeps := []int{0}
		if strings.HasPrefix(call, "write") {
			keeps = []int{0, 30, 1 << 20}
		}
		for _, keep := range keeps {
			t.Run(fmt.Sprintf("call %d %s, %d bytes of it", i+1, call, keep), func(t *testing.T) {
				c := vfs.NewCrash("/data")
				c.CutAt(i+1, keep)
				told := tell(c)
				told.check(t, c.AfterKill())
				for seed := range uint64(4) {
					told.check(t, c.AfterPowerCut(seed))
				}
			})
		}
	}
}

// TestEveryCutOfAStart is the same for a start that finds a log to rewrite.
func TestEveryCutOfAStart(t *testing.T) {
	full := vfs.NewCrash("/data")
	s, stop, err := openOn(full)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, orders)
	s.limit = 1 << 40 // as before there were rewrites
	spoil(t, s, limitFor(0))
	told := saga{acked: sketch(s.Image())}
	stop()
	start := func(f *vfs.Crash) error {
		_, stop, err := openOn(f)
		if err == nil {
			stop()
		}
		return err
	}
	whole := full.AfterKill()
	if err := start(whole); err != nil {
		t.Fatal(err)
	}
	for i, call := range whole.Calls() {
		keeps := []int{0}
		if strings.HasPrefix(call, "write") {
			keeps = append(keeps, 100)
		}
		for _, keep := range keeps {
			t.Run(fmt.Sprintf("call %d %s, %d bytes of it", i+1, call, keep), func(t *testing.T) {
				f := full.AfterKill()
				f.CutAt(i+1, keep)
				_ = start(f)
				told.check(t, f.AfterKill())
				for seed := range uint64(2) {
					told.check(t, f.AfterPowerCut(seed))
				}
			})
		}
	}
}

// TestFullDisk: a rewrite that does not fit is put off, and nothing is lost.
func TestFullDisk(t *testing.T) {
	for _, call := range []string{
		"write __kaasd_metadata-0/0", "create __kaasd_metadata-0/0", "create __kaasd_metadata-0/log-start",
		"syncdir __kaasd_metadata-0", "remove __kaasd_metadata-0/0",
	} {
		t.Run(call, func(t *testing.T) {
			c := vfs.NewCrash("/data")
			s, stop, err := openOn(c)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			commit(t, s, orders, TopicCreated{Name: "gone", ID: kafka.TopicID{2}, Partitions: 1}, scramOf("u", kafka.ScramSHA512), scramOf("v", kafka.ScramSHA512))
			hit := false
			c.Fail(func(got string) error {
				if strings.HasPrefix(got, call) {
					hit = true
					return vfs.ErrFull
				}
				return nil
			})
			_ = rewriteNow(s) // removing files is tried again another time
			if !hit {
				t.Errorf("no such call: %q", c.Calls())
			}
			c.Fail(func(string) error { return nil })
			commit(t, s, TopicDeleted{ID: kafka.TopicID{2}})
			saga{acked: sketch(s.Image())}.check(t, c.AfterPowerCut(0))
			if err := rewriteNow(s); err != nil {
				t.Error(err)
			}
			saga{acked: sketch(s.Image())}.check(t, c.AfterPowerCut(0))
		})
	}
}

// TestUnsyncedRewrite: a rewrite may be written and not synced, for want of room
// for what goes with a segment. What a power cut takes of it must not be a hole
// before the next commit.
func TestUnsyncedRewrite(t *testing.T) {
	for call := range 40 {
		c := vfs.NewCrash("/data")
		s, stop, err := openOn(c)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, orders, scramOf("u", kafka.ScramSHA512), scramOf("v", kafka.ScramSHA512))
		c.Fail(func(call string) error {
			if strings.HasPrefix(call, "create") && strings.Contains(call, ".index") {
				return vfs.ErrFull
			}
			return nil
		})
		if err := rewriteNow(s); err == nil {
			t.Fatal("the rewrite does not need an index")
		}
		told := saga{acked: sketch(s.Image())}
		if _, err := s.Commit(t.Context(), TopicDeleted{ID: orders.ID}); kafka.CodeOf(err) != kafka.KafkaStorageError {
			t.Errorf("got %v", err)
		}
		c.Fail(func(string) error { return nil })
		c.CutAt(len(c.Calls())+1+call, 0)
		told.pending = sketch(commitCut(s, TopicDeleted{ID: orders.ID}))
		stop()
		for seed := range uint64(8) {
			told.check(t, c.AfterPowerCut(seed))
		}
	}
}

// commitCut is the image that a commit leads to, which may be cut off.
func commitCut(s *Store, change Change) *Image {
	next := s.Image().edit()
	_ = next.Add(change)
	_, _ = s.Commit(context.Background(), change)
	return next.done()
}

// TestFailedSync: a disk whose sync fails takes no further change, and the
// restart reads what it holds.
func TestFailedSync(t *testing.T) {
	remove := func(s *Store) error {
		_, err := s.Commit(context.Background(), TopicDeleted{ID: orders.ID})
		return err
	}
	for name, first := range map[string]func(*Store) error{"of a commit": remove, "of a rewrite": rewriteNow} {
		t.Run(name, func(t *testing.T) {
			c := vfs.NewCrash("/data")
			s, stop, err := openOn(c)
			if err != nil {
				t.Fatal(err)
			}
			commit(t, s, orders)
			c.Fail(func(call string) error {
				if strings.HasPrefix(call, "sync") && strings.Contains(call, ".log") {
					return errDisk
				}
				return nil
			})
			if err := first(s); err == nil {
				t.Error("nothing failed")
			}
			c.Fail(func(string) error { return nil }) // the disk is well again, but nobody knows what it holds
			if err := remove(s); kafka.CodeOf(err) != kafka.KafkaStorageError {
				t.Errorf("got %v", err)
			}
			if _, ok := s.Image().Topic("orders"); !ok {
				t.Error("a change that was refused is visible")
			}
			stop()
			again, stop, err := openOn(c.AfterPowerCut(0))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			if _, ok := again.Image().Topic("orders"); !ok {
				t.Error("what was acknowledged is gone")
			}
		})
	}
}
