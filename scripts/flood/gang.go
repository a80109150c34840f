package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// counts are what the attackers saw.
type counts struct {
	Tries  int64 `json:"tries"`  // connections that TCP made
	Closed int64 `json:"closed"` // of those, that the target ended
	Rounds int64 `json:"rounds"` // requests, log-ins or whatever the attack does again and again
	Held   int64 `json:"held"`   // connections at the same time, at the most
}

// niceness is how far the attackers stand back for what they attack: on a network
// they have machines of their own.
const niceness = "10"

// suffer has a process carry the attack out.
func (t *target) suffer(o options, a attack) (c counts, err error) {
	exe, err := os.Executable()
	if err != nil {
		return c, err
	}
	gang := exec.Command("nice", "-n", niceness, exe, "gang", a.name, o.time.String(), strconv.Itoa(o.connections), t.plain, t.sasl, t.tls)
	gang.Stderr = os.Stderr
	out, err := gang.Output()
	if err != nil {
		return c, fmt.Errorf("the attackers: %w", err)
	}
	return c, json.Unmarshal(out, &c)
}

// gang is the process: it attacks as its arguments say, and prints the counts.
func gang(args []string, out io.Writer) error {
	at := slices.Index(names(), args[0])
	lasts, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	connections, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	c := &crew{target: &target{plain: args[3], sasl: args[4], tls: args[5]}, connections: connections, ended: ctx}
	attacks()[at].begin(c)
	<-ctx.Done()
	c.work.Wait()
	return json.NewEncoder(out).Encode(counts{Tries: c.tries.Load(), Closed: c.closed.Load(), Rounds: c.rounds.Load(), Held: c.most.Load()})
}
