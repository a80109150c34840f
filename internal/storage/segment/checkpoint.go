package segment

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"kaasd/internal/kafka"
)

// The checkpoint: a line for each log between a title and a checksum.
const (
	checkpointFile  = "checkpoint"
	checkpointTitle = "kaasd checkpoint 1"
	checkpointLimit = 1 << 30 // bytes
)

var errCheckpoint = errors.New("the checkpoint is damaged")

// mark is what the checkpoint says about one log.
type mark struct {
	id       kafka.TopicID
	tp       kafka.TopicPartition
	start    int64 // log start offset
	recovery int64 // everything below was synced and needs no check
	end      int64
	size     int64 // of the active file, in bytes
	epoch    int32 // of the last batch; -1: no batch
	bytes    int64 // of all segments
	oldest   int64 // newest timestamp of the first segment, ms; -1 unknown
	bases    []int64
}

// settled says whether everything was synced.
func (m *mark) settled() bool { return m.recovery == m.end }

func encodeCheckpoint(marks []*mark) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, checkpointTitle)
	for _, m := range marks {
		fmt.Fprintf(&out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t", m.id, m.tp, m.start, m.recovery, m.end, m.size, m.epoch, m.bytes, m.oldest)
		for i, base := range m.bases {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strconv.FormatInt(base, 10))
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "crc32c %08x\n", crc32.Checksum(out.Bytes(), castagnoli))
	return out.Bytes()
}

func decodeCheckpoint(raw []byte) ([]*mark, error) {
	const tail = len("crc32c 00000000\n")
	if len(raw) < tail {
		return nil, errCheckpoint
	}
	body, sum := raw[:len(raw)-tail], raw[len(raw)-tail:]
	if string(sum) != fmt.Sprintf("crc32c %08x\n", crc32.Checksum(body, castagnoli)) {
		return nil, errCheckpoint
	}
	title, rest, _ := strings.Cut(string(body), "\n")
	if title != checkpointTitle {
		return nil, fmt.Errorf("%w: title %q", errCheckpoint, title)
	}
	var marks []*mark
	for line := range strings.Lines(rest) {
		m, err := decodeMark(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		marks = append(marks, m)
	}
	return marks, nil
}

func decodeMark(line string) (*mark, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 10 {
		return nil, fmt.Errorf("%w: %d fields", errCheckpoint, len(fields))
	}
	id, err := kafka.ParseTopicID(fields[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	m := &mark{id: id}
	var ok bool
	if m.tp, ok = parseFolder(fields[1]); !ok {
		return nil, fmt.Errorf("%w: folder %q", errCheckpoint, fields[1])
	}
	var epoch int64
	for i, into := range []*int64{&m.start, &m.recovery, &m.end, &m.size, &epoch, &m.bytes, &m.oldest} {
		if *into, err = strconv.ParseInt(fields[2+i], 10, 64); err != nil {
			return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
		}
	}
	m.epoch = int32(epoch)
	if fields[9] != "" {
		for base := range strings.SplitSeq(fields[9], ",") {
			n, err := strconv.ParseInt(base, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
			}
			m.bases = append(m.bases, n)
		}
	}
	return m, nil
}

// parseFolder splits the name of a partition's folder.
func parseFolder(name string) (kafka.TopicPartition, bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return kafka.TopicPartition{}, false
	}
	n, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != name[dash+1:] || kafka.CheckTopicName(name[:dash]) != nil {
		return kafka.TopicPartition{}, false
	}
	return kafka.TopicPartition{Topic: name[:dash], Partition: int32(n)}, true
}
