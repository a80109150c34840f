package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRestsWhileManyLeave: there is a rest after some that leave, and none where a quarter
// as many come.
func TestRestsWhileManyLeave(t *testing.T) {
	const (
		many = 10 * closingView
		all  = (many - closingView + closingTurn) / closingTurn * closingRest
	)
	for name, c := range map[string]struct {
		each uint64 // after so many that leave somebody comes
		want time.Duration
	}{"nobody comes": {many, all}, "few come": {5, all}, "a quarter comes": {4, 0}, "as many come": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left closings
				began := time.Now()
				for i := range uint64(many) {
					left.rest((i + 1) / c.each)
				}
				if got := time.Since(began); got != c.want {
					t.Errorf("rested for %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestNoRestsInAStop: who stops waits for nobody's rest.
func TestNoRestsInAStop(t *testing.T) {
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		r.closing.calm.Store(true)
		for range closingTurn {
			r.pipe()
		}
		synctest.Wait()
		began := time.Now()
		r.end()
		if took := time.Since(began); took != 0 {
			t.Errorf("a stop took %v", took)
		}
	})
}
