package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	trackedNow  = "/proc/sys/net/netfilter/nf_conntrack_count"
	trackedMost = "/proc/sys/net/netfilter/nf_conntrack_max"
	// forgetting is how long the kernel may remember a connection that was
	// closed (nf_conntrack_tcp_timeout_time_wait), and a bit.
	forgetting = 150 * time.Second
)

// untracked waits until the kernel has forgotten most connections of earlier
// attacks. Where it tracks connections and its table is full it drops packets of
// new ones, and an attack would measure nothing but that.
func untracked() error {
	var now, most int
	for until := time.Now().Add(forgetting); time.Now().Before(until); time.Sleep(time.Second) {
		if most = count(trackedMost); most == 0 {
			return nil
		}
		if now = count(trackedNow); now < most/4 {
			return nil
		}
	}
	return fmt.Errorf("the kernel tracks %d connections of at most %d: an attack would not get through", now, most)
}

// count reads a number; 0 where there is none.
func count(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
