package server

import "time"

// The most that a call on a socket counts as work, besides its bytes. A call is
// timed from outside, where work and waiting for the peer look the same. Most
// reads wait, so they count as much as one that finds its bytes costs: 1 to
// 10 us, and 0.05 ns a byte on loopback. Writes seldom wait; theirs only has to
// be above what they cost: 5 to 20 us, and 0.3 ns a byte.
const (
	readWork  = 5 * time.Microsecond
	writeWork = 25 * time.Microsecond
	byteWork  = time.Nanosecond
)

// mostWork is the most that a call for so many bytes counts.
func mostWork(call time.Duration, bytes int) time.Duration {
	return call + time.Duration(bytes)*byteWork
}
