package broker_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// atOnce has a group's first rebalance wait for nobody.
func atOnce(c *broker.Config) { c.Properties["group.initial.rebalance.delay.ms"] = "0" }

// consumer is a member of a group that was not written by us.
type consumer struct {
	*kgo.Client
	mu   sync.Mutex
	seen []string
	done chan struct{}
	stop context.CancelFunc
}

func newConsumer(t *testing.T, address, name string, o ...kgo.Opt) *consumer {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &consumer{done: make(chan struct{}), stop: stop}
	c.Client = newClient(t, address, append([]kgo.Opt{kgo.ConsumerGroup(name), kgo.ConsumeTopics("orders"), kgo.RequestRetries(10),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(50 * time.Millisecond), kgo.SessionTimeout(10 * time.Second),
		kgo.AutoCommitMarks(), kgo.BlockRebalanceOnPoll()}, o...)...)
	go c.consume(ctx)
	t.Cleanup(c.leave)
	return c
}

// consume keeps what it sees and commits it before a partition can go to
// somebody else.
func (c *consumer) consume(ctx context.Context) {
	defer close(c.done)
	for ctx.Err() == nil {
		fetches := c.PollFetches(ctx)
		c.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) { c.seen = append(c.seen, string(r.Value)) })
		c.mu.Unlock()
		c.MarkCommitRecords(fetches.Records()...)
		_ = c.CommitMarkedOffsets(context.WithoutCancel(ctx))
		c.AllowRebalance()
	}
}

// leave ends the member as a program that ends well does.
func (c *consumer) leave() {
	c.stop()
	<-c.done
	c.CloseAllowingRebalance()
}

func (c *consumer) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// TestGroupConsumers: members come and go, and every record is seen once, with
// each way to assign.
func TestGroupConsumers(t *testing.T) {
	for name, o := range map[string][]kgo.Opt{
		"cooperative": nil,
		"range":       {kgo.Balancers(kgo.RangeBalancer())},
		"sticky":      {kgo.Balancers(kgo.StickyBalancer(), kgo.RoundRobinBalancer())},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Start(t, atOnce)
			admin := kadm.NewClient(newClient(t, b.Plain))
			if _, err := admin.CreateTopic(t.Context(), 6, 1, nil, "orders"); err != nil {
				t.Fatal(err)
			}
			sent := 0
			produce := func(n int) {
				client := newClient(t, b.Plain, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
				for range n {
					r := &kgo.Record{Topic: "orders", Value: fmt.Append(nil, sent)}
					if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
						t.Fatal(err)
					}
					sent++
				}
			}
			var all []*consumer
			total := func() int {
				n := 0
				for _, c := range all {
					n += c.count()
				}
				return n
			}
			for range 3 {
				all = append(all, newConsumer(t, b.Plain, "g", o...))
				produce(60)
				eventually(t, "all is seen", func() bool { return total() >= sent })
			}
			members(t, admin, 3)
			all[0].leave()
			produce(60)
			eventually(t, "all is seen by two", func() bool { return total() >= sent })
			members(t, admin, 2)
			var seen []string
			for _, c := range all {
				seen = append(seen, c.seen...)
			}
			slices.Sort(seen)
			if once := slices.Compact(slices.Clone(seen)); len(once) != sent || len(seen) != sent {
				t.Errorf("%d sent, %d seen, %d of them different", sent, len(seen), len(once))
			}
			eventually(t, "there is no lag", func() bool {
				lags, err := admin.Lag(t.Context(), "g")
				g := lags["g"]
				return err == nil && g.Error() == nil && g.Lag.Total() == 0
			})
		})
	}
}

// members waits until the group has so many, each with partitions.
func members(t *testing.T, admin *kadm.Client, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " members are stable"), func() bool {
		described, err := admin.DescribeGroups(t.Context(), "g")
		g := described["g"]
		if err != nil || g.State != "Stable" || len(g.Members) != n {
			return false
		}
		return len(g.AssignedPartitions()["orders"]) == 6
	})
}

// TestStaticMemberComesBack: a static member that is started again takes its
// partitions back, and nobody else notices.
func TestStaticMemberComesBack(t *testing.T) {
	b := brokertest.Start(t, atOnce)
	admin := kadm.NewClient(newClient(t, b.Plain))
	if _, err := admin.CreateTopic(t.Context(), 6, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	eager := kgo.Balancers(kgo.RangeBalancer()) // one rebalance when somebody comes, not two
	first := newConsumer(t, b.Plain, "g", kgo.InstanceID("one"), eager)
	newConsumer(t, b.Plain, "g", kgo.InstanceID("two"), eager)
	members(t, admin, 2)
	before := rebalances(t, b)
	id, _ := first.GroupMetadata()
	first.leave() // which a static member does not tell
	newConsumer(t, b.Plain, "g", kgo.InstanceID("one"), eager)
	eventually(t, "the new life has joined", func() bool {
		described, err := admin.DescribeGroups(t.Context(), "g")
		return err == nil && !slices.ContainsFunc(described["g"].Members, func(m kadm.DescribedGroupMember) bool {
			return m.MemberID == id
		})
	})
	members(t, admin, 2)
	if after := rebalances(t, b); after != before {
		t.Errorf("rebalances: %s, then %s", before, after)
	}
	if _, err := admin.LeaveGroup(t.Context(), kadm.LeaveGroup("g").InstanceIDs("one")); err != nil {
		t.Error(err)
	}
}

// rebalances is the line of the metrics that counts them.
func rebalances(t *testing.T, b *brokertest.Broker) string {
	t.Helper()
	resp, err := http.Get("http://" + b.HTTP + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `kaasd_group_rebalances_total{group="g"}`) {
			return line
		}
	}
	t.Fatal("there is no such metric")
	return ""
}

// TestGroupsOutliveTheBroker: offsets, and members that come back in time.
func TestGroupsOutliveTheBroker(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		admin := kadm.NewClient(newClient(t, b.Plain))
		if _, err := admin.CreateTopics(t.Context(), 3, 1, nil, "orders", "gone"); err != nil {
			t.Fatal(err)
		}
		var offsets kadm.Offsets
		offsets.AddOffset("orders", 1, 17, 0)
		offsets.AddOffset("orders", 2, 4, -1)
		offsets.AddOffset("gone", 0, 9, -1)
		if err := admin.CommitAllOffsets(t.Context(), "simple", offsets); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.DeleteTopic(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		p := dial(t, b.Plain)
		join := &message.JoinGroupRequest{GroupID: "g", SessionTimeoutMs: 30000, RebalanceTimeoutMs: 30000, ProtocolType: "consumer",
			Protocols: []message.JoinGroupProtocol{{Name: "range", Metadata: []byte("m")}}}
		member := call[message.JoinGroupResponse](p, 3, join)
		call[message.SyncGroupResponse](p, 3, &message.SyncGroupRequest{GroupID: "g", GenerationID: 1, MemberID: member.MemberID,
			Assignments: []message.SyncGroupAssignment{{MemberID: member.MemberID, Assignment: []byte("all")}}})
		for range 2 {
			b = again()
			admin = kadm.NewClient(newClient(t, b.Plain))
			got, err := admin.FetchOffsets(t.Context(), "simple")
			if err != nil {
				t.Fatal(err)
			}
			lines := []string{}
			for _, o := range got.Sorted() {
				lines = append(lines, fmt.Sprintf("%s/%d:%d", o.Topic, o.Partition, o.At))
			}
			if diff := cmp.Diff([]string{"orders/1:17", "orders/2:4"}, lines); diff != "" {
				t.Error(diff)
			}
			p := dial(t, b.Plain)
			if got := call[message.HeartbeatResponse](p, 3, &message.HeartbeatRequest{GroupID: "g", GenerationID: 1, MemberID: member.MemberID}); got.ErrorCode != kafka.NoError {
				t.Errorf("heartbeat: %s", got.ErrorCode)
			}
			if got := call[message.SyncGroupResponse](p, 3, &message.SyncGroupRequest{GroupID: "g", GenerationID: 1, MemberID: member.MemberID}); string(got.Assignment) != "all" {
				t.Errorf("sync: %+v", got)
			}
		}
	}, atOnce)
}

// TestStopWhileJoining: a stop answers a join that waits, and does not wait for
// it.
func TestStopWhileJoining(t *testing.T) {
	b := brokertest.Start(t) // the first rebalance waits for more members
	p := dial(t, b.Plain)
	p.send(3, &message.JoinGroupRequest{GroupID: "g", SessionTimeoutMs: 30000, RebalanceTimeoutMs: 30000, ProtocolType: "consumer",
		Protocols: []message.JoinGroupProtocol{{Name: "range"}}})
	other := dial(t, b.Plain)
	eventually(t, "the join waits", func() bool {
		got := call[message.DescribeGroupsResponse](other, 3, &message.DescribeGroupsRequest{Groups: []string{"g"}})
		return got.Groups[0].GroupState == "PreparingRebalance"
	})
	go b.Stop()
	var resp message.JoinGroupResponse
	p.read(&resp)
	if resp.ErrorCode != kafka.CoordinatorNotAvailable {
		t.Error(resp.ErrorCode)
	}
}

// TestGroupsTakeTheirShareOfMemory: members with megabytes of metadata are refused
// when memory.limit has no room for them, in however many groups, and so are offsets.
func TestGroupsTakeTheirShareOfMemory(t *testing.T) {
	b := brokertest.Start(t, atOnce, func(c *broker.Config) { c.MemoryLimit = 64 << 20 }) // members may keep 16 MiB
	p := dial(t, b.Plain)
	var got []kafka.Code
	for i := range 3 {
		got = append(got, call[message.JoinGroupResponse](p, 3, &message.JoinGroupRequest{GroupID: fmt.Sprint("g", i), SessionTimeoutMs: 30000, RebalanceTimeoutMs: 30000,
			ProtocolType: "consumer", Protocols: []message.JoinGroupProtocol{{Name: "range", Metadata: make([]byte, 7<<20)}}}).ErrorCode)
	}
	if want := []kafka.Code{kafka.NoError, kafka.NoError, kafka.GroupMaxSizeReached}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.newTopic("t")
	commit := func(name string) kafka.Code { // offsets may keep 16 MiB
		metadata := strings.Repeat("m", 4096)
		return call[message.OffsetCommitResponse](p, 7, &message.OffsetCommitRequest{GroupID: name, GenerationIDOrMemberEpoch: -1, RetentionTimeMs: -1,
			Topics: []message.OffsetCommitTopic{{Name: "t", Partitions: []message.OffsetCommitPartition{{CommittedMetadata: &metadata}}}}}).Topics[0].Partitions[0].ErrorCode
	}
	for i := 0; i < 4000 && commit(fmt.Sprint("c", i)) == kafka.NoError; i++ {
	}
	if first, another := commit("c0"), commit("another"); first != kafka.NoError || another != kafka.InvalidCommitOffsetSize {
		t.Errorf("offsets that are there: %s, others: %s", first, another)
	}
}
