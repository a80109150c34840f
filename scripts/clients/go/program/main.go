package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// About is what a library can do.
type About struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Codecs  []string          `json:"codecs"`
	Lacks   map[string]string `json:"lacks"` // feature -> why
}

// Client is a library behind the common command line.
type Client struct {
	About

	// Module is the library's path: the version is the one that was built in.
	Module string

	// Produce writes the records and returns the longest throttle that the client was told of.
	Produce func(context.Context, *Options) (time.Duration, error)

	// Consume reads as a member of a group until Events says that it is enough
	// or ctx ends; then it commits, leaves the group and returns nil.
	Consume func(context.Context, *Options, *Events) error

	// Transact writes one record in a transaction; nil where the library has none.
	Transact func(context.Context, *Options) error
}

// refused is the exit code of what the broker does not serve.
const refused = 3

// Main runs the program.
func Main(c Client) {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "a verb is missing: describe, produce, consume or transact")
		os.Exit(2)
	}
	os.Exit(c.run(os.Args[1], parse(os.Args[2:])))
}

func (c *Client) run(verb string, o *Options) int {
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	switch {
	case verb == "describe":
		c.Version = builtIn(c.Module)
		json.NewEncoder(os.Stdout).Encode(c.About)
		return 0
	case verb == "produce":
		told, err := c.Produce(context.Background(), o)
		if err != nil {
			return failed(err)
		}
		fmt.Printf("produced %d throttled %d\n", o.Records, told.Milliseconds())
		return 0
	case verb == "consume":
		return c.consume(o)
	case verb == "transact" && c.Transact != nil:
		if err := c.Transact(ctx, o); err != nil {
			fmt.Printf("refused %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
			return refused
		}
		fmt.Println("committed")
		return 0
	}
	fmt.Fprintln(os.Stderr, "not a verb of this program:", verb)
	return 2
}

func (c *Client) consume(o *Options) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	events := newEvents(o)
	if o.Records > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	ctx, events.enough = context.WithCancel(ctx)
	defer events.enough()
	if err := c.Consume(ctx, o, events); err != nil {
		return failed(err)
	}
	if n := events.count(); n < o.Records {
		return failed(fmt.Errorf("%d of %d records within %s", n, o.Records, o.Timeout))
	}
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// builtIn is the version of a module of this binary.
func builtIn(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "unknown"
}

// Ended reports whether err says no more than that a context has ended.
func Ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
