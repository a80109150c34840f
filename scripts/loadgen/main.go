package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// options are the flags.
type options struct {
	address     string
	mode        string
	topic       string
	partitions  int
	connections int
	bytes       int // of a request's records, or of an answer's
	acks        int
	duration    time.Duration
	obey        bool
	user        string
	password    string
	mechanism   string
	limit       float64 // charged bytes per second; 0 is none
	tolerance   float64 // percent
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(2)
	}
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	f.StringVar(&o.address, "address", "localhost:9092", "`host:port` of the broker")
	f.StringVar(&o.mode, "mode", "produce", "produce or fetch")
	f.StringVar(&o.topic, "topic", "loadgen", "topic, created when it is not there")
	f.IntVar(&o.partitions, "partitions", 4, "partitions of a topic that is created")
	f.IntVar(&o.connections, "connections", 1, "connections at once")
	f.IntVar(&o.bytes, "bytes", 64<<10, "bytes of records in a request, or at most in an answer")
	f.IntVar(&o.acks, "acks", 1, "acks of produce requests: 1 or -1")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "how long to load")
	f.BoolVar(&o.obey, "obey", false, "wait out announced throttles, as good clients do")
	f.StringVar(&o.user, "user", "", "user to log in; empty does not log in")
	f.StringVar(&o.password, "password", "", "the user's password")
	f.StringVar(&o.mechanism, "mechanism", "SCRAM-SHA-512", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	f.Float64Var(&o.limit, "limit", 0, "charged bytes per second that must come out; 0 checks nothing")
	f.Float64Var(&o.tolerance, "tolerance", 1, "percent the rate may be off")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	return o, o.validate(f.Args())
}

func (o options) validate(rest []string) error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(len(rest) > 0, "unknown argument %q", rest)
	fault(o.mode != "produce" && o.mode != "fetch", "--mode %q: must be produce or fetch", o.mode)
	fault(o.partitions < 1, "--partitions %d: must be at least 1", o.partitions)
	fault(o.connections < 1, "--connections %d: must be at least 1", o.connections)
	fault(o.bytes < minBytes, "--bytes %d: must be at least %d", o.bytes, minBytes)
	fault(o.acks != 1 && o.acks != -1, "--acks %d: must be 1 or -1", o.acks)
	fault(o.duration <= 0, "--duration %v: must be above zero", o.duration)
	fault(o.limit < 0, "--limit %v: must not be negative", o.limit)
	fault(mechanisms[o.mechanism] == nil, "--mechanism %q: must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", o.mechanism)
	return errors.Join(faults...)
}

// measure loads the broker, prints the report, and judges it.
func measure(o options) error {
	entries, err := load(o)
	if err != nil {
		return err
	}
	r, err := settle(entries, o.connections, o.limit)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	if o.limit > 0 && (r.ErrorPercent > o.tolerance || r.ErrorPercent < -o.tolerance) {
		return fmt.Errorf("%.0f bytes per second are %+.2f %% off the limit of %.0f", r.Rate, r.ErrorPercent, o.limit)
	}
	return nil
}
