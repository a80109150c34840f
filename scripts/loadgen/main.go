package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"kaasd/internal/codec/message"
)

// options are the flags.
type options struct {
	address     string
	mode        string
	topic       string
	partitions  int
	buckets     []bucket
	connections int // of each client
	bytes       int // of a request's records, or of an answer's
	acks        int
	duration    time.Duration
	obey        bool
	password    string
	mechanism   string
	limit       float64       // charged per second; 0 is none
	tolerance   float64       // percent
	burst       time.Duration // what a full bucket holds, as time at the limit; 0 does not check the books
	books       float64       // percent
	version     int           // of CreateTopics
	from        string
	admin       client
	entity      []message.AlterClientQuotasEntity
	reconnect   bool
	within      time.Duration
}

// modes are what loadgen does, each with what it prints.
var modes = map[string]func(options) (any, error){
	"produce": loads,
	"fetch":   loads,
	"request": loads,
	"mutate":  mutations,
	"connect": connections,
	"raise":   raise,
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
	report, err := modes[o.mode](o)
	if report != nil {
		err = errors.Join(json.NewEncoder(os.Stdout).Encode(report), err)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	f.StringVar(&o.address, "address", "localhost:9092", "`host:port` of the broker")
	f.StringVar(&o.mode, "mode", "produce", strings.Join(slices.Sorted(maps.Keys(modes)), ", "))
	f.StringVar(&o.topic, "topic", "loadgen", "topic, created when it is not there; with mutate what new ones begin with")
	f.IntVar(&o.partitions, "partitions", 4, "partitions of a topic that is created")
	f.Func("bucket", "`user/client-id[,user/client-id]`: clients that share a bucket; may be repeated", func(text string) error {
		o.buckets = append(o.buckets, parseBucket(text))
		return nil
	})
	f.IntVar(&o.connections, "connections", 1, "connections of each client at once; with connect one after the other")
	f.IntVar(&o.bytes, "bytes", 64<<10, "bytes of records in a request, or at most in an answer")
	f.IntVar(&o.acks, "acks", 1, "acks of produce requests: 1 or -1")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "how long to load")
	f.BoolVar(&o.obey, "obey", false, "wait out announced throttles, as good clients do")
	f.StringVar(&o.password, "password", "", "the password of every user")
	f.StringVar(&o.mechanism, "mechanism", "SCRAM-SHA-512", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	f.Float64Var(&o.limit, "limit", 0, "what must be charged to each bucket per second; 0 checks nothing")
	f.Float64Var(&o.tolerance, "tolerance", 1, "percent the rate may be off")
	f.DurationVar(&o.burst, "burst", 0, "time at the limit that a full bucket holds; 0 does not check the books")
	f.Float64Var(&o.books, "books", 0.2, "percent the books may be off")
	f.IntVar(&o.version, "version", 7, "version of CreateTopics: strict from 6")
	f.StringVar(&o.from, "from", "", "address to connect from")
	admin := f.String("admin", "", "`user/client-id` that creates the topic and sets quotas; the first client when empty")
	f.Func("entity", "`type=name[,type=name]` whose produce quota raise sets to --limit, or removes with none; a type alone is its default", func(text string) error {
		o.entity = parseEntity(text)
		return nil
	})
	f.BoolVar(&o.reconnect, "reconnect", false, "come back on a new connection for every request; the books then keep plain times")
	f.DurationVar(&o.within, "within", 1500*time.Millisecond, "how soon every connection must feel a raise, or be answered or closed with connect")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if len(o.buckets) == 0 {
		o.buckets = []bucket{parseBucket("/loadgen")}
	}
	if o.admin = o.buckets[0].clients[0]; *admin != "" {
		o.admin = parseClient(*admin)
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
	fault(modes[o.mode] == nil, "--mode %q: must be one of %s", o.mode, strings.Join(slices.Sorted(maps.Keys(modes)), ", "))
	fault(o.partitions < 1, "--partitions %d: must be at least 1", o.partitions)
	fault(o.connections < 1, "--connections %d: must be at least 1", o.connections)
	fault(o.bytes < minBytes, "--bytes %d: must be at least %d", o.bytes, minBytes)
	fault(o.acks != 1 && o.acks != -1, "--acks %d: must be 1 or -1", o.acks)
	fault(o.duration <= 0, "--duration %v: must be above zero", o.duration)
	fault(o.limit < 0, "--limit %v: must not be negative", o.limit)
	fault(o.mode == "raise" && o.entity == nil, "--entity: must be given with --mode raise")
	fault(mechanisms[o.mechanism] == nil, "--mechanism %q: must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", o.mechanism)
	return errors.Join(faults...)
}
