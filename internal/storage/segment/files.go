package segment

import (
	"sync"

	"kaasd/internal/storage/vfs"
)

// maxTries bounds the search for a file to close when most are in use: then
// there are more open for a while.
const maxTries = 64

// files keeps the number of open segment files at a bound: one that nobody
// uses is closed when another is opened beyond it, second chance first.
type files struct {
	fs  vfs.FS
	max int

	mu   sync.Mutex
	open []*segment // each knows its slot
	hand int
}

// opened notes that s has a file now, and closes others.
func (f *files) opened(s *segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.slot >= 0 {
		return
	}
	s.slot = len(f.open)
	f.open = append(f.open, s)
	for tries := min(2*len(f.open), maxTries); len(f.open) > f.max && tries > 0; tries-- {
		f.hand = (f.hand + 1) % len(f.open)
		if c := f.open[f.hand]; c != s && !c.used.Swap(false) && c.closeIdle() {
			f.remove(c)
		}
	}
}

// closed notes that s has no file any more.
func (f *files) closed(s *segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.slot >= 0 {
		f.remove(s)
	}
}

// sweep closes what was not used since the sweep before.
func (f *files) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.open) - 1; i >= 0; i-- {
		if c := f.open[i]; !c.used.Swap(false) && c.closeIdle() {
			f.remove(c)
		}
	}
}

// remove needs mu.
func (f *files) remove(s *segment) {
	last := f.open[len(f.open)-1]
	f.open[s.slot] = last
	last.slot = s.slot
	f.open = f.open[:len(f.open)-1]
	s.slot = -1
}
