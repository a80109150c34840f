package quota

import (
	"container/heap"
	"fmt"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// load drives connections of one user in virtual time: nobody sleeps, the
// next event is simply taken from a queue.
type load struct {
	enforcer *Enforcer
	begin    time.Time
	burst    float64 // seconds' worth
	now      time.Time
	queue    events

	charged  int64
	answers  int           // with data
	empties  int           // throttled fetches
	paid     time.Time     // of the last answer, with its throttle
	perConn  []int64       // bytes
	muted    []bool        // was throttled once
	unmuted  int           // connections that were not
	longest  int32         // throttle, in milliseconds
	lateness time.Duration // of every wake
	shift    int           // connections of earlier shifts send nothing more
}

type event struct {
	at    time.Time
	order int
	do    func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].order < q[j].order
	}
	return q[i].at.Before(q[j].at)
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

func newLoad(rate float64, conns int) *load {
	e := New(UserModel(), DefaultOptions(), zap.NewNop(), nil)
	e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: rate, kafka.ConsumerByteRate: rate}})
	// A bucket is full whenever the first one comes.
	begin := e.clock.start.Add(time.Hour)
	return &load{
		enforcer: e, begin: begin, now: begin, burst: 1,
		perConn: make([]int64, conns), muted: make([]bool, conns), unmuted: conns,
	}
}

func (l *load) after(d time.Duration, do func()) {
	heap.Push(&l.queue, event{at: l.now.Add(d), order: l.answers + l.empties, do: do})
}

// run goes on until done.
func (l *load) run(done func() bool) {
	for !done() {
		next := heap.Pop(&l.queue).(event)
		l.now = next.at
		next.do()
	}
}

// produce sends requests of size as fast as it is let, each served in service.
func (l *load) produce(size int, service time.Duration) {
	for conn := range l.perConn {
		c := l.enforcer.Client("u", "c")
		var request func()
		request = func() {
			t := c.Charge(Produce, size, l.now)
			l.answer(conn, size, t)
			l.rest(conn, c, t, service, request)
		}
		l.after(time.Duration(conn)*time.Nanosecond, request)
	}
}

// fetch asks for want bytes at a time of a log of batches of that size; each
// answer takes service to read and adds a header. The connections come one after
// the other.
func (l *load) fetch(batch, want int, service time.Duration) {
	const header = 70
	for conn := range l.perConn {
		c, shift := l.enforcer.Client("u", "c"), l.shift
		var request func()
		request = func() {
			if shift != l.shift {
				return
			}
			g := c.Take(Fetch, want, l.now)
			if g.Throttle.Muted() {
				l.empties++
				l.rest(conn, c, g.Throttle, service, request)
				return
			}
			l.after(service, func() {
				used := max(min(g.Bytes, want)/batch, 1)*batch + header
				t := g.Settle(used, l.now)
				l.answer(conn, used, t)
				l.rest(conn, c, t, 0, request)
			})
		}
		l.after(time.Duration(conn)*(service+1), request)
	}
}

func (l *load) answer(conn, bytes int, t Throttle) {
	l.answers++
	l.charged += int64(bytes)
	l.perConn[conn] += int64(bytes)
	l.paid = l.now.Add(time.Duration(t.wait() >> tickShift))
}

// rest waits until the connection may send its next request.
func (l *load) rest(conn int, c *Client, t Throttle, service time.Duration, next func()) {
	if !t.Muted() {
		l.after(service, next)
		return
	}
	if t.wait() < msTicks || t.Millis() < 1 {
		panic(fmt.Sprintf("a mute of %d ticks was announced", t.wait()))
	}
	if !l.muted[conn] {
		l.muted[conn] = true
		l.unmuted--
	}
	l.longest = max(l.longest, t.Millis())
	m := c.Mute(t)
	l.after(m.Remaining(l.now)+l.lateness+service, func() {
		m.Done()
		next()
	})
}

// turnAway is the mute of a fetch that comes while the bucket is in debt.
func (l *load) turnAway(clientID string) *Mute {
	c := l.enforcer.Client("u", clientID)
	return c.Mute(c.Take(Fetch, mB, l.now).Throttle)
}
