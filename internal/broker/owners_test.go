package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
)

// owners is who was given which partition in which generation of a group.
type owners struct {
	mu    sync.Mutex
	given map[string]string // generation and partition: member
	twice []string
}

func (o *owners) add(member string, generation int32, partitions map[string][]int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range partitions["orders"] {
		what := fmt.Sprint(generation, "/", p)
		if other, ok := o.given[what]; ok && other != member {
			o.twice = append(o.twice, fmt.Sprintf("%s: %s and %s", what, other, member))
		}
		o.given[what] = member
	}
}

// killable are the connections of a client whose process can be killed: they
// end, no word is said, and there are no new ones.
type killable struct {
	mu   sync.Mutex
	dead bool
	all  []net.Conn
}

func (k *killable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return nil, errors.Join(errors.New("killed"), conn.Close())
	}
	k.all = append(k.all, conn)
	return conn, nil
}

func (k *killable) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
	for _, conn := range k.all {
		_ = conn.Close()
	}
}

// With each assignor: a third member comes, one of them is killed, and its
// partitions move when its session ends. In no generation has a partition two
// owners, and every record is read.
func TestPartitionsHaveOneOwner(t *testing.T) {
	for name, o := range map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "round robin": kgo.RoundRobinBalancer(),
		"sticky": kgo.StickyBalancer(), "cooperative": kgo.CooperativeStickyBalancer()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Start(t, atOnce, func(c *broker.Config) { c.Properties["group.min.session.timeout.ms"] = "100" })
			admin := kadm.NewClient(newClient(t, b.Plain))
			if _, err := admin.CreateTopic(t.Context(), 6, 1, nil, "orders"); err != nil {
				t.Fatal(err)
			}
			all := &owners{given: map[string]string{}}
			start := func(k *killable) *consumer {
				given := func(_ context.Context, c *kgo.Client, partitions map[string][]int32) {
					id, generation := c.GroupMetadata()
					all.add(id, generation, partitions)
				}
				return newConsumer(t, b.Plain, "g", kgo.Balancers(o), kgo.Dialer(k.dial), kgo.OnPartitionsAssigned(given),
					kgo.SessionTimeout(2*time.Second), kgo.RequestRetries(1), kgo.RetryTimeout(time.Second))
			}
			victim := new(killable)
			killed := start(victim)
			others := []*consumer{start(new(killable))}
			members(t, admin, 2)
			others = append(others, start(new(killable)))
			members(t, admin, 3)
			producer := newClient(t, b.Plain, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
			sent := 0
			produce := func() {
				for range 60 {
					if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: fmt.Append(nil, sent)}).FirstErr(); err != nil {
						t.Fatal(err)
					}
					sent++
				}
			}
			produce()
			eventually(t, "the victim reads", func() bool { return killed.count() > 0 })
			victim.kill()
			produce()
			members(t, admin, 2)
			produce()
			eventually(t, "every record is read", func() bool {
				seen := map[string]bool{}
				for _, c := range append(others, killed) {
					c.mu.Lock()
					for _, v := range c.seen {
						seen[v] = true
					}
					c.mu.Unlock()
				}
				return len(seen) == sent
			})
			all.mu.Lock()
			defer all.mu.Unlock()
			if len(all.twice) > 0 {
				t.Error("owned twice:", strings.Join(all.twice, "; "))
			}
		})
	}
}
