package segment

import (
	"fmt"
	"sync/atomic"
	"time"

	"kaasd/internal/storage/vfs"
)

// lookInterval is how old the last look at the free room may be.
const lookInterval = time.Second

// disk knows how much may still be written before the reserve is touched. It
// looks once per second and counts in between.
type disk struct {
	fs      vfs.FS
	dir     string
	reserve int64
	left    atomic.Int64
	looked  atomic.Int64 // unix ns; 0: never
}

// take asks for room for n bytes. Privileged logs may use the reserve.
func (d *disk) take(n int64, now time.Time, privileged bool) error {
	if privileged {
		return nil
	}
	at := d.looked.Load()
	if now.UnixNano()-at >= int64(lookInterval) || now.UnixNano() < at {
		d.look(now)
	}
	if d.left.Add(-n) >= 0 {
		return nil
	}
	d.look(now)
	if left := d.left.Add(-n); left < 0 {
		return &noRoom{free: left + n + d.reserve, reserve: d.reserve, need: n}
	}
	return nil
}

// noRoom is a write that would touch the reserve.
type noRoom struct{ free, reserve, need int64 } // bytes

// Error tells all three.
func (e *noRoom) Error() string {
	return fmt.Sprintf("%d bytes are needed, %d are free, log.disk.reserve=%d stays free", e.need, e.free, e.reserve)
}

// Unwrap is what it is to callers: a full disk.
func (e *noRoom) Unwrap() error { return vfs.ErrFull }

// look reads how much is free; when that can not be told, nothing is held back.
func (d *disk) look(now time.Time) {
	d.looked.Store(now.UnixNano())
	free, err := d.fs.Free(d.dir)
	if err != nil {
		free = d.reserve + 1<<40
	}
	d.left.Store(free - d.reserve)
}
