package quota

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

func benchmarked(users int, rate float64) *Enforcer {
	e := New(UserModel(), DefaultOptions(), zap.NewNop(), nil)
	base := map[string]Limits{}
	for i := range users {
		base[fmt.Sprintf("user-%d", i)] = Limits{kafka.ProducerByteRate: rate, kafka.ConsumerByteRate: rate}
	}
	e.SetBase(base)
	return e
}

// BenchmarkCharge is one core on one bucket: within the limit, throttled each
// time, and without a quota.
func BenchmarkCharge(b *testing.B) {
	for name, rate := range map[string]float64{"within": 1e15, "throttled": 1e6} {
		b.Run(name, func(b *testing.B) {
			c := benchmarked(1, rate).Client("user-0", "c")
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				c.Charge(Produce, 1000, now)
			}
		})
	}
	b.Run("unlimited", func(b *testing.B) {
		c := benchmarked(1, 1).Client("somebody", "c")
		now := time.Now()
		b.ReportAllocs()
		for b.Loop() {
			c.Charge(Produce, 1000, now)
		}
	})
}

// BenchmarkFloor is what the two atomic steps of a charge take by themselves on
// this machine, to hold the others against.
func BenchmarkFloor(b *testing.B) {
	var tally, word atomic.Int64
	for b.Loop() {
		tally.Add(1000)
		old := word.Load()
		word.CompareAndSwap(old, old+1)
	}
}

// BenchmarkChargeShared is every core on one bucket.
func BenchmarkChargeShared(b *testing.B) {
	e := benchmarked(1, 1e15)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c, now := e.Client("user-0", "c"), time.Now()
		for pb.Next() {
			c.Charge(Produce, 1000, now)
		}
	})
}

// BenchmarkChargeMany is every core on 100,000 buckets, by kept handles.
func BenchmarkChargeMany(b *testing.B) {
	const users = 100_000
	e := benchmarked(users, 1e15)
	clients := make([]*Client, users)
	for i := range clients {
		clients[i] = e.Client(fmt.Sprintf("user-%d", i), "c")
	}
	var start atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		now, i := time.Now(), int(start.Add(7919))
		for pb.Next() {
			i = (i + 31337) % users
			clients[i].Charge(Produce, 1000, now)
		}
	})
}

// BenchmarkClient finds the buckets of a user among 100,000.
func BenchmarkClient(b *testing.B) {
	const users = 100_000
	e := benchmarked(users, 1e15)
	names := make([]string, users)
	for i := range names {
		names[i] = fmt.Sprintf("user-%d", i)
	}
	var buckets [kinds]*bucket
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i = (i + 31337) % users
		e.find(names[i], "c", &buckets)
	}
}

// BenchmarkTake takes and settles a fetch.
func BenchmarkTake(b *testing.B) {
	c := benchmarked(1, 1e15).Client("user-0", "c")
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		c.Take(Fetch, 1000, now).Settle(500, now)
	}
}
