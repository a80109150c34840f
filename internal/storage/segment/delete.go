package segment

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// A folder that was deleted waits under this name for its files to be
// unlinked.
const (
	deleteSuffix = "-delete"
	longestName  = 255
)

// Delete takes the log of this life of the topic out of service.
func (s *Store) Delete(tp kafka.TopicPartition, id kafka.TopicID) error {
	s.mu.Lock()
	l := s.logs[tp]
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	l.flushing.Lock() // a sync under way must not write into the next life's folder
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id != id {
		return nil
	}
	dir := path.Join(s.o.Dir, deletedName(tp))
	err := s.o.FS.Rename(l.dir(), dir)
	if err != nil && !missing(err) {
		return l.report("delete", err)
	}
	l.fail(l.errDeleted())
	s.forget(l)
	if l.state != nil {
		l.producers.clear()
	}
	for _, seg := range l.segments() {
		seg.kill()
		s.indexes.drop(seg)
	}
	if err == nil && s.begin() {
		go s.trash(dir)
	}
	return nil
}

func (s *Store) forget(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[l.tp] == l {
		delete(s.logs, l.tp)
	}
	delete(s.dirty, l)
	s.outdated()
}

// deletedName is <topic>-<partition>.<uuid>-delete, the topic shortened if it
// must be.
func deletedName(tp kafka.TopicPartition) string {
	var id [16]byte
	rand.Read(id[:])
	tail := "." + hex.EncodeToString(id[:]) + deleteSuffix
	name := tp.String()
	return name[:min(len(name), longestName-len(tail))] + tail
}

// trash unlinks the files of a deleted folder, one at a time and not in a
// hurry; a stop ends it, and the next start goes on.
func (s *Store) trash(dir string) {
	defer s.ended()
	names, err := s.o.FS.ReadDir(dir)
	for errors.Is(err, vfs.ErrDescriptors) {
		s.tellShort(err)
		select {
		case <-time.After(time.Second):
		case <-s.stopped:
			return
		}
		names, err = s.o.FS.ReadDir(dir)
	}
	for _, name := range names {
		if s.isClosing() {
			return
		}
		if err == nil {
			err = s.o.FS.Remove(path.Join(dir, name))
		}
	}
	if err == nil {
		err = s.o.FS.Remove(dir)
	}
	if err != nil && !missing(err) {
		s.log.Warn("deleted folder stays for now", zap.String("folder", dir), zap.Error(err))
	}
}

func (s *Store) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// sweep goes on with the deletions of an earlier run.
func (s *Store) sweep() {
	names, err := s.o.FS.ReadDir(s.o.Dir)
	if err != nil {
		s.log.Warn("list data folder", zap.Error(err))
	}
	for _, name := range names {
		if strings.HasSuffix(name, deleteSuffix) && strings.Contains(name, ".") && s.begin() {
			s.trash(path.Join(s.o.Dir, name))
		}
	}
}
