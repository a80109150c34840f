package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// outcome is an attack, on both.
type outcome struct {
	attack
	sink, broker figures
	thrice       bool // the middle one of three
}

// ratio is how much longer the steady client waited beside the broker.
func (o outcome) ratio() float64 {
	return float64(o.broker.waits.percentile(99)) / float64(o.sink.waits.percentile(99))
}

// runs says after the ratio where it is not that of a single run.
func (o outcome) runs() string {
	if o.thrice {
		return " (middle of 3 runs)"
	}
	return ""
}

// report collects outcomes and holds them against what is allowed.
type report struct {
	options
	perConnection int64 // bytes, by the first attack
	faults        []error
}

// add prints a row.
func (r *report) add(o outcome) {
	if r.perConnection == 0 {
		r.heading(o)
	}
	ours, theirs := o.broker.waits.percentile(99), o.sink.waits.percentile(99)
	beyond := o.broker.grown - o.broker.Held*r.perConnection
	fmt.Printf("| %s | %s | %d, %d closed | %d | %s | %s | %.1f%s | %d | %d | %s; counted: %s |\n", o.name, o.does, o.broker.Tries, o.broker.Closed,
		o.broker.Held, milliseconds(ours), milliseconds(theirs), o.ratio(), o.runs(), o.broker.grown>>20, beyond>>20, o.refuses, counted(o.broker.refusals))
	if o.ratio() > r.times {
		r.faults = append(r.faults, fmt.Errorf("%s: the 99th percentile of the steady client is %v, that beside the sink %v", o.name, ours, theirs))
	}
	if beyond > r.memory {
		r.faults = append(r.faults, fmt.Errorf("%s: %d MB of resident memory beyond the connections", o.name, beyond>>20))
	}
}

// heading prints what a connection costs, which the outcome of silence tells.
func (r *report) heading(o outcome) {
	r.perConnection = estimate
	if o.name == "silence" && o.broker.Held > 0 {
		r.perConnection = o.broker.grown / o.broker.Held
		fmt.Printf("%d connections that say nothing: %d bytes of resident memory for each\n\n", o.broker.Held, r.perConnection)
	}
	fmt.Println("| attack | what it does | connections | held at once | p99 beside kaasd | beside the sink | ratio | memory grew, MB | beyond the connections, MB | what refuses |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
}

// estimate is what a connection costs, in bytes, where silence is not among
// the attacks.
const estimate = 6 << 10

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// counted puts the refusals in a line.
func counted(refusals map[string]float64) string {
	if len(refusals) == 0 {
		return "nothing"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		all = append(all, fmt.Sprintf("%s %.0f", name, refusals[name]))
	}
	return strings.Join(all, ", ")
}

func (r *report) judge() error { return errors.Join(r.faults...) }
