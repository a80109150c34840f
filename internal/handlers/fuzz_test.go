package handlers

import (
	"testing"

	"kaasd/internal/codec/message"
)

// FuzzSession lets a stranger send two frames on a connection, on both kinds of
// listener: whatever they hold, nothing panics and nobody is logged in.
func FuzzSession(f *testing.F) {
	seeds := &peer{t: new(testing.T), clientID: "fuzz"}
	for _, api := range message.APIs() {
		for _, version := range []int16{api.Min, api.Max} {
			f.Add(seeds.frame(api.Key, version, api.NewRequest()), versionsFrame(9, 1), version%2 == 0)
		}
	}
	f.Add([]byte{0, 17, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 5, 'P', 'L', 'A', 'I', 'N'}, []byte("\x00alice\x00wrong"), true)
	f.Fuzz(func(t *testing.T, first, second []byte, sasl bool) {
		r := newRig(t, withUsers)
		listener := plainListener
		if sasl {
			listener = saslListener
		}
		c := r.connect(listener)
		for _, frame := range [][]byte{first, second} {
			if _, err := c.exchange(frame); err != nil || c.last.Close {
				break
			}
		}
		c.session.End()
		if panics := r.lines.FilterMessage("request panicked").All(); len(panics) > 0 {
			t.Errorf("panicked: %v", panics[0].ContextMap())
		}
		if user, ok := LoggedIn(c.session); ok && user != "alice" {
			t.Errorf("%q is logged in", user)
		}
	})
}
