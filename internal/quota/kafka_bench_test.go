package quota

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// settled is an Enforcer with n settings of that entity, a number in place of
// the verb.
func settled(n int, entity string) *Enforcer {
	e := newKafka()
	var settings []Setting
	for i := range n {
		settings = append(settings, Setting{
			Entity: entityOf(parts(fmt.Sprintf(entity, i))),
			Limits: Limits{kafka.ProducerByteRate: 1e15, kafka.ConsumerByteRate: 1e15},
		})
	}
	e.Restore(settings, nil)
	return e
}

// BenchmarkLookup finds the buckets of one client among 100,000 entities and
// charges one, by the level that decides.
func BenchmarkLookup(b *testing.B) {
	const n = 100_000
	for name, entity := range map[string]string{"user": "user=user-%d", "pair": "user=user-%d, client-id=c", "client": "client-id=user-%d"} {
		b.Run(name, func(b *testing.B) {
			e := settled(n, entity)
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("user-%d", i)
			}
			var buckets [kinds]*bucket
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i = (i + 31337) % n
				user, client := names[i], "c"
				if name == "client" {
					user, client = "u", names[i]
				}
				e.mu.RLock()
				e.find(user, client, &buckets)
				e.mu.RUnlock()
				buckets[Produce].charge(1000, 0)
			}
		})
	}
}

// BenchmarkDescribe lists 10,000 entities.
func BenchmarkDescribe(b *testing.B) {
	e := settled(10_000, "user=user-%d, client-id=c")
	for b.Loop() {
		if all, err := e.Describe(Filter{}); err != nil || len(all) != 10_000 {
			b.Fatal(len(all), err)
		}
	}
}

// BenchmarkRestore puts 10,000 entities in force.
func BenchmarkRestore(b *testing.B) {
	for b.Loop() {
		settled(10_000, "user=user-%d")
	}
}

// BenchmarkAlter changes one user, and the default user, of 1,000 muted
// connections among 100,000 accounts.
func BenchmarkAlter(b *testing.B) {
	for _, entity := range []string{"user=u7", "user", "user=u7, client-id=3"} {
		b.Run(entity, func(b *testing.B) {
			e := settled(100_000, "user=user-%d")
			now := time.Now()
			for _, at := range []string{"user", "user, client-id"} {
				e.Alter(context.Background(), now, []Alteration{{parts(at), []Op{set(kafka.ProducerByteRate, 10)}}}, false)
			}
			for i := range 1000 {
				c := e.Client(fmt.Sprint("u", i%100), fmt.Sprint(i))
				c.Mute(c.Charge(Produce, 10_000, now))
			}
			v := 10.0
			for b.Loop() {
				v++
				e.Alter(context.Background(), now, []Alteration{{parts(entity), []Op{set(kafka.ProducerByteRate, v)}}}, false)
			}
		})
	}
}

// BenchmarkAlterAmongClients changes a user of whom nobody is there, among 100,000
// client ids of which 1,000 are muted: a setting of a user may take clients from any.
func BenchmarkAlterAmongClients(b *testing.B) {
	e := newKafka()
	now := time.Now()
	alter := func(entity string, v float64) {
		e.Alter(context.Background(), now, []Alteration{{parts(entity), []Op{set(kafka.ProducerByteRate, v)}}}, false)
	}
	alter("client-id", 10)
	for i := range 100_000 {
		c := e.Client("u", fmt.Sprint(i))
		if t := c.Charge(Produce, 1+i%100/99*1000, now); t.Muted() {
			c.Mute(t)
		}
	}
	v := 10.0
	for b.Loop() {
		v++
		alter("user=nobody", v)
	}
}

// BenchmarkScrape collects 500 entities with series, and 100,000 without.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{500, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, reg := watchedKafka(DefaultOptions())
			var settings []Setting
			for i := range n {
				settings = append(settings, Setting{Entity: kafka.UserEntity(fmt.Sprint("user-", i)),
					Limits: Limits{kafka.ProducerByteRate: 1000, kafka.ConsumerByteRate: 1000, kafka.RequestPercentage: 1}})
			}
			e.Restore(settings, nil)
			for b.Loop() {
				if _, err := reg.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAccount is the memory of an entity with two limits.
func BenchmarkAccount(b *testing.B) {
	const n = 100_000
	var before, after runtime.MemStats
	base := map[string]Limits{}
	for i := range n {
		base[fmt.Sprintf("user-%d", i)] = Limits{kafka.ProducerByteRate: 1e9, kafka.ConsumerByteRate: 1e9}
	}
	var kept *Enforcer
	for b.Loop() {
		kept = New(KafkaModel(DefaultWindows()), DefaultOptions(), zap.NewNop(), nil)
		kept.SetBase(base)
		runtime.GC()
		runtime.ReadMemStats(&before)
		kept.mu.Lock()
		kept.accounts = newAccounts()
		kept.mu.Unlock()
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(before.HeapAlloc-after.HeapAlloc)/n, "B/entity")
}
