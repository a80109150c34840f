package segment

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

const epochFile = "leader-epoch-checkpoint"

// epochStart says at which offset an epoch begins.
type epochStart struct {
	epoch int32
	start int64
}

// epochs are the leader epochs of one log, rising in both fields. It is
// replaced, not changed, so that readers need no lock.
type epochs []epochStart

// with adds an epoch that begins at start, unless it is known or older. An
// epoch that got no record gives way.
func (e epochs) with(epoch int32, start int64) epochs {
	n := len(e)
	for n > 0 && e[n-1].start >= start && e[n-1].epoch < epoch {
		n--
	}
	if n > 0 && e[n-1].epoch >= epoch {
		return e[:n:n]
	}
	return append(e[:n:n], epochStart{epoch, start})
}

// until drops what begins at or beyond end.
func (e epochs) until(end int64) epochs {
	n := len(e)
	for n > 0 && e[n-1].start >= end {
		n--
	}
	return e[:n:n]
}

// from moves the beginning to start: the epoch that holds it stays.
func (e epochs) from(start int64) epochs {
	for len(e) > 1 && e[1].start <= start {
		e = e[1:]
	}
	if len(e) > 0 && e[0].start < start {
		e = append(epochs{{e[0].epoch, start}}, e[1:]...)
	}
	return e
}

// endOf is the largest epoch at or below the asked one, and where it ends; end
// is the log's.
func (e epochs) endOf(epoch int32, end int64) (int32, int64) {
	i := sort.Search(len(e), func(i int) bool { return e[i].epoch > epoch })
	switch {
	case i == 0:
		return -1, -1
	case i == len(e):
		return e[i-1].epoch, end
	}
	return e[i-1].epoch, e[i].start
}

// encode is Kafka's text: version, count, then epoch and offset per line.
func (e epochs) encode() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "0\n%d\n", len(e))
	for _, s := range e {
		fmt.Fprintf(&out, "%d %d\n", s.epoch, s.start)
	}
	return out.Bytes()
}

func decodeEpochs(raw []byte) (epochs, error) {
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" || lines[1] != strconv.Itoa(len(lines)-2) {
		return nil, fmt.Errorf("%s: version 0 and the number of lines are expected first", epochFile)
	}
	var e epochs
	for _, line := range lines[2:] {
		first, second, _ := strings.Cut(line, " ")
		epoch, err1 := strconv.ParseInt(first, 10, 32)
		start, err2 := strconv.ParseInt(second, 10, 64)
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 {
			return nil, fmt.Errorf("%s: %q is not an epoch and an offset", epochFile, line)
		}
		if n := len(e); n > 0 && (e[n-1].epoch >= int32(epoch) || e[n-1].start > start) {
			return nil, fmt.Errorf("%s: %q does not rise", epochFile, line)
		}
		e = append(e, epochStart{int32(epoch), start})
	}
	return e, nil
}
