package segment

import "path"

// trust makes the checkpoint's word the marks of a log that is not loaded.
func (l *Log) trust(m *mark) {
	l.start.Store(m.start)
	l.end.Store(m.end)
	l.hw.Store(m.end)
	l.known.Store(true)
}

// marked is what the checkpoint is to say about the log; nil: nothing.
func (l *Log) marked() *mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return l.mark
	}
	list := l.segments()
	if len(list) == 0 {
		return nil
	}
	m := &mark{
		id: l.id, tp: l.tp, start: l.start.Load(), recovery: l.recovery, end: l.end.Load(), epoch: l.epoch,
		size: list[len(list)-1].size.Load(), bytes: sizeOf(list), oldest: -1,
	}
	if ts := list[0].maxTS.Load(); ts != noTime {
		m.oldest = ts
	}
	for _, s := range list {
		m.bases = append(m.bases, s.base)
	}
	return m
}

// matches says whether the folder is as the checkpoint says: the same
// segments, the active one as long, the start not moved since, and everything
// synced.
func (m *mark) matches(r *recovery) bool {
	if m == nil || !m.settled() || len(m.bases) != len(r.bases) || len(r.bases) == 0 {
		return false
	}
	for i := range m.bases {
		if m.bases[i] != r.bases[i] {
			return false
		}
	}
	if start, err := readStart(r.fs, r.dir); err != nil || start > m.start {
		return false
	}
	size, err := r.fs.Stat(path.Join(r.dir, baseName(r.bases[len(r.bases)-1])+logSuffix))
	return err == nil && size == m.size
}
