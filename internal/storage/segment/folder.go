package segment

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// The files of the data folder itself.
const (
	lockFile       = "LOCK"
	propertiesFile = "meta.properties"
	cleanFile      = "clean"
)

// The files of a partition's folder beside those of its segments.
const (
	metadataFile = "partition.metadata"
	startFile    = "log-start-offset-checkpoint"
	smallFile    = 1 << 20 // what such a file may have at most, in bytes
)

// lockFolder takes the data folder for this process.
func lockFolder(fsys vfs.FS, dir string) (io.Closer, error) {
	lock, err := fsys.Lock(path.Join(dir, lockFile))
	if err != nil {
		return nil, lockError(dir, err)
	}
	return lock, nil
}

// lockError says which process holds the folder, when that is what is wrong.
func lockError(dir string, err error) error {
	var taken *vfs.LockedError
	if errors.As(err, &taken) {
		return &inUse{dir, taken}
	}
	return fmt.Errorf("lock data folder %s: %w", dir, err)
}

// inUse is a data folder that another process holds.
type inUse struct {
	dir  string
	lock *vfs.LockedError
}

// Error names the folder and its holder.
func (e *inUse) Error() string {
	if e.lock.PID == 0 {
		return fmt.Sprintf("data folder %s is in use", e.dir)
	}
	return fmt.Sprintf("data folder %s is in use by process %d", e.dir, e.lock.PID)
}

// Unwrap is the lock.
func (e *inUse) Unwrap() error { return e.lock }

// properties are what meta.properties says. Kafka ignores the epoch.
type properties struct {
	clusterID string
	nodeID    int32
	epoch     int32 // leader epoch of the last start; -1: none
	created   int64 // when the folder was, in ms of Unix time; 0: before that was noted
}

func (p properties) encode() []byte {
	return fmt.Appendf(nil, "version=1\ncluster.id=%s\nnode.id=%d\nleader.epoch=%d\ncreated.ms=%d\n", p.clusterID, p.nodeID, p.epoch, p.created)
}

// raise begins a new leader epoch at now. It is the next one, and not below the
// age of the folder in minutes: a folder that was put back as it was in a backup
// must not fall behind the epochs that clients have seen of it since.
func (p *properties) raise(now time.Time) error {
	if p.epoch == math.MaxInt32 {
		return fmt.Errorf("%s: no leader epoch is left after %d", propertiesFile, p.epoch)
	}
	if p.created == 0 {
		p.created = now.UnixMilli()
	}
	age := now.Sub(time.UnixMilli(p.created)) / time.Minute // 292 years at most, which is far from all epochs
	p.epoch = max(p.epoch+1, int32(age))
	return nil
}

func decodeProperties(raw []byte) (properties, error) {
	p, seen := properties{epoch: -1}, map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, "=")
		if line == "" || line[0] == '#' {
			continue
		}
		seen[key] = true
		switch key {
		case "version":
			if value != "1" {
				return p, fmt.Errorf("%s: version is %q, 1 is known", propertiesFile, value)
			}
		case "cluster.id":
			p.clusterID = value
		case "node.id", "leader.epoch":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 0 {
				return p, fmt.Errorf("%s: %s is %q, a number from 0 on is expected", propertiesFile, key, value)
			}
			if key == "node.id" {
				p.nodeID = int32(n)
			} else {
				p.epoch = int32(n)
			}
		case "created.ms":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return p, fmt.Errorf("%s: %s is %q, a number from 0 on is expected", propertiesFile, key, value)
			}
			p.created = n
		}
	}
	if p.clusterID == "" || !seen["node.id"] || !seen["version"] {
		return p, fmt.Errorf("%s: version, cluster.id and node.id are expected", propertiesFile)
	}
	return p, nil
}

// newClusterID makes a random one in Kafka's form: 22 characters of base64,
// not beginning with a dash, which command lines would take for an option.
func newClusterID() string {
	for {
		var id [16]byte
		rand.Read(id[:])
		id[6] = id[6]&0x0f | 0x40 // UUID version 4
		id[8] = id[8]&0x3f | 0x80
		if text := base64.RawURLEncoding.EncodeToString(id[:]); text[0] != '-' {
			return text
		}
	}
}

func encodeMetadata(id kafka.TopicID) []byte {
	return fmt.Appendf(nil, "version: 0\ntopic_id: %s\n", id)
}

// readMetadata gives the topic id of a partition's folder; zero when the file
// is missing or was torn by a power cut.
func readMetadata(fsys vfs.FS, dir string) (kafka.TopicID, error) {
	raw, err := vfs.ReadFile(fsys, path.Join(dir, metadataFile), smallFile)
	if missing(err) {
		return kafka.TopicID{}, nil
	}
	if err != nil {
		return kafka.TopicID{}, err
	}
	if len(bytes.Trim(raw, "\x00")) == 0 {
		return kafka.TopicID{}, nil
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "topic_id: "); ok {
			return kafka.ParseTopicID(text)
		}
	}
	return kafka.TopicID{}, fmt.Errorf("%s names no topic_id", path.Join(dir, metadataFile))
}

// encodeStart is in the form of Kafka's file of this name.
func encodeStart(tp kafka.TopicPartition, start int64) []byte {
	return fmt.Appendf(nil, "0\n1\n%s %d %d\n", tp.Topic, tp.Partition, start)
}

// readStart gives what DeleteRecords made the log's start; 0 without it.
func readStart(fsys vfs.FS, dir string) (int64, error) {
	raw, err := vfs.ReadFile(fsys, path.Join(dir, startFile), smallFile)
	if missing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw))
	if len(fields) != 5 || fields[0] != "0" || fields[1] != "1" {
		return 0, fmt.Errorf("%s is damaged", path.Join(dir, startFile))
	}
	start, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil || start < 0 {
		return 0, fmt.Errorf("%s: %q is not an offset", path.Join(dir, startFile), fields[4])
	}
	return start, nil
}

// dir is the partition's folder.
func (l *Log) dir() string { return path.Join(l.store.o.Dir, l.tp.String()) }

// makeFolder makes it, with the topic's id, for a log of that state; a power
// cut may have left the folder and taken the id. It needs mu.
func (l *Log) makeFolder(st *state) error {
	if st.folder {
		return nil
	}
	fsys := l.store.o.FS
	if err := fsys.MkdirAll(l.dir()); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if err := vfs.WriteUnsynced(fsys, path.Join(l.dir(), metadataFile), encodeMetadata(l.id)); err != nil {
		return fmt.Errorf("write the topic id: %w", err)
	}
	st.folder, st.homeless, st.names = true, true, true
	return nil
}
