package server

import "time"

// alarm is a timer that is set once until it has rung.
type alarm struct {
	*time.Timer
	set bool
}

func newAlarm() *alarm {
	a := &alarm{Timer: time.NewTimer(time.Hour)}
	a.Stop()
	return a
}

func (a *alarm) in(d time.Duration) {
	if !a.set {
		a.set = true
		a.Reset(d)
	}
}

func (a *alarm) rang() { a.set = false }
