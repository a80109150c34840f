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
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// saga is a list of commits, told to a store on a file system that ends in the
// middle. What it saw is in the words of sketch.
type saga struct {
	acked   string // after the last commit that was acknowledged
	pending string // what the commit under way would have led to; empty: none was
}

func sagaCommits() [][]Change {
	id := func(n byte) kafka.TopicID { return kafka.TopicID{n} }
	return [][]Change{
		{TopicCreated{Name: "a", ID: id(1), Partitions: 1}, TopicCreated{Name: "b", ID: id(2), Partitions: 2}},
		{TopicConfigsSet{ID: id(1), Configs: map[string]string{"retention.ms": "5"}}},
		{BrokerConfigsSet{Configs: map[string]string{"message.max.bytes": "9"}}, ProducerIDsReserved{Next: 1000}},
		{TopicDeleted{ID: id(2)}, TopicCreated{Name: "b", ID: id(3), Partitions: 3}},
		{PartitionsAdded{ID: id(1), Partitions: 4}},
		{scramOf("u\xff", kafka.ScramSHA256), scramOf("u\xff", kafka.ScramSHA512), NewACLCreated(readers), NewACLCreated(writers)},
		{ScramCredentialRemoved{User: "u\xff", Mechanism: kafka.ScramSHA256}, NewACLDeleted(readers)},
		{quotaOf(odd, 0.5), quotaOf(kafka.UserEntity("alice"), 1<<63), quotaOf(lonely, 7)},
		{quotaOf(odd, 1000.0000005), NewQuotaSet(kafka.UserEntity("alice"), nil, netip.Addr{})},
		{ProducerIDsReserved{Next: 2000}, TopicDeleted{ID: id(1)}},
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

// openOn opens the metadata of a data folder. The store of logs runs until
// stop.
func openOn(fs vfs.FS) (s *Store, stop func(), err error) {
	o := segment.DefaultOptions()
	o.FS, o.Dir = fs, "/data"
	logs, err := segment.Open(o, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = logs.Run(done) // the file system may be gone
	}
	log, err := logs.Open(LogPartition, LogID, LogConfig())
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

// check opens what is left: every acknowledged commit is there, and of the one
// under way all or nothing.
func (told saga) check(t *testing.T, fs vfs.FS) {
	t.Helper()
	s, stop, err := openOn(fs)
	if err != nil {
		t.Errorf("the folder does not open again: %v", err)
		return
	}
	defer stop()
	got := sketch(s.Image())
	if got != told.acked && (told.pending == "" || got != told.pending) {
		t.Errorf("got:\n%s\nwant:\n%s\nor:\n%s", got, told.acked, told.pending)
	}
	if _, err := s.Commit(t.Context(), ProducerIDsReserved{Next: s.Image().NextProducerID + 1}); err != nil {
		t.Errorf("the next commit: %v", err)
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

// TestFailedSync: a disk whose sync fails takes no further change, and the
// restart reads what it holds.
func TestFailedSync(t *testing.T) {
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
	for range 2 {
		if _, err := s.Commit(t.Context(), TopicDeleted{ID: orders.ID}); kafka.CodeOf(err) != kafka.KafkaStorageError {
			t.Errorf("got %v", err)
		}
	}
	if _, ok := s.Image().Topic("orders"); !ok {
		t.Error("a change that was refused is visible")
	}
	c.Fail(func(string) error { return nil })
	stop()
	again, stop, err := openOn(c.AfterPowerCut(0))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if !slices.ContainsFunc(again.Image().Topics(), func(topic *Topic) bool { return topic.Name == "orders" }) {
		t.Error("what was acknowledged is gone")
	}
}
