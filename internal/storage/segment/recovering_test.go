package segment

import (
	"sync"
	"testing"
)

func TestRecoveringIsTold(t *testing.T) {
	o := killed(t)
	var mu sync.Mutex
	var told []Recovery
	o.Recovering = func(r Recovery) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r)
	}
	s := openStore(t, o)
	want := Recovery{Done: 0, Total: 1, Reading: "orders-0"}
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %v after a kill, want one %v", told, want)
	}
	told = nil
	stop(t, s)
	openStore(t, o)
	if len(told) != 0 {
		t.Errorf("told %v after a clean stop, want nothing", told)
	}
}
