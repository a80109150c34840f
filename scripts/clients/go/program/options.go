package program

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// Options is what the command line asks for.
type Options struct {
	Bootstrap, Topic string
	Partitions       int
	Records, From    int // Records 0: a consumer reads until it is told to end
	Rate             int // records/s, 0: as fast as it goes
	Codec, Acks      string

	Group, Static, Assignor, Protocol string
	Timeout, Session                  time.Duration

	User, Mechanism, Password string // no user: no log-in
	tag                       string
}

// parse reads the flags after the verb; a wrong one ends the program with 2.
func parse(args []string) *Options {
	o := &Options{Password: os.Getenv("CLIENT_PASSWORD")}
	f := flag.NewFlagSet("program", flag.ExitOnError)
	f.StringVar(&o.Bootstrap, "bootstrap-server", "", "`host:port` of the broker")
	f.StringVar(&o.Topic, "topic", "", "topic, which exists")
	f.IntVar(&o.Partitions, "partition-count", 1, "record I goes to partition I modulo this")
	f.IntVar(&o.Records, "records", 0, "how many")
	f.IntVar(&o.From, "from", 0, "number of the first record")
	f.IntVar(&o.Rate, "rate", 0, "records per second")
	f.StringVar(&o.Codec, "codec", "none", "none, gzip, snappy, lz4 or zstd")
	f.StringVar(&o.Acks, "acks", "all", "all, 1 or 0")
	f.StringVar(&o.Group, "group", "", "group")
	f.StringVar(&o.Static, "static", "", "instance id of a static member")
	f.StringVar(&o.Assignor, "assignor", "", "range, roundrobin, sticky or cooperative; none: what the library takes")
	f.StringVar(&o.Protocol, "protocol", "classic", "classic or consumer (KIP-848)")
	f.StringVar(&o.User, "user", "", "user to log in, its password in CLIENT_PASSWORD")
	f.StringVar(&o.Mechanism, "mechanism", "", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	f.StringVar(&o.tag, "tag", "", "what every line begins with")
	timeout := f.Int("timeout", 60, "seconds until the program gives up")
	session := f.Int("session", 10, "session timeout of a member, in seconds")
	f.Parse(args)
	o.Timeout, o.Session = time.Duration(*timeout)*time.Second, time.Duration(*session)*time.Second
	if o.tag != "" {
		o.tag += " "
	}
	return o
}

// Records as every program writes them.

// Key is the key of record i.
func Key(i int) []byte { return fmt.Appendf(nil, "key-%d", i) }

// Value is the value of record i: its number, and what a codec can shorten.
func Value(i int) []byte {
	return fmt.Appendf(nil, "value-%06d %.80s", i, "the same words again and again, the same words again and again, the same words again and again")
}

// Number is the i of a Value, -1 of anything else.
func Number(value []byte) int {
	var i int
	if _, err := fmt.Sscanf(string(value), "value-%d ", &i); err != nil {
		return -1
	}
	return i
}

// Numbers yields the numbers of the records to write, at the rate asked for.
func (o *Options) Numbers(yield func(int) bool) {
	began := time.Now()
	for i := range o.Records {
		if o.Rate > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(o.Rate))))
		}
		if !yield(o.From + i) {
			return
		}
	}
}
