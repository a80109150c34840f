package metadata

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// oddNames are names with all that a name can be.
var oddNames = []string{"a", "b\xff", "\x00", "\u7528\u6237", "{\"bytes\":1}", "<default>", strings.Repeat("long", 50)}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func anyTopic(r *rand.Rand, m *Image) *Topic {
	if len(m.Topics()) == 0 {
		return nil
	}
	return pick(r, m.Topics())
}

func anyConfigs(r *rand.Rand, known string) map[string]string {
	return pick(r, []map[string]string{nil, {}, {known: fmt.Sprint(1 + r.IntN(1000))}, {known: "7", "later.thing": "x\u00e9"}})
}

func anyEntity(r *rand.Rand) kafka.Entity {
	part := func() kafka.EntityName {
		return pick(r, []kafka.EntityName{{Present: true, Default: true}, kafka.Named(pick(r, oddNames))})
	}
	return pick(r, []kafka.Entity{{User: part()}, {ClientID: part()}, {User: part(), ClientID: part()}, {IP: part()}})
}

// anyChange makes a change of each kind that may fit an image; nil where none does.
// A new kind comes here with what it changes: what whole forgets of it is found out.
var anyChange = map[string]func(*rand.Rand, *Image) Change{
	"TopicCreated": func(r *rand.Rand, _ *Image) Change {
		id := kafka.TopicID{1, byte(r.IntN(256)), 15: byte(r.IntN(256))}
		return TopicCreated{Name: fmt.Sprintf("t.%d", r.IntN(1000)), ID: id, Partitions: 1 + r.Int32N(5), Configs: anyConfigs(r, "retention.ms")}
	},
	"TopicDeleted": func(r *rand.Rand, m *Image) Change {
		if t := anyTopic(r, m); t != nil && r.IntN(3) == 0 {
			return TopicDeleted{ID: t.ID}
		}
		return nil
	},
	"PartitionsAdded": func(r *rand.Rand, m *Image) Change {
		if t := anyTopic(r, m); t != nil {
			return PartitionsAdded{ID: t.ID, Partitions: t.Partitions + 1}
		}
		return nil
	},
	"TopicConfigsSet": func(r *rand.Rand, m *Image) Change {
		if t := anyTopic(r, m); t != nil {
			return TopicConfigsSet{ID: t.ID, Configs: anyConfigs(r, "segment.ms")}
		}
		return nil
	},
	"BrokerConfigsSet": func(r *rand.Rand, _ *Image) Change {
		return BrokerConfigsSet{Broker: pick(r, []string{"", "1", "2"}), Configs: anyConfigs(r, "message.max.bytes")}
	},
	"ProducerIDsReserved": func(r *rand.Rand, m *Image) Change {
		return ProducerIDsReserved{Next: m.NextProducerID + r.Int64N(1<<40)}
	},
	"ScramCredentialSet": func(r *rand.Rand, _ *Image) Change {
		mechanism := pick(r, kafka.ScramMechanisms)
		key := []byte(strings.Repeat("\xff", mechanism.KeySize()))
		return NewScramCredentialSet(pick(r, oddNames), kafka.ScramCredential{Mechanism: mechanism, Salt: key[:r.IntN(9)], StoredKey: key, ServerKey: key, Iterations: 1 + r.IntN(9000)})
	},
	"ScramCredentialRemoved": func(r *rand.Rand, m *Image) Change {
		if users := m.ScramUsers(); len(users) > 0 {
			return ScramCredentialRemoved{User: Name(pick(r, users)), Mechanism: pick(r, kafka.ScramMechanisms)}
		}
		return nil
	},
	"ACLCreated": func(r *rand.Rand, _ *Image) Change {
		a := pick(r, []kafka.ACL{readers, writers})
		a.Principal, a.Permission = "User:"+pick(r, oddNames), pick(r, []kafka.Permission{kafka.PermissionAllow, kafka.PermissionDeny})
		return NewACLCreated(a)
	},
	"ACLDeleted": func(r *rand.Rand, m *Image) Change {
		if acls := m.ACLs(); len(acls) > 5 {
			return NewACLDeleted(pick(r, acls))
		}
		return nil
	},
	"QuotaSet": func(r *rand.Rand, _ *Image) Change {
		e := anyEntity(r)
		var address netip.Addr
		if e.IP.Name != "" {
			address = netip.MustParseAddr("fe80::1%eth0")
		}
		values := pick(r, []map[string]float64{nil, {kafka.ProducerByteRate: 0.1 + r.Float64()*1e300}, {kafka.RequestPercentage: 1e-300, "later": 1 << 63}})
		return NewQuotaSet(e, values, address)
	},
}

// sameImage compares all that an image is, but for counts of changes.
var sameImage = cmp.Options{
	cmp.AllowUnexported(Image{}, keptQuota{}, quotaValue{}), cmpopts.IgnoreFields(Image{}, "env", "aclsVersion", "scramChange"), cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{}),
	asMap[string, *Topic](), asMap[kafka.TopicID, *Topic](), asMap[scramKey, *kafka.ScramCredential](), asMap[kafka.ACL, struct{}](), asMap[kafka.Entity, *keptQuota](),
	cmpopts.EquateComparable(scramKey{}),
}

func asMap[K comparable, V any]() cmp.Option {
	return cmp.Transformer("asMap", func(s shards[K, V]) map[K]V { return maps.Collect(s.all()) })
}

// TestWholeImage: what an image is made of leads to the same image, whatever it
// was that led to it.
func TestWholeImage(t *testing.T) {
	kept, done := map[string]bool{}, map[string]bool{}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, seed))
		d := newImage(&Options{NodeID: 1}).edit()
		for range r.IntN(100) {
			kind := pick(r, slices.Sorted(maps.Keys(anyChange)))
			if c := anyChange[kind](r, &d.Image); c != nil && d.Add(c) == nil {
				done[c.kind()] = true
			}
		}
		log := &memoryLog{}
		changes := d.whole()
		batch, _, err := encode(changes, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(batch, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.done(), openLog(t, log, Options{NodeID: 1}).Image(), sameImage); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		for _, c := range changes {
			kept[c.kind()] = true
		}
	}
	altering := []string{"TopicDeleted", "PartitionsAdded", "TopicConfigsSet", "ScramCredentialRemoved", "ACLDeleted"}
	for kind := range kinds {
		if kept[kind] == slices.Contains(altering, kind) {
			t.Errorf("%s: is it in a whole image? %v, and it should not be so", kind, kept[kind])
		}
		if kind != (imageBegan{}).kind() && !done[kind] {
			t.Errorf("%s: anyChange makes none that fits", kind)
		}
	}
}

// records counts what a start reads.
func records(t *testing.T, log storage.Log) (n int) {
	t.Helper()
	if _, err := storage.Replay(t.Context(), log, func(record.Record) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// spoil commits alterations of one quota, which weigh at least so much.
func spoil(t *testing.T, s *Store, weight int64) {
	t.Helper()
	var changes []Change
	name := strings.Repeat("n", 10_000)
	for i := range weight/10_000 + 1 {
		changes = append(changes, quotaOf(kafka.UserEntity(name), float64(i+1)))
	}
	commit(t, s, changes...)
}

// TestLogStaysSmall: what is altered again and again takes no more room, and no
// longer to read.
func TestLogStaysSmall(t *testing.T) {
	s, stop, err := openIn(vfs.Memory(), "/data", LogConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	commit(t, s, orders, NewACLCreated(readers))
	alterations, largest, end := 100_000, int64(0), int64(0)
	if testing.Short() {
		alterations = 10_000
	}
	for i := range alterations {
		commit(t, s, quotaOf(kafka.UserEntity("alice"), float64(i+1)))
		largest = max(largest, s.log.Size())
		if next := s.End(); next > end {
			end = next
		} else {
			t.Fatalf("the end was %d and is %d", end, next)
		}
	}
	if largest > 3<<20 {
		t.Errorf("the log had %d bytes", largest)
	}
	if n := records(t, s.log); n > 2_500 {
		t.Errorf("a start reads %d records", n)
	}
	again := openLog(t, s.log, Options{NodeID: 1})
	if diff := cmp.Diff(sketch(s.Image()), sketch(again.Image())); diff != "" {
		t.Error(diff)
	}
	if again.weight != s.weight || again.limit != s.limit {
		t.Errorf("a log of %d to be rewritten at %d is one of %d and %d after a start", s.weight, s.limit, again.weight, again.limit)
	}
}

// TestNeededLogIsRewrittenSeldom: what must be kept is not written over and over.
func TestNeededLogIsRewrittenSeldom(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	for i := range 100 {
		var changes []Change
		for j := range 300 {
			changes = append(changes, quotaOf(kafka.UserEntity(fmt.Sprint(i, "-", j)), 1))
		}
		commit(t, s, changes...)
	}
	rewritten := s.End() - int64(s.Image().QuotaCount())
	if rewritten > s.End()/2 || rewritten == 0 {
		t.Errorf("%d of %d records were rewritten", rewritten, s.End())
	}
}

// TestStartRewrites: a log that an earlier version let grow gets small at once.
func TestStartRewrites(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	commit(t, s, orders)
	s.limit = 1 << 40
	spoil(t, s, limitFor(0))
	want, end := sketch(s.Image()), log.end
	for i := range 2 {
		if got := sketch(open(t, log).Image()); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		if n := records(t, log); n != 4 || log.start != end || log.end != end+4 {
			t.Errorf("start %d leaves %d records from %d to %d, it was %d", i, n, log.start, log.end, end)
		}
	}
}

// TestChangesOfLaterVersions: what this version cannot write again stays in the
// log. What that version has written anew is no hindrance.
func TestChangesOfLaterVersions(t *testing.T) {
	for _, c := range []struct{ name, kind, value string }{
		{"a kind", "FutureThing", `{"x":1}`},
		{"a field", "ProducerIDsReserved", `{"next":7,"colour":"red"}`},
		{"a field further in", "QuotaSet", `{"user":{"name":"u","tenant":"t"},"values":{"producer_byte_rate":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &memoryLog{}
			commit(t, open(t, log), orders)
			appendRaw(log, c.kind, c.value)
			core, logs := observer.New(zap.WarnLevel)
			s, err := Open(t.Context(), log, Options{NodeID: 1}, zap.New(core), prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			if logs.FilterMessageSnippet("of a newer version").Len() != 1 {
				t.Errorf("got %v", logs.All())
			}
			spoil(t, s, limitFor(0))
			if s = open(t, log); log.start != 0 {
				t.Error("the log was rewritten")
			}
			if err := rewriteNow(s); err != nil { // as that version may
				t.Fatal(err)
			}
			if s = open(t, log); s.foreign != 0 {
				t.Errorf("%d changes are foreign", s.foreign)
			}
			appendRaw(log, c.kind, c.value)
			if s = open(t, log); s.foreign != 1 {
				t.Errorf("%d changes are foreign", s.foreign)
			}
		})
	}
}

// TestFailingRewrite: the store goes on as before, and the log gets small when it
// can.
func TestFailingRewrite(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(l *memoryLog, err error)
	}{
		{"append", func(l *memoryLog, err error) { l.noAppend = err }},
		{"move", func(l *memoryLog, err error) { l.noMove = err }},
		{"sync", func(l *memoryLog, err error) { l.noSync = err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &memoryLog{}
			s := open(t, log)
			commit(t, s, orders)
			spoil(t, s, limitFor(0)/2)
			c.set(log, errDisk)
			s.limit = 0
			<-s.turn
			s.shrink(t.Context())
			s.turn <- struct{}{}
			c.set(log, nil)
			if log.start != 0 || s.limit <= s.weight {
				t.Errorf("the log begins at %d; at %d it is to be rewritten, and is %d", log.start, s.limit, s.weight)
			}
			commit(t, s, TopicDeleted{ID: orders.ID})
			if diff := cmp.Diff(sketch(s.Image()), sketch(open(t, log).Image())); diff != "" {
				t.Error(diff)
			}
			spoil(t, s, s.limit)
			if log.start == 0 {
				t.Error("the log is not rewritten any more")
			}
		})
	}
}

// TestMissingHead: what a rewrite has let go of must be in the image behind it.
func TestMissingHead(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(l *memoryLog)
	}{
		{"the head of a log", "read the metadata log: offset 1: ACLCreated: the log begins here", func(l *memoryLog) { l.DeleteRecords(1) }},
		{"a part of an image", "read the metadata log: offset 4: ProducerIDsReserved: the log begins here", func(l *memoryLog) { l.start = 4 }},
		{"everything", "read the metadata log: offset 8: the log is empty", func(l *memoryLog) { l.DeleteRecords(8) }},
		{"the end of an image", "read the metadata log: offset 9: the log ends within an image, 5 of its changes are missing", func(l *memoryLog) {
			appendRaw(l, "ImageBegan", `{"changes":5}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &memoryLog{}
			s := open(t, log)
			commit(t, s, orders)
			commit(t, s, NewACLCreated(readers), NewACLCreated(writers))
			log.noMove = errDisk
			if err := rewriteNow(s); err == nil {
				t.Fatal("the log was shortened")
			}
			log.noMove = nil
			c.spoil(log)
			_, err := Open(t.Context(), log, Options{NodeID: 1}, zap.NewNop(), nil)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s...", err, c.want)
			}
		})
	}
}

// TestVersionBefore: a version that does not know of images reads the same from a
// log that was rewritten, or does not start.
func TestVersionBefore(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	commit(t, s, quotaOf(odd, 1), NewACLCreated(readers), scramOf("u", kafka.ScramSHA256), ProducerIDsReserved{Next: 1000})
	rewrite := func(move error) {
		log.noMove = move
		if err := rewriteNow(s); (err == nil) != (move == nil) {
			t.Fatal(err)
		}
	}
	before := func() (*Store, error) {
		known := kinds["ImageBegan"]
		delete(kinds, "ImageBegan")
		defer func() { kinds["ImageBegan"] = known }()
		return Open(t.Context(), log, Options{NodeID: 1}, zap.NewNop(), nil)
	}
	same := func(what string) {
		t.Helper()
		old, err := before()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sketch(s.Image()), sketch(old.Image())); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	rewrite(errDisk)
	same("twice the same, without topics")
	commit(t, s, quotaOf(odd, 2), orders)
	rewrite(nil)
	same("an image")
	commit(t, s, TopicDeleted{ID: orders.ID}, TopicCreated{Name: "more", ID: kafka.TopicID{2}, Partitions: 1})
	same("changes behind an image")
	rewrite(errDisk)
	if _, err := before(); err == nil {
		t.Error("topics twice are no error")
	}
}

// busy commits 10,000 topics and 10,000 quotas.
func busy(b *testing.B, s *Store) {
	b.Helper()
	changes := quotasOfTenThousand()
	for i := range 10_000 {
		changes = append(changes, TopicCreated{Name: fmt.Sprintf("topic-%05d", i), ID: kafka.TopicID{1, byte(i), byte(i >> 8), 15: byte(i)}, Partitions: 1})
	}
	if _, err := s.Commit(b.Context(), changes...); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRewrite is how long a commit may have to wait for the one before it.
func BenchmarkRewrite(b *testing.B) {
	s, stop, err := openIn(vfs.OS(), b.TempDir(), LogConfig())
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	busy(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if err := rewriteNow(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplayAlterations is a start whose log holds one quota that was altered
// 100,000 times: as it is now, and as it was when all of it was kept.
func BenchmarkReplayAlterations(b *testing.B) {
	for _, c := range []struct {
		name  string
		limit int64
	}{{"rewritten", limitFor(0)}, {"kept", math.MaxInt64}} {
		b.Run(c.name, func(b *testing.B) {
			s, stop, err := openIn(vfs.Memory(), "/data", LogConfig())
			if err != nil {
				b.Fatal(err)
			}
			defer stop()
			s.limit = c.limit
			for i := range 100_000 {
				if _, err := s.Commit(b.Context(), quotaOf(kafka.UserEntity("alice"), float64(i+1))); err != nil {
					b.Fatal(err)
				}
			}
			for s.weight < s.limit-1000 && c.limit < math.MaxInt64 { // the worst moment
				if _, err := s.Commit(b.Context(), quotaOf(kafka.UserEntity("alice"), 1)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				empty := Store{log: s.log, logger: zap.NewNop()}
				if _, err := empty.replay(b.Context(), newImage(&Options{NodeID: 1})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
