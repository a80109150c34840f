package quota

import (
	"net/netip"
	"time"
)

// Admission is what becomes of a new connection. One that is refused is held
// unread for Wait and closed; else the acceptor pauses for Wait, and serves it.
type Admission struct {
	Wait    time.Duration
	Refused bool
}

// Admit judges a connection that peer has just opened on a listener.
func (e *Enforcer) Admit(listener string, peer netip.Addr, now time.Time) Admission {
	return Admission{}
}

// SetConnectionRates sets how many connections a second the broker and each
// listener accept; 0 and 2147483647 are no limit.
func (e *Enforcer) SetConnectionRates(broker float64, listeners map[string]float64) {}
