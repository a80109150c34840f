package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// liveIn tells the garbage collector how much memory there is. Four fifths of
// it are for Go's heap and stacks, the rest is for what Go does not count.
// GOMEMLIMIT and GOGC, where set, are somebody's own choice and stay.
func liveIn(limit int64, variables map[string]string) {
	if limit == 0 {
		limit = memoryLimit(os.ReadFile)
	}
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
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		raw, err := read(path)
		if err != nil {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		// Version 1 says "no limit" as a number near 2^63.
		if err == nil && v > 0 && (total == 0 || v < total) && v < math.MaxInt64/2 {
			return v
		}
	}
	return total / 4
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
