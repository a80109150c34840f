package quota

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"kaasd/internal/kafka"
)

// A connection at rest does not keep the limits that were in force since it was
// throttled, nor does one whose mute lasts.
func TestOldLimitsAreForgotten(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	rate := func(v float64) {
		giveAt(t, e, now, "user=u", kafka.ProducerByteRate, v)
		giveAt(t, e, now, "user=u", kafka.ConsumerByteRate, v)
	}
	rate(1000)
	rested, muted := e.Client("u", "c"), e.Client("u", "d")
	rested.Mute(rested.Charge(Produce, 100_000, now)).Done()
	rested.Take(Fetch, 10, now).Settle(100_000, now)
	rested.Mute(rested.Take(Fetch, 10, now).Throttle).Done() // it has a turn
	m := muted.Mute(muted.Charge(Produce, 100_000, now))
	var old []weak.Pointer[limit]
	for i := range 50 {
		for _, k := range []Kind{Produce, Fetch} {
			old = append(old, weak.Make(rested.bucket(k).limit.Load()))
		}
		rate(999 - float64(i))
		m.Remaining(now) // it has been woken
	}
	runtime.GC()
	kept := 0
	for _, l := range old {
		if l.Value() != nil {
			kept++
		}
	}
	if kept != 0 {
		t.Errorf("%d of %d old limits are kept", kept, len(old))
	}
	if rested.turn.limit == 0 || m.Remaining(now) <= 0 {
		t.Error("there was no turn or no mute")
	}
	runtime.KeepAlive(rested)
	runtime.KeepAlive(m)
}
