package segment

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"go.uber.org/zap"

	"kaasd/internal/storage/vfs"
)

// inventory lists the folder and holds the topic id against the log's.
func (r *recovery) inventory() error {
	names, err := r.fs.ReadDir(r.dir)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if base, ok := parseBase(name, logSuffix); ok {
			r.bases = append(r.bases, base)
		}
		if offset, ok := parseBase(name, snapshotSuffix); ok {
			r.snaps = append(r.snaps, offset)
		}
	}
	id, err := readMetadata(r.fs, r.dir)
	if err != nil {
		return err
	}
	r.st.folder = !id.IsZero()
	switch {
	case r.l.id.IsZero():
		r.l.id = id
	case !id.IsZero() && id != r.l.id:
		return fmt.Errorf("folder %s belongs to topic id %s, not to %s", r.dir, id, r.l.id)
	}
	return nil
}

// measure makes the segments and decides what must be checked.
func (r *recovery) measure() error {
	for i, base := range r.bases {
		seg := r.l.store.newSegment(r.dir, base)
		size, err := r.fs.Stat(seg.path + logSuffix)
		if err != nil {
			return err
		}
		seg.size.Store(size)
		if i+1 < len(r.bases) {
			seg.next.Store(r.bases[i+1])
		}
		r.list = append(r.list, seg)
	}
	m := r.l.mark
	strict := r.l.cfg.Load().Strict
	switch {
	case m == nil || strict:
	case m.matches(r):
		r.trusted, r.from = true, m.end
	default:
		r.from = m.recovery
	}
	if m != nil {
		r.noteMissing(m)
	}
	return nil
}

// noteMissing tells of segments that the checkpoint knows and nobody finds.
func (r *recovery) noteMissing(m *mark) {
	for _, base := range m.bases {
		if !slices.Contains(r.bases, base) && (len(r.bases) == 0 || base > r.bases[0]) {
			r.gap(base, "segment is missing: its records are lost")
		}
	}
}

func (r *recovery) gap(base int64, text string) {
	r.l.store.metrics.errors.WithLabelValues("gap").Inc()
	r.l.logger().Error(text, zap.String("segment", path.Join(r.dir, baseName(base)+logSuffix)))
}

// readEpochs reads the epochs as far as they are sure. Without the file all
// batches have to tell.
func (r *recovery) readEpochs() error {
	raw, err := vfs.ReadFile(r.fs, path.Join(r.dir, epochFile), smallFile)
	if err == nil {
		r.epochs, err = decodeEpochs(raw)
	}
	if errors.Is(err, vfs.ErrDescriptors) {
		return err
	}
	if err != nil && !missing(err) {
		r.l.logger().Warn("the epochs are read from the batches anew", zap.Error(err))
	}
	if err != nil {
		r.trusted, r.from, r.epochs = false, 0, nil
	}
	r.epochs = r.epochs.until(r.from)
	return nil
}

// readProducers takes the newest usable snapshot that is not in doubt.
func (r *recovery) readProducers() error {
	for _, offset := range slices.Backward(r.snaps) {
		if offset > r.from || len(r.bases) == 0 || offset < r.bases[0] {
			continue
		}
		raw, err := vfs.ReadFile(r.fs, path.Join(r.dir, baseName(offset)+snapshotSuffix), 1<<30)
		if err != nil {
			return err
		}
		if list, err := decodeProducers(raw, r.now.UnixMilli()); err == nil {
			r.st.producers.restore(list)
			r.replay = offset
			return nil
		}
		r.l.logger().Warn("a producer snapshot is damaged: older ones and the log are read", zap.Int64("offset", offset))
	}
	return nil
}
