package quota

import (
	"testing"
	"time"

	"kaasd/internal/kafka"
)

const ms = time.Millisecond

// TestWork holds T34: work is paid at a percentage of a thread, no throttle is
// longer than a window, and what is owed has an end.
func TestWork(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	if e.HasRequestQuotas() {
		t.Error("there are request quotas before one is set")
	}
	giveAt(t, e, now, "user=u", kafka.RequestPercentage, 1) // 10 ms a second, 100 ms at once
	if !e.HasRequestQuotas() {
		t.Error("there is no request quota")
	}
	c := e.Client("u", "c")
	work := func(d time.Duration, want int32) {
		t.Helper()
		if got := c.Work(d, now); got.Millis() != want || got.Muted() != (want > 0) {
			t.Errorf("%v: got %d ms, want %d", d, got.Millis(), want)
		}
	}
	work(100*ms, 0)
	work(5*time.Microsecond, 0) // half a millisecond owed
	work(2*ms, 201)
	work(500*ms, 1000)
	work(time.Hour, 1000) // 11 s are owed, not more
	now = now.Add(10 * time.Second)
	work(0, 1000)
	now = now.Add(500 * ms)
	work(0, 500)
	now = now.Add(500 * ms)
	work(0, 0)
	work(-time.Second, 0)
	giveAt(t, e, now, "user=u", kafka.RequestPercentage, 0)
	work(time.Hour, 0)
	if e.HasRequestQuotas() {
		t.Error("there are request quotas after the last one is removed")
	}
}

// TestWorkOfKafka is Kafka's own vector: 4 ms a second are within 1 %, a spike
// of 67.1 ms is not in its window; the bucket has room for it.
func TestWorkOfKafka(t *testing.T) {
	e := newKafka()
	begin := e.clock.start.Add(time.Minute)
	give(t, e, "user=u, client-id=c", kafka.RequestPercentage, 1)
	c := e.Client("u", "c")
	for i := range 10 {
		if got := c.Work(4*ms, begin.Add(time.Duration(i)*time.Second)); got.Muted() {
			t.Errorf("second %d: %d ms", i, got.Millis())
		}
	}
	if got := c.Work(67100*time.Microsecond, begin.Add(10500*ms)); got.Muted() {
		t.Errorf("67.1 ms: %d ms", got.Millis())
	}
	for range 3 {
		if got := c.Work(500*ms, begin.Add(11*time.Second)); got.Millis() != 1000 {
			t.Errorf("a spike: %d ms", got.Millis())
		}
	}
}

// TestWorkRate: many connections whose work is short for their quota are held
// to it, over the levels.
func TestWorkRate(t *testing.T) {
	for _, entity := range levelEntities {
		t.Run(entity, func(t *testing.T) {
			l := newKafkaLoad(t, entity, kafka.RequestPercentage, 20, 10)
			for conn := range l.perConn {
				c := l.enforcer.Client("u", "c")
				var request func()
				request = func() {
					th := c.Work(5*ms, l.now)
					l.answer(conn, int(5*ms), th)
					l.rest(conn, c, th, 100*time.Microsecond, request)
				}
				l.after(time.Duration(conn), request)
			}
			if got := measure(l, 20*percent, int(5*ms)) / (20 * percent); got < 0.99 || got > 1.01 {
				t.Errorf("%.4f of the quota, want it within 1 %%", got)
			}
		})
	}
}

// TestLarger holds T35: one throttle, the larger, of the work when they are
// equal; decisions are counted by both quotas, the announcement by one.
func TestLarger(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	for key, v := range map[string]float64{kafka.ProducerByteRate: 1000, kafka.RequestPercentage: 100, kafka.ControllerMutationRate: 1000} {
		giveAt(t, e, now, "user=u", key, v)
	}
	c := e.Client("u", "c")
	bytes, work := c.Charge(Produce, 12000, now), c.Work(10*time.Second+500*ms, now)
	partitions, _ := c.Mutate(11500, false, now)
	if got := Larger(bytes, work); got != bytes {
		t.Errorf("got %d ms", got.Millis())
	}
	if got := Larger(partitions, work); got != work {
		t.Error("of equal throttles not that of the work is told")
	}
	if got := Larger(Throttle{}, work); got != work {
		t.Error("no throttle is larger than one")
	}
	if Larger(Throttle{}, Throttle{}).Muted() {
		t.Error("nothing is something")
	}
	c.Mute(Larger(bytes, work)).Done()
	a := e.accounts.get(kafka.UserEntity("u"))
	for k, want := range map[Kind]int64{Produce: 1, Request: 0, Mutation: 0} {
		got := a.buckets[k].totals()
		if got.denied != 1 || got.throttled != want || got.checks != 1 {
			t.Errorf("%v: %+v, want one decision and %d announcements", k, got, want)
		}
	}
}
