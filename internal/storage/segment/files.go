package segment

import (
	"sync"
	"sync/atomic"

	"kaasd/internal/storage/vfs"
)

// maxTries bounds the search for a file to close when most are in use: then
// there are more open for a while.
const maxTries = 64

// files keeps the number of open segment files at a bound: one that nobody
// uses is closed when another is opened beyond it, second chance first.
type files struct {
	fs   vfs.FS
	max  int
	most int // with so many open, those who open more see to it that others can be closed; 0: no bound

	n    atomic.Int64 // len(open)
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
	f.n.Store(int64(len(f.open)))
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

// crowded says whether so many are open, idle or not, that connections may be
// short of descriptors.
func (f *files) crowded() bool { return f.most > 0 && f.n.Load() >= int64(f.most) }

// shed closes s if nobody uses it.
func (f *files) shed(s *segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.slot >= 0 && s.closeIdle() {
		f.remove(s)
	}
}

// trim closes what is open beyond the bound, as far as it is idle: what had to be
// synced first could not be closed when others were opened.
func (f *files) trim() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.open) - 1; i >= 0 && len(f.open) > f.max; i-- {
		if c := f.open[i]; c.closeIdle() {
			f.remove(c)
		}
	}
}

// spare closes one that nobody uses and says whether there was any.
func (f *files) spare() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tries := min(len(f.open), maxTries); tries > 0; tries-- {
		f.hand = (f.hand + 1) % len(f.open)
		if c := f.open[f.hand]; c.closeIdle() {
			f.remove(c)
			return true
		}
	}
	return false
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
	f.n.Store(int64(len(f.open)))
}
