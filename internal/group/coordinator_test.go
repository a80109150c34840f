package group

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// openOn opens the groups of a data folder. The store of logs runs until stop.
func openOn(t testing.TB, fs vfs.FS, o Options) (c *Coordinator, stop func(), err error) {
	t.Helper()
	so := segment.DefaultOptions()
	so.FS, so.Dir, so.DiskReserve = fs, "/data", 0
	logs, err := segment.Open(so, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = logs.Run(done) // the file system may be gone
	}
	log, err := logs.Open(LogPartition, LogID, o.Log)
	if err == nil {
		c, err = Open(context.Background(), log, o, zap.NewNop(), prometheus.NewRegistry())
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return c, stop, nil
}

// open is openOn in memory, with the groups running until the test ends.
func open(t testing.TB, change func(*Options)) *Coordinator {
	t.Helper()
	o := DefaultOptions()
	o.InitialDelay = 0
	if change != nil {
		change(&o)
	}
	c, stop, err := openOn(t, vfs.Memory(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		stop()
	})
	return c
}

func consumer(id string) *Join {
	return &Join{MemberID: id, ClientID: "c", SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: []Protocol{{Name: "range", Metadata: subscriptionTo("t")}}}
}

func offset(topic byte, partition int32, at int64) []Topic {
	return []Topic{{ID: kafka.TopicID{topic}, Name: string('a' + rune(topic)), Partitions: []Partition{{partition, Committed{Offset: at, LeaderEpoch: -1, Expires: -1}}}}}
}

// found is one committed offset.
func found(c *Coordinator, name string, topic byte, partition int32) int64 {
	asked := offset(topic, partition, 0)
	c.Committed(name, asked)
	return asked[0].Partitions[0].Offset
}

// TestSessionEnds: a member that is silent is out, and the others are called to
// a rebalance, in a bubble of its own time.
func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, nil)
		a := c.Join(time.Now(), "g", consumer(""))
		<-a.Done()
		id := a.Value().MemberID
		b := c.Join(time.Now(), "g", consumer(""))
		synctest.Wait()
		select {
		case <-b.Done():
			t.Fatalf("joined before the first member: %+v", b.Value())
		default:
		}
		time.Sleep(9 * time.Second)
		if err := c.Heartbeat(time.Now(), "g", &Heartbeat{MemberID: id, Generation: 1}); kafka.CodeOf(err) != kafka.RebalanceInProgress {
			t.Errorf("heartbeat: %v", err)
		}
		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		if d, _ := c.Describe("g"); d.State != PreparingRebalance {
			t.Errorf("%s", d.State)
		}
		time.Sleep(time.Nanosecond)
		<-b.Done()
		if got := b.Value(); got.Err != nil || got.Generation != 2 || len(got.Members) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestTries: what only tried to be a group is none.
func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, nil)
		bad := consumer("")
		bad.SessionTimeout = 0
		for name, r := range map[string]*Join{"": consumer(""), "bad": bad, "stranger": consumer("x")} {
			f := c.Join(time.Now(), name, r)
			<-f.Done()
			if f.Value().Err == nil {
				t.Errorf("%q joined", name)
			}
		}
		promised := consumer("")
		promised.NeedsID = true
		<-c.Join(time.Now(), "promised", promised).Done()
		if list := c.List(); len(list) != 1 || list[0].Name != "promised" {
			t.Errorf("%+v", list)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if list := c.List(); len(list) != 0 {
			t.Errorf("%+v", list)
		}
	})
}

// TestRetentionPass: offsets lapse by themselves, and the group with them.
func TestRetentionPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, func(o *Options) { o.Retention = time.Hour })
		topics := offset(1, 0, 5)
		topics[0].Partitions[0].At = time.Now().UnixMilli()
		if err := c.Commit(t.Context(), time.Now(), "g", &Commit{Generation: -1, Topics: topics}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if got := found(c, "g", 1, 0); got != 5 {
			t.Errorf("after 59 min: %d", got)
		}
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if got := found(c, "g", 1, 0); got != -1 || len(c.List()) != 0 {
			t.Errorf("after 71 min: %d, %v", got, c.List())
		}
	})
}

// TestDropTopics: the offsets of a topic go with it; one that is made anew under
// its name has none.
func TestDropTopics(t *testing.T) {
	c := open(t, nil)
	for topic := range byte(3) {
		if err := c.Commit(t.Context(), time.Now(), "g", &Commit{Generation: -1, Topics: offset(topic, 0, 5)}); err != nil {
			t.Fatal(err)
		}
	}
	c.DropTopics(time.Now(), func(id kafka.TopicID) bool { return id == kafka.TopicID{1} })
	if got := []int64{found(c, "g", 0, 0), found(c, "g", 1, 0), found(c, "g", 2, 0)}; fmt.Sprint(got) != "[5 -1 5]" {
		t.Error(got)
	}
}

// TestDelete: a group goes with its offsets, unless it has members.
func TestDelete(t *testing.T) {
	c := open(t, nil)
	codes := func(name string) kafka.Code { return kafka.CodeOf(c.Delete(t.Context(), time.Now(), name)) }
	if got := codes("g"); got != kafka.GroupIDNotFound {
		t.Error(got)
	}
	f := c.Join(time.Now(), "g", consumer(""))
	<-f.Done()
	if err := c.Commit(t.Context(), time.Now(), "g", &Commit{MemberID: f.Value().MemberID, Generation: 1, Topics: offset(1, 0, 5)}); kafka.CodeOf(err) != kafka.RebalanceInProgress {
		t.Error(err)
	}
	if got := codes("g"); got != kafka.NonEmptyGroup {
		t.Error(got)
	}
	if left, err := c.Leave(time.Now(), "g", []Leave{{MemberID: f.Value().MemberID}}); err != nil || left[0] != nil {
		t.Error(left, err)
	}
	if got := codes("g"); got != kafka.NoError || len(c.List()) != 0 {
		t.Error(got, c.List())
	}
	if _, ok := c.Describe("g"); ok {
		t.Error("it is still there")
	}
}

// TestMetrics: lag and state are told, and no more series than allowed.
func TestMetrics(t *testing.T) {
	c := open(t, func(o *Options) {
		o.MaxSeries = 2
		o.End = func(id kafka.TopicID, partition int32) (int64, bool) { return 100, id != kafka.TopicID{9} }
	})
	for i := range 5 {
		for topic := byte(8); topic < 10; topic++ {
			if err := c.Commit(t.Context(), time.Now(), fmt.Sprint("g", i), &Commit{Generation: -1, Topics: offset(topic, 0, int64(i))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-c.Join(time.Now(), "g0", consumer("")).Done()
	want := `
# HELP kaasd_group_lag Records behind the committed offsets of a group, in a topic's partitions together.
# TYPE kaasd_group_lag gauge
kaasd_group_lag{group="_other",topic="_other"} 390
kaasd_group_lag{group="g0",topic="i"} 100
kaasd_group_lag{group="g0",topic="j"} 0
# HELP kaasd_group_memory_bytes What all groups keep of a kind, as it counts against the limit.
# TYPE kaasd_group_memory_bytes gauge
kaasd_group_memory_bytes{kind="members"} 2499
kaasd_group_memory_bytes{kind="offsets"} 15060
# HELP kaasd_group_memory_limit_bytes What all groups may keep of a kind; requests that would have them keep more are refused.
# TYPE kaasd_group_memory_limit_bytes gauge
kaasd_group_memory_limit_bytes{kind="members"} 6.7108864e+07
kaasd_group_memory_limit_bytes{kind="offsets"} 1.34217728e+08
# HELP kaasd_group_members Members of a group.
# TYPE kaasd_group_members gauge
kaasd_group_members{group="_other"} 0
kaasd_group_members{group="g0"} 1
kaasd_group_members{group="g1"} 0
# HELP kaasd_group_rebalances_total Rebalances of a group since the start of this process.
# TYPE kaasd_group_rebalances_total counter
kaasd_group_rebalances_total{group="_other"} 0
kaasd_group_rebalances_total{group="g0"} 1
kaasd_group_rebalances_total{group="g1"} 0
# HELP kaasd_group_state 1 for the state that a group is in; of the groups that share a series, how many are in the state.
# TYPE kaasd_group_state gauge
kaasd_group_state{group="_other",state="Empty"} 3
kaasd_group_state{group="g0",state="CompletingRebalance"} 1
kaasd_group_state{group="g1",state="Empty"} 1
`
	if err := testutil.CollectAndCompare(collector{c}, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestOddNames: a scrape takes names that are no text, and long ones that begin
// alike.
func TestOddNames(t *testing.T) {
	c := open(t, nil)
	long := strings.Repeat("x", 300)
	for _, name := range []string{"", "\xff", "\xfe", long + "1", long + "2"} {
		if err := c.Commit(t.Context(), time.Now(), name, &Commit{Generation: -1, Topics: offset(1, 0, 5)}); err != nil {
			t.Fatal(err)
		}
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collector{c})
	families, err := reg.Gather()
	if err != nil || families[0].GetName() != "kaasd_group_members" || len(families[0].Metric) != 3 {
		t.Errorf("%v, %v", err, families)
	}
}

// TestTogether: members of many groups come and go at once.
func TestTogether(t *testing.T) {
	c := open(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprint("g", i%3)
			for n := range 50 {
				f := c.Join(time.Now(), name, consumer(""))
				if n%2 == 0 { // another member may leave the rebalance to us
					c.List()
				}
				select {
				case <-f.Done():
					v := f.Value()
					c.Sync(time.Now(), name, &Sync{MemberID: v.MemberID, Generation: v.Generation})
					_ = c.Commit(context.Background(), time.Now(), name, &Commit{MemberID: v.MemberID, Generation: v.Generation, Topics: offset(1, int32(i), int64(n))})
				default:
				}
				d, _ := c.Describe(name)
				for _, m := range d.Members {
					if _, err := c.Leave(time.Now(), name, []Leave{{MemberID: m.ID}}); err != nil {
						t.Error(err)
					}
				}
				_ = c.Delete(context.Background(), time.Now(), name)
			}
		})
	}
	all.Wait()
}

// TestPromisesLapse: an id that nobody comes back with is promised for a minute,
// whatever session its client has asked for, and keeps no room for longer.
func TestPromisesLapse(t *testing.T) {
	c := open(t, nil)
	now := time.Now()
	r := consumer("")
	r.NeedsID, r.SessionTimeout = true, 30*time.Minute
	if got := kafka.CodeOf(c.Join(now, "g", r).Value().Err); got != kafka.MemberIDRequired {
		t.Fatal(got)
	}
	c.wake(now.Add(promiseTime - time.Second))
	if c.members.kept.Load() == 0 || c.Count() != 1 {
		t.Error("the promise is gone too soon")
	}
	c.wake(now.Add(promiseTime))
	if kept := c.members.kept.Load(); kept != 0 || c.Count() != 0 {
		t.Errorf("%d bytes of %d groups are kept", kept, c.Count())
	}
}
