package quota

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// TestKafkaMutes holds O-a01 and T31 for what settings of other entities do to a
// connection of u with c that is muted for 10 s by the default user's 1000 B/s.
func TestKafkaMutes(t *testing.T) {
	for _, c := range []struct {
		name, entity string
		v            float64
		want         time.Duration // the change comes after 2 s, with 8 s to go
	}{
		{"the default is removed", "user", 0, 2 * time.Second},
		{"the default is raised", "user", 4000, 4 * time.Second},
		{"the default is lowered", "user", 10, 10 * time.Second},
		{"a setting of its own is higher", "user=u", 8000, 3 * time.Second},
		{"all pairs have a default of their own", "user, client-id", 10, 2 * time.Second},
		{"the user's clients have a default of their own", "user=u, client-id", 10, 2 * time.Second},
		{"its pair has a setting, its bucket stays that of others", "user=u, client-id=c", 1e9, 2 * time.Second},
		{"another client id of the user has one", "user=u, client-id=d", 1e9, 10 * time.Second},
		{"its client id has one for every user", "user, client-id=c", 10, 2 * time.Second},
		{"another client id has one for every user", "user, client-id=d", 10, 10 * time.Second},
		{"a lower level", "client-id=c", 1e9, 10 * time.Second},
		{"another user", "user=v", 1e9, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newKafka()
				give(t, e, "user", kafka.ProducerByteRate, 1000)
				begin := time.Now()
				client := e.Client("u", "c")
				m := client.Mute(client.Charge(Produce, 20_000, begin))
				go func() {
					<-time.After(2 * time.Second)
					give(t, e, c.entity, kafka.ProducerByteRate, c.v)
				}()
				wait(m)
				if got := time.Since(begin); got < c.want || got > c.want+time.Microsecond {
					t.Errorf("muted for %v, want %v", got, c.want)
				}
				<-time.After(20 * time.Second)
			})
		})
	}
}

// TestKafkaMutesOfAClientID: of those who share the bucket of a client id only they
// are served early whom a change takes elsewhere.
func TestKafkaMutesOfAClientID(t *testing.T) {
	for entity, early := range map[string]bool{
		"user=u": true, "user=u, client-id": true, "user=u, client-id=c": true,
		"user=w": false, "user=u, client-id=d": false, "client-id=d": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newKafka()
			give(t, e, "client-id=c", kafka.ProducerByteRate, 1000)
			give(t, e, "client-id=c", kafka.RequestPercentage, 1)
			begin := time.Now()
			muted := func(user string, charge func(*Client) Throttle, want time.Duration) {
				client := e.Client(user, "c")
				m := client.Mute(charge(client))
				go func() {
					wait(m)
					if got := time.Since(begin); got < want || got > want+time.Microsecond {
						t.Errorf("%s is set: %s is muted for %v, want %v", entity, user, got, want)
					}
				}()
			}
			want := 20 * time.Second
			if early {
				want = 500 * ms
			}
			muted("u", func(c *Client) Throttle { return c.Charge(Produce, 30_000, begin) }, want)
			muted("v", func(c *Client) Throttle { return c.Charge(Produce, 1, begin) }, 20*time.Second+ms)
			muted("u", func(c *Client) Throttle { return c.Work(time.Second, begin) }, time.Second) // another key
			<-time.After(500 * ms)
			give(t, e, entity, kafka.ProducerByteRate, 1e9)
			<-time.After(30 * time.Second)
		})
	}
}

// TestWorkMute: a mute for work ends with its window, earlier only when the
// whole debt of 11 s is shorter than that.
func TestWorkMute(t *testing.T) {
	for percents, want := range map[float64]time.Duration{
		50: time.Second, 10: time.Second, 500: time.Second, 5000: 308 * ms /* 10.8 s by a hundred */, 0: 200 * ms,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newKafka()
			give(t, e, "user", kafka.RequestPercentage, 50)
			begin := time.Now()
			client := e.Client("u", "c")
			m := client.Mute(client.Work(time.Minute, begin))
			go func() {
				<-time.After(200 * ms)
				give(t, e, "user", kafka.RequestPercentage, percents)
			}()
			wait(m)
			if got := time.Since(begin); got < want || got > want+time.Microsecond {
				t.Errorf("%g percent: muted for %v, want %v", percents, got, want)
			}
			<-time.After(20 * time.Second)
		})
	}
}

// TestThousandMuted: an alteration is in force on a thousand muted connections
// when it returns; with it they all wake.
func TestThousandMuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newKafka()
		give(t, e, "user", kafka.ProducerByteRate, 10)
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 1000 {
			client := e.Client(fmt.Sprint("u", i%100), fmt.Sprint(i))
			m := client.Mute(client.Charge(Produce, 10_000, begin))
			all.Go(func() { wait(m) })
		}
		<-time.After(time.Second)
		give(t, e, "user", kafka.ProducerByteRate, 0)
		all.Wait()
		if got := time.Since(begin); got != time.Second {
			t.Errorf("the last one woke after %v", got)
		}
		if got := e.meters[Produce].mutes.count(); got != 0 {
			t.Errorf("%d connections are muted", got)
		}
	})
}

// TestEverythingTogether is for the race detector: all calls at once. In the
// end every client has the limit of the reference.
func TestEverythingTogether(t *testing.T) {
	e, reg := watchedKafka(Options{Idle: time.Hour, MaxEntities: 5, KafkaNames: true})
	e.Restore(nil, &ledger{})
	ref := &reference{map[kafka.Entity]Limits{}, map[kafka.Entity]Limits{}}
	now := time.Now().Add(time.Minute)
	handles := map[[2]string]*Client{}
	for _, u := range []string{"a", "b", "c"} {
		for _, c := range []string{"x", "y", ""} {
			handles[[2]string{u, c}] = e.Client(u, c)
		}
	}
	var all sync.WaitGroup
	for _, c := range handles {
		all.Go(func() {
			for i := range 500 {
				at := now.Add(time.Duration(i) * ms)
				if m := c.Mute(Larger(c.Charge(Produce, 100, at), c.Work(ms, at))); m != nil {
					m.Remaining(at)
					m.Done()
				}
				if g := c.Take(Fetch, 100, at); !g.Throttle.Muted() {
					g.Settle(50, at)
				}
				c.Mutate(1, i%2 == 0, at)
				if m := c.Join(Produce, at); m != nil {
					m.Done()
				}
				e.Admit("L", netip.AddrFrom4([4]byte{byte(i)}), at)
				e.Client("a", fmt.Sprint(i)).Charge(Produce, 1, at)
			}
		})
	}
	all.Go(func() {
		for i := range 50 {
			scrape(t, reg)
			e.Status(now, StatusFilter{})
			e.Resolve("a", "x")
			e.sample(e.ticksOf(now.Add(time.Duration(i)*time.Second)), true)
			e.sweep(e.ticksOf(now))
			_, _ = e.Describe(Filter{})
			_, _ = e.ResolveAddress("1.2.3.4")
			e.SetConnectionRates(float64(i), map[string]float64{"L": 1e6})
		}
	})
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 100 {
		changeSome(t, e, ref, r)
		if i%10 == 0 {
			changeBase(e, ref, r)
		}
	}
	all.Wait()
	checkReference(t, e, ref, handles)
}
