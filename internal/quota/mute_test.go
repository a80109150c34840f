package quota

import (
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// wait is a muted connection, as the server mutes it.
func wait(m *Mute) {
	defer m.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		left := m.Remaining(time.Now())
		if left <= 0 {
			return
		}
		timer.Reset(left)
		select {
		case <-timer.C:
		case <-m.Changed():
		}
	}
}

func TestMute(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *Enforcer)
		want   time.Duration
	}{
		{"unchanged", func(*Enforcer) {}, 10 * time.Second},
		{"raised", func(e *Enforcer) { alterAt(e, time.Now(), set(kafka.ProducerByteRate, 4000)) }, 4 * time.Second},
		{"raised by the file", func(e *Enforcer) { e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 4000}}) }, 4 * time.Second},
		{"lowered", func(e *Enforcer) { alterAt(e, time.Now(), set(kafka.ProducerByteRate, 100)) }, 10 * time.Second},
		{"lowered and raised to what it was", func(e *Enforcer) {
			alterAt(e, time.Now(), set(kafka.ProducerByteRate, 100))
			alterAt(e, time.Now(), set(kafka.ProducerByteRate, 1000))
		}, 10 * time.Second},
		{"lowered, then raised", func(e *Enforcer) {
			alterAt(e, time.Now(), set(kafka.ProducerByteRate, 100))
			alterAt(e, time.Now(), set(kafka.ProducerByteRate, 8000))
		}, 3 * time.Second},
		{"removed", func(e *Enforcer) { e.SetBase(nil) }, 2 * time.Second},
		{"removed and set low", func(e *Enforcer) {
			e.SetBase(nil)
			e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1}})
		}, 2 * time.Second},
		{"the other direction", func(e *Enforcer) { alterAt(e, time.Now(), set(kafka.ConsumerByteRate, 1e9)) }, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnforcer()
				e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1000}})
				begin := time.Now()
				client := e.Client("u", "")
				m := client.Mute(client.Charge(Produce, 11000, begin))
				go func() {
					<-time.After(2 * time.Second)
					c.change(e)
				}()
				if got := e.meters[Produce].mutes.count(); got != 1 {
					t.Errorf("%d connections muted, want 1", got)
				}
				wait(m)
				m.Done()
				if got := time.Since(begin); got < c.want || got > c.want+time.Microsecond {
					t.Errorf("muted for %v, want %v", got, c.want)
				}
				if got := e.meters[Produce].mutes.count(); got != 0 {
					t.Errorf("%d connections muted after the end, want 0", got)
				}
				<-time.After(3 * time.Second)
			})
		})
	}
}

// TestRemovalFrees: whoever was throttled runs free at once when its quota
// goes.
func TestRemovalFrees(t *testing.T) {
	l := newLoad(1000, 0)
	c := l.enforcer.Client("u", "")
	c.Charge(Produce, 1<<20, l.now)
	l.enforcer.SetBase(nil)
	for range 100 {
		if got := c.Charge(Produce, 1<<20, l.now).Millis(); got != 0 {
			t.Fatalf("throttled by %d ms without a quota", got)
		}
	}
}

// TestRaiseShortensTheLine: promised turns come earlier with a higher limit.
func TestRaiseShortensTheLine(t *testing.T) {
	l := newLoad(mB, 0)
	l.enforcer.Client("u", "").Take(Fetch, 11*mB, l.now).Settle(11*mB, l.now)
	var mutes []*Mute
	for range 5 {
		mutes = append(mutes, l.turnAway(""))
	}
	last := mutes[4].Remaining(l.now)
	alterAt(l.enforcer, l.now, set(kafka.ConsumerByteRate, 100*mB))
	if got := mutes[4].Remaining(l.now); got > last/99 {
		t.Errorf("the last one waits %v of %v", got, last)
	}
	const line = 76 * time.Second // the debt, and the turns until the next one is over
	if next := l.turnAway("").Remaining(l.now); next < line/101 || next > line/99 {
		t.Errorf("the next one waits %v, at the limit before it would have been %v", next, line)
	}
}
