package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	maxAnswers = 20                    // before a kill is decided on, at most
	maxDelay   = 50 * time.Millisecond // from that answer to the kill
	timeout    = 20 * time.Second      // for anything that a broker has to do
)

func main() {
	binary := flag.String("kaasd", "dist/kaasd", "the `binary` to run and kill")
	kills := flag.Int("kills", 50, "how many times")
	flag.Parse()
	if err := run(*binary, *kills); err != nil {
		fmt.Fprintln(os.Stderr, "quotakill:", err)
		os.Exit(1)
	}
}

func run(binary string, kills int) error {
	dir, err := os.MkdirTemp("", "quotakill")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	books := newLedgers()
	var sum tally
	for n := range kills {
		got, err := round(binary, dir, books)
		if err != nil {
			return fmt.Errorf("kill %d, after %v: %w", n+1, sum, err)
		}
		sum.add(got)
	}
	got, err := last(binary, dir, books)
	if err != nil {
		return fmt.Errorf("after %v: %w", sum, err)
	}
	sum.add(got)
	fmt.Println(sum)
	return nil
}

// last compares once more, after the last kill.
func last(binary, dir string, books []*ledger) (tally, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	b, err := start(ctx, binary, dir)
	if err != nil {
		return tally{}, err
	}
	defer b.kill()
	return b.compare(ctx, books)
}

// round starts the broker, compares what it describes, alters quotas until
// some answers are in, and kills it.
func round(binary, dir string, books []*ledger) (t tally, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	b, err := start(ctx, binary, dir)
	if err != nil {
		return t, err
	}
	defer b.kill()
	if t, err = b.compare(ctx, books); err != nil {
		return t, err
	}
	return t, alterUntilKilled(ctx, b, books)
}

// compare holds what the broker describes against the ledgers.
func (b *daemon) compare(ctx context.Context, books []*ledger) (tally, error) {
	described, err := b.describe(ctx)
	if err != nil {
		return tally{}, err
	}
	return settle(books, described)
}

// alterUntilKilled has all ledgers altered at once and kills the broker a
// random while after one of the first answers.
func alterUntilKilled(ctx context.Context, b *daemon, books []*ledger) error {
	answers := make(chan struct{})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all errgroup.Group
	for _, l := range books {
		all.Go(func() error {
			err := l.alter(ctx, b.address, answers)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	for range 1 + rand.IntN(maxAnswers) {
		select {
		case <-answers:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), all.Wait())
		}
	}
	killed := time.After(time.Duration(rand.Int64N(int64(maxDelay))))
	for done := false; !done; {
		select {
		case <-answers:
		case <-killed:
			b.kill()
			done = true
		}
	}
	go func() {
		for range answers {
		}
	}()
	err := all.Wait()
	close(answers)
	return err
}
