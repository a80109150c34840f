package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAlarm: it rings when it was first set to, and can be set again once it has.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, a := time.Now(), newAlarm()
		for _, want := range []time.Duration{2 * time.Second, 4 * time.Second} {
			a.in(2 * time.Second)
			time.Sleep(time.Second)
			a.in(2 * time.Second)
			<-a.C
			if a.rang(); time.Since(began) != want {
				t.Errorf("it rang after %v, want %v", time.Since(began), want)
			}
		}
	})
}
