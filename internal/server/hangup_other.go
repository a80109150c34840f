//go:build !linux

package server

// hangups hears of nothing here: the lookout peeks instead.
type hangups struct{}

func newHangups() *hangups                    { return nil }
func (h *hangups) watch(*conn) bool           { return false }
func (h *hangups) heard(to []uint64) []uint64 { return to }
func (h *hangups) close()                     {}

// hungUp cannot be told here: what waits in the socket hides an end of file
// behind it until it is read.
func (c *conn) hungUp() bool { return false }
