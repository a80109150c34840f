package segment

import (
	"errors"
	"fmt"
	"path"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage/vfs"
)

// keepAtMost is how many of the bytes that are cut off are kept.
const keepAtMost = 64 << 20

// cut ends the log at pos of segment i: what follows is kept beside it where
// it holds anything, and goes.
func (r *recovery) cut(i int, pos int64, reason error) error {
	seg := r.list[i]
	if r.l.cfg.Load().Strict {
		good, err := r.goodBehind(i, pos)
		if err != nil {
			return err
		}
		if good {
			return damaged(seg.path+logSuffix, pos, r.end, reason)
		}
		if err := r.complete(); err != nil { // before a byte is cut
			return err
		}
	}
	lost := seg.size.Load() - pos
	kept, err := r.keep(seg, pos)
	if err != nil {
		return err
	}
	for _, s := range r.list[i+1:] {
		lost += s.size.Load()
	}
	if err := r.drop(i+1, true); err != nil {
		return err
	}
	if err := r.truncate(seg, pos); err != nil {
		return err
	}
	if lost > 0 {
		r.l.store.metrics.errors.WithLabelValues("cut").Inc()
		r.l.logger().Warn("bytes behind the last good batch are cut off", zap.String("segment", seg.path+logSuffix), zap.Int64("position", pos),
			zap.Int64("offset", r.end), zap.Int64("bytes", lost), zap.String("kept", kept), zap.Error(reason))
	}
	return nil
}

// truncate makes seg the last segment, ending at pos.
func (r *recovery) truncate(seg *segment, pos int64) error {
	file, err := seg.acquire()
	if err != nil {
		return err
	}
	defer seg.release()
	if err := file.Truncate(pos); err != nil {
		return err
	}
	seg.size.Store(pos)
	seg.next.Store(r.end)
	r.unpend(seg)
	if seg.live == nil {
		seg.live = newIndex(seg.base)
	}
	for _, suffix := range []string{indexSuffix, timeSuffix} {
		if err := r.fs.Remove(seg.path + suffix); err != nil && !missing(err) {
			return err
		}
	}
	for _, offset := range r.snaps {
		if offset > r.end {
			if err := r.fs.Remove(path.Join(r.dir, baseName(offset)+snapshotSuffix)); err != nil && !missing(err) {
				return err
			}
		}
	}
	r.st.names = true
	return nil
}

// unpend takes a segment off the list of the sealed: it is the active one now.
func (r *recovery) unpend(seg *segment) {
	if n := len(r.st.pending); n > 0 && r.st.pending[n-1].seg == seg {
		r.st.pending = r.st.pending[:n-1]
	}
}

// drop takes the segments from i on out of the log, the last one first, so
// that a crash in between leaves no gap. If asked, their bytes are kept under
// another name.
func (r *recovery) drop(i int, keep bool) error {
	for n := len(r.list) - 1; n >= i; n-- {
		seg := r.list[n]
		zeros, err := r.zeros(seg, 0)
		if err != nil {
			return err
		}
		if keep && !zeros {
			if err := r.fs.Rename(seg.path+logSuffix, seg.path+".0"+cutSuffix); err != nil {
				return err
			}
		}
		seg.kill()
		if err := seg.unlink(); err != nil {
			return err
		}
		r.list = r.list[:n]
		r.unpend(seg)
		r.st.names = true
	}
	return nil
}

// keep writes what lies behind pos to a file of its own, unless it is all
// zeros, and gives its name.
func (r *recovery) keep(seg *segment, pos int64) (string, error) {
	zeros, err := r.zeros(seg, pos)
	if err != nil || zeros {
		return "", err
	}
	file, err := seg.acquire()
	if err != nil {
		return "", err
	}
	defer seg.release()
	tail := make([]byte, min(seg.size.Load()-pos, keepAtMost))
	if _, err := readFull(file, tail, pos); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s.%d%s", seg.path, pos, cutSuffix)
	err = vfs.WriteFile(r.fs, name, tail)
	if errors.Is(err, vfs.ErrFull) { // better without them than without the partition
		return "", r.fs.Remove(name + ".tmp")
	}
	return name, err
}

// zeros says whether nothing but zeros lies from pos on.
func (r *recovery) zeros(seg *segment, pos int64) (bool, error) {
	file, err := seg.acquire()
	if err != nil {
		return false, err
	}
	defer seg.release()
	buf := pieces.Get().(*[piece]byte)
	defer pieces.Put(buf)
	for size := seg.size.Load(); pos < size; {
		part := buf[:min(piece, size-pos)]
		if _, err := readFull(file, part, pos); err != nil {
			return false, err
		}
		for _, b := range part {
			if b != 0 {
				return false, nil
			}
		}
		pos += int64(len(part))
	}
	return true, nil
}

// goodBehind looks for a whole good batch behind a damaged one, at every byte:
// then the damage is not the torn end of the last write.
func (r *recovery) goodBehind(i int, pos int64) (bool, error) {
	for n, seg := range r.list[i:] {
		file, err := seg.acquire()
		if err != nil {
			return false, err
		}
		data := make([]byte, seg.size.Load())
		_, err = readFull(file, data, 0)
		seg.release()
		if err != nil {
			return false, err
		}
		if n == 0 {
			data = data[min(pos+1, int64(len(data))):]
		}
		if holdsBatch(data, r.end) {
			return true, nil
		}
	}
	return false, nil
}

// holdsBatch says whether a good batch of an offset from first on begins
// anywhere in data.
func holdsBatch(data []byte, first int64) bool {
	for at := 0; at+record.HeaderSize <= len(data); at++ {
		b := record.Batch(data[at:])
		if b.Magic() != record.Magic2 || b.BaseOffset() < first || b.Size() > int64(len(b)) || b.Size() < record.HeaderSize {
			continue
		}
		if b[:b.Size()].Check() == nil {
			return true
		}
	}
	return false
}
