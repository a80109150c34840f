package group

import (
	"container/heap"
	"sync"
	"time"
)

// timers say which group is to be woken when: one entry for each group that
// wants to be, the earliest on top.
type timers struct {
	mu   sync.Mutex
	heap alarms
	soon chan struct{} // holds a token when the earliest has changed
}

func newTimers() *timers { return &timers{soon: make(chan struct{}, 1)} }

// set has a group woken at a time; zero: never. The group's lock is held.
func (t *timers) set(g *group, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case at.Equal(g.alarm):
		return
	case at.IsZero():
		heap.Remove(&t.heap, g.place)
		g.alarm = at
		return
	case g.alarm.IsZero():
		g.alarm = at
		heap.Push(&t.heap, g)
	default:
		g.alarm = at
		heap.Fix(&t.heap, g.place)
	}
	if g.place == 0 {
		select {
		case t.soon <- struct{}{}:
		default:
		}
	}
}

// take gives the groups whose time has come, and how long it is until the
// next.
func (t *timers) take(now time.Time) (due []*group, next time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.heap) > 0 && !now.Before(t.heap[0].alarm) {
		g := heap.Pop(&t.heap).(*group)
		g.alarm = time.Time{}
		due = append(due, g)
	}
	if len(t.heap) == 0 {
		return due, time.Hour
	}
	return due, t.heap[0].alarm.Sub(now)
}

// alarms is a heap of groups by their alarm, each of which knows its place.
type alarms []*group

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].alarm.Before(a[j].alarm) }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push is heap.Interface's.
func (a *alarms) Push(x any) {
	g := x.(*group)
	g.place = len(*a)
	*a = append(*a, g)
}

// Pop is heap.Interface's.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	g := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return g
}
