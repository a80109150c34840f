package main

import (
	"math"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// liveIn tells the garbage collector how much memory there is. Four fifths of
// it are for Go's heap and stacks, the rest is for what Go does not count.
// GOMEMLIMIT and GOGC, where set, are somebody's own choice and stay.
func liveIn(limit int64, variables map[string]string) {
	if variables["GOMEMLIMIT"] == "" && limit > 0 {
		debug.SetMemoryLimit(limit / 5 * 4)
	}
	if variables["GOGC"] == "" && limit > 0 {
		debug.SetGCPercent(200)
	}
}

// memoryLimit is the container's limit, else a quarter of the RAM, in bytes;
// 0 when neither can be found out.
func memoryLimit(read func(string) ([]byte, error)) int64 {
	total := ramBytes(read)
	limit := int64(math.MaxInt64)
	for _, file := range limitFiles(read) {
		raw, err := read(file)
		if err != nil {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		// Version 1 says "no limit" as a number near 2^63.
		if err == nil && v > 0 && (total == 0 || v < total) && v < math.MaxInt64/2 {
			limit = min(limit, v)
		}
	}
	if limit < math.MaxInt64 {
		return limit
	}
	return total / 4
}

// hierarchy is where the limits of one version of control groups are.
type hierarchy struct{ root, file string }

var (
	groupsV2 = hierarchy{"/sys/fs/cgroup", "memory.max"}
	groupsV1 = hierarchy{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}
)

// limitFiles are the files that may hold a limit of this process: those of its
// control group and of every one above it, whose limits hold as well. The roots
// are always among them: inside a container they may be its own group, whatever
// path the process is told.
func limitFiles(read func(string) ([]byte, error)) []string {
	files := []string{path.Join(groupsV2.root, groupsV2.file), path.Join(groupsV1.root, groupsV1.file)}
	raw, err := read("/proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(raw)) {
		// 0::/path in version 2, 7:cpu,memory:/path in version 1.
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[0] == "0" && fields[1] == "":
			files = append(files, groupsV2.above(fields[2])...)
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			files = append(files, groupsV1.above(fields[2])...)
		}
	}
	return files
}

// above are the files from a group up to below the root. A path that leaves
// the root, as a namespace may tell one, is taken from the root.
func (h hierarchy) above(group string) []string {
	var files []string
	for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
		files = append(files, path.Join(h.root, group, h.file))
	}
	return files
}

func ramBytes(read func(string) ([]byte, error)) int64 {
	raw, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
