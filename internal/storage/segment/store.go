package segment

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// recoverThreads is how many logs are recovered at once.
const recoverThreads = 4

// errStopped is the answer after Run has ended.
var errStopped = kafka.Errorf(kafka.KafkaStorageError, "the broker is stopping")

// Store is the logs of one data folder.
type Store struct {
	o       Options
	log     *zap.Logger
	metrics *metrics
	lock    io.Closer

	clusterID string
	epoch     int32
	fresh     bool
	clean     bool // the last stop was one

	files   *files
	indexes *indexCache
	census  *census
	disk    *disk
	syncs   chan struct{} // bounds syncs at once
	cold    chan struct{} // bounds reads of old segments at once
	relief  chan struct{} // bounds syncs that set descriptors free
	stale   chan struct{} // the checkpoint is out of date

	broken  atomic.Pointer[failure] // the first promise broken
	short   shortage
	stopped chan struct{} // closed when nothing is served any more

	mu      sync.Mutex
	logs    map[kafka.TopicPartition]*Log
	dirty   map[*Log]struct{}              // grew since the last look
	lost    map[kafka.TopicPartition]*mark // the checkpoint knows them, and there is no folder
	closing bool
	work    sync.WaitGroup // committers and deletions
}

// The guard of the contract.
var _ storage.Store = (*Store)(nil)

// Open takes a data folder, makes it when it is not there, and recovers its
// logs when the last stop was not clean.
func Open(o Options, log *zap.Logger, reg prometheus.Registerer) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := newStore(o, log)
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("make data folder %s: %w", o.Dir, err)
	}
	var err error
	if s.lock, err = lockFolder(o.FS, o.Dir); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		s.lock.Close()
		return nil, err
	}
	s.metrics = newMetrics(reg)
	if !s.clean {
		if err := s.recover(); err != nil {
			s.lock.Close()
			return nil, err
		}
	}
	s.warnOfReserve()
	return s, nil
}

func newStore(o Options, log *zap.Logger) *Store {
	open := &files{max: o.MaxOpenSegments, most: o.MostOpenSegments}
	o.FS = thrifty{o.FS, open}
	open.fs = o.FS
	return &Store{
		o:       o,
		log:     log.Named("storage"),
		files:   open,
		indexes: newIndexCache(o.IndexCacheBytes),
		census:  &census{most: o.producers()},
		disk:    &disk{fs: o.FS, dir: o.Dir, reserve: o.DiskReserve},
		syncs:   make(chan struct{}, o.FlushThreads),
		cold:    make(chan struct{}, o.ColdThreads),
		relief:  make(chan struct{}, max(o.FlushThreads/4, 1)),
		stale:   make(chan struct{}, 1),
		stopped: make(chan struct{}),
		logs:    map[kafka.TopicPartition]*Log{},
		dirty:   map[*Log]struct{}{},
		lost:    map[kafka.TopicPartition]*mark{},
	}
}

// open reads what the folder says about itself and begins a new epoch.
func (s *Store) open() error {
	marks, err := s.readMarks()
	if err != nil {
		return err
	}
	p, err := s.readProperties()
	if err != nil {
		return err
	}
	for _, m := range marks {
		p.epoch = max(p.epoch, m.epoch)
		l := s.newLog(m.tp, m.id)
		l.mark = m
		s.logs[m.tp] = l
		if s.clean && !s.strict(m.tp) {
			l.trust(m)
		}
	}
	if err := p.raise(time.Now()); err != nil {
		return err
	}
	s.clusterID, s.epoch = p.clusterID, p.epoch
	return s.begun(p)
}

// begun makes the new epoch durable and takes the clean marker away, before
// anything else is written.
func (s *Store) begun(p properties) error {
	fsys, dir := s.o.FS, s.o.Dir
	if err := vfs.WriteFile(fsys, path.Join(dir, propertiesFile), p.encode()); err != nil {
		return fmt.Errorf("write %s: %w", propertiesFile, err)
	}
	if err := fsys.Remove(path.Join(dir, cleanFile)); err != nil && !missing(err) {
		return fmt.Errorf("remove the clean marker: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync data folder %s: %w", dir, err)
	}
	return nil
}

// readMarks reads the checkpoint. A damaged one is as good as none.
func (s *Store) readMarks() ([]*mark, error) {
	s.clean = vfs.Exists(s.o.FS, path.Join(s.o.Dir, cleanFile))
	raw, err := vfs.ReadFile(s.o.FS, path.Join(s.o.Dir, checkpointFile), checkpointLimit)
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read the checkpoint: %w", err)
	}
	if err == nil {
		var marks []*mark
		if marks, err = decodeCheckpoint(raw); err == nil {
			return marks, nil
		}
		s.log.Warn("the checkpoint is of no use: every log is checked from its beginning", zap.Error(err))
	}
	s.clean = false
	return nil, nil
}

// readProperties reads meta.properties and holds it against the options.
func (s *Store) readProperties() (properties, error) {
	raw, err := vfs.ReadFile(s.o.FS, path.Join(s.o.Dir, propertiesFile), smallFile)
	if missing(err) {
		s.fresh = true
		p := properties{clusterID: s.o.ClusterID, nodeID: s.o.NodeID, epoch: -1}
		if p.clusterID == "" {
			p.clusterID = newClusterID()
		}
		return p, nil
	}
	if err != nil {
		return properties{}, fmt.Errorf("read %s: %w", propertiesFile, err)
	}
	p, err := decodeProperties(raw)
	switch {
	case err != nil:
		return p, fmt.Errorf("data folder %s: %w", s.o.Dir, err)
	case p.nodeID != s.o.NodeID:
		return p, fmt.Errorf("data folder %s belongs to node.id %d, not %d", s.o.Dir, p.nodeID, s.o.NodeID)
	case s.o.ClusterID != "" && s.o.ClusterID != p.clusterID:
		return p, fmt.Errorf("data folder %s belongs to cluster.id %s, not %s", s.o.Dir, p.clusterID, s.o.ClusterID)
	}
	return p, nil
}

func (s *Store) strict(tp kafka.TopicPartition) bool {
	return slices.Contains(s.o.StrictTopics, tp.Topic)
}

// recover looks at every folder and recovers what differs from the checkpoint.
func (s *Store) recover() error {
	names, err := s.o.FS.ReadDir(s.o.Dir)
	if err != nil {
		return fmt.Errorf("list data folder %s: %w", s.o.Dir, err)
	}
	begun, found := time.Now(), map[kafka.TopicPartition]bool{}
	var toCheck []*Log
	for _, name := range names {
		tp, ok := parseFolder(name)
		if !ok {
			continue
		}
		found[tp] = true
		l := s.logs[tp]
		if l == nil {
			l = s.newLog(tp, kafka.TopicID{})
			s.logs[tp] = l
		}
		if !s.strict(tp) { // those are for their owner, who gets the error
			toCheck = append(toCheck, l)
		}
	}
	s.check(toCheck)
	if len(found) > 0 {
		s.log.Info("the last stop was not clean: the logs were checked", zap.Int("partitions", len(found)), zap.Duration("took", time.Since(begun)))
	}
	for tp, l := range s.logs {
		if !found[tp] { // deleted since the checkpoint, or taken by a power cut
			delete(s.logs, tp)
			s.lost[tp] = l.mark
		}
	}
	return nil
}

// check recovers logs, some at once, and tells how far it is.
func (s *Store) check(logs []*Log) {
	tell := s.o.Recovering
	if tell == nil {
		tell = func(Recovery) {}
	}
	var done atomic.Int64
	var g errgroup.Group
	g.SetLimit(recoverThreads)
	for _, l := range logs {
		g.Go(func() error {
			tell(Recovery{Done: int(done.Load()), Total: len(logs), Reading: l.tp.String()})
			l.recoverAtStart()
			done.Add(1)
			return nil
		})
	}
	_ = g.Wait() // what is wrong with a log is that log's failure
}

// Open gives the log of a partition.
func (s *Store) Open(tp kafka.TopicPartition, id kafka.TopicID, c storage.Config) (storage.Log, error) {
	for {
		s.mu.Lock()
		l := s.logs[tp]
		if l == nil {
			l = s.newLog(tp, id)
			if m := s.lost[tp]; m != nil && m.id == id {
				l.mark = m // it goes on behind the offsets that were used
			}
			delete(s.lost, tp)
			s.logs[tp] = l
		}
		s.mu.Unlock()
		if err := l.adopt(id); err != nil {
			return nil, err
		}
		if f := l.failed.Load(); f != nil && kafka.CodeOf(f.err) == kafka.UnknownTopicOrPartition {
			continue // deleted under our hands
		}
		l.Configure(c)
		return l, nil
	}
}

// adopt gives an id to a log whose folder does not know its own.
func (l *Log) adopt(id kafka.TopicID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id.IsZero() {
		l.id = id
	}
	if l.id != id {
		return kafka.Errorf(kafka.KafkaStorageError, "the folder of %s belongs to topic id %s, not to %s", l.tp, l.id, id)
	}
	return nil
}

// newLog makes a log that keeps everything until it is configured.
func (s *Store) newLog(tp kafka.TopicPartition, id kafka.TopicID) *Log {
	l := &Log{store: s, tp: tp, id: id}
	l.cfg.Store(&unconfigured)
	return l
}

var unconfigured = storage.Config{SegmentBytes: 1 << 30, IndexIntervalBytes: 4096, RetentionAge: -1, RetentionBytes: -1}

// HighWatermark is that of a log; false: the store does not hold it. Nothing is
// made by asking.
func (s *Store) HighWatermark(tp kafka.TopicPartition, id kafka.TopicID) (int64, bool) {
	s.mu.Lock()
	l := s.logs[tp]
	s.mu.Unlock()
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	same := l.id == id
	l.mu.Unlock()
	return l.Offsets().HighWatermark, same
}

// Partitions lists the logs, sorted.
func (s *Store) Partitions() []storage.Partition {
	var list []storage.Partition
	for _, l := range s.all() {
		l.mu.Lock()
		list = append(list, storage.Partition{TopicPartition: l.tp, ID: l.id})
		l.mu.Unlock()
	}
	return list
}

// all is the logs as of now, sorted by name.
func (s *Store) all() []*Log {
	s.mu.Lock()
	list := make([]*Log, 0, len(s.logs))
	for _, l := range s.logs {
		list = append(list, l)
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *Log) int {
		if c := strings.Compare(a.tp.Topic, b.tp.Topic); c != 0 {
			return c
		}
		return int(a.tp.Partition) - int(b.tp.Partition)
	})
	return list
}

// ClusterID is the folder's, 22 characters of base64 unless it was given.
func (s *Store) ClusterID() string { return s.clusterID }

// Epoch is the leader epoch of this start, that of every log.
func (s *Store) Epoch() int32 { return s.epoch }

// Fresh says whether the folder was made by this start.
func (s *Store) Fresh() bool { return s.fresh }

// Healthy says why a restart would help: the first log that went out of
// service, or nil.
func (s *Store) Healthy() error {
	if f := s.broken.Load(); f != nil {
		return f.err
	}
	return nil
}

// Room is how much is free where the data folder is, and how much of it is
// kept free (log.disk.reserve), in bytes: with less free than that, writes are
// refused.
func (s *Store) Room() (free, reserve int64, err error) {
	free, err = s.o.FS.Free(s.o.Dir)
	return free, s.o.DiskReserve, err
}

// Disk is how large the disk of the data folder is and how much of it is free,
// in bytes.
func (s *Store) Disk() (total, free int64, err error) {
	if total, err = s.o.FS.Total(s.o.Dir); err != nil {
		return 0, 0, err
	}
	free, err = s.o.FS.Free(s.o.Dir)
	return total, free, err
}

// warnOfReserve tells at the start what the first write would.
func (s *Store) warnOfReserve() {
	free, reserve, err := s.Room()
	if err != nil || free >= reserve {
		return
	}
	s.log.Warn("writes will be refused: less space is free than log.disk.reserve keeps (make room on the disk, or lower the reserve)",
		zap.String("dir", s.o.Dir), zap.Int64("free_bytes", free), zap.Int64("reserve_bytes", reserve))
}

func (s *Store) breakDown(tp kafka.TopicPartition, err error) {
	s.broken.CompareAndSwap(nil, &failure{fmt.Errorf("partition %s: %w", tp, err)})
}

// begin counts a goroutine in, unless the store is closing; ended follows.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Store) ended() { s.work.Done() }

// note puts a log on the list of those that grew.
func (s *Store) note(l *Log) {
	if l.noted.Swap(true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[l] = struct{}{}
}

// dirtyOne takes one of those that grew; nil: there is none.
func (s *Store) dirtyOne() *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.dirty {
		l.noted.Store(false)
		delete(s.dirty, l)
		return l
	}
	return nil
}

// outdated asks for a checkpoint soon.
func (s *Store) outdated() {
	select {
	case s.stale <- struct{}{}:
	default:
	}
}

// grown takes the list of those that grew.
func (s *Store) grown() []*Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Log, 0, len(s.dirty))
	for l := range s.dirty {
		l.noted.Store(false)
		list = append(list, l)
	}
	clear(s.dirty)
	return list
}

// checkpoint replaces the checkpoint file.
func (s *Store) checkpoint() error {
	var marks []*mark
	for _, l := range s.all() {
		if m := l.marked(); m != nil {
			marks = append(marks, m)
		}
	}
	err := vfs.WriteFile(s.o.FS, path.Join(s.o.Dir, checkpointFile), encodeCheckpoint(marks))
	return errors.Join(err, s.o.FS.SyncDir(s.o.Dir))
}
