package quota

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// TestMutationVectors are Kafka's own, by windows.
func TestMutationVectors(t *testing.T) {
	type step struct {
		at     int // ms
		n      int
		strict bool
		ok     bool
		want   int32 // ms
	}
	for name, c := range map[string]struct {
		windows int
		rate    float64
		steps   []step
	}{
		"strict":                  {10, 2, []step{{0, 30, true, true, 0}, {0, 30, true, false, 5000}, {5000, 30, true, true, 0}}},
		"permissive":              {10, 2, []step{{0, 30, false, true, 5000}, {0, 30, false, true, 20000}}},
		"permissive, asked again": {10, 10, []step{{0, 90, false, true, 0}, {0, 90, false, true, 8000}, {0, 90, false, true, 17000}, {5000, 0, false, true, 12000}}},
		"eleven windows":          {11, 2, []step{{0, 30, true, true, 0}, {0, 30, true, false, 4000}, {3999, 1, true, false, 1}, {4000, 1, true, true, 0}}},
		"T36 topics of 30 and 1":  {11, 2, []step{{0, 30, true, true, 0}, {0, 1, true, false, 4000}}},
		"T37 in an older version": {11, 2, []step{{0, 30, false, true, 4000}, {0, 1, false, true, 4500}}},
		"mixed":                   {11, 2, []step{{0, 40, false, true, 9000}, {1000, 1, true, false, 8000}, {9000, 22, true, true, 0}}},
		"owed for less than 1 ms": {11, 10000, []step{{0, 110_001, true, true, 0}, {0, 1, true, false, 1}, {1, 1, true, true, 0}}},
		"a fraction":              {11, 0.5, []step{{0, 6, true, true, 0}, {0, 1, true, false, 1000}}},
		"very many":               {11, 1, []step{{0, 1 << 40, false, true, 1<<31 - 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := DefaultWindows()
			w.MutationNum = c.windows
			e := New(KafkaModel(w), DefaultOptions(), zap.NewNop(), nil)
			give(t, e, "user", kafka.ControllerMutationRate, c.rate)
			client, begin := e.Client("u", "c"), e.clock.start.Add(time.Minute)
			for _, s := range c.steps {
				got, ok := client.Mutate(s.n, s.strict, begin.Add(time.Duration(s.at)*time.Millisecond))
				if ok != s.ok || got.Millis() != s.want || got.Muted() != (s.want > 0) {
					t.Errorf("%+v: got %v, %d ms", s, ok, got.Millis())
				}
			}
		})
	}
	e := newKafka()
	if got, ok := e.Client("u", "c").Mutate(1e6, true, time.Now()); !ok || got.Muted() {
		t.Error("refused without a quota")
	}
}

// TestMutationWindows: mutations have windows of their own.
func TestMutationWindows(t *testing.T) {
	e := New(KafkaModel(Windows{Num: 2, Size: time.Minute, MutationNum: 3, MutationSize: 2 * time.Second}), DefaultOptions(), zap.NewNop(), nil)
	give(t, e, "user", kafka.ControllerMutationRate, 2)
	if got, _ := e.Client("u", "c").Mutate(13, false, time.Now()); got.Millis() != 500 {
		t.Errorf("one above a bucket of 12: %d ms, want 500", got.Millis())
	}
}

// TestMutationIsForgiven: a removal lets the refused go on at once, a raise keeps
// the debt in partitions.
func TestMutationIsForgiven(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	giveAt(t, e, now, "client-id=c", kafka.ControllerMutationRate, 2)
	c := e.Client("u", "c")
	c.Mutate(42, true, now) // 20 owed
	giveAt(t, e, now, "client-id=c", kafka.ControllerMutationRate, 10)
	if got, ok := c.Mutate(1, true, now); ok || got.Millis() != 2000 {
		t.Errorf("raised: %v, %d ms", ok, got.Millis())
	}
	giveAt(t, e, now, "client-id=c", kafka.ControllerMutationRate, 0)
	if got, ok := c.Mutate(1, true, now); !ok || got.Muted() {
		t.Errorf("removed: %v, %d ms", ok, got.Millis())
	}
}
