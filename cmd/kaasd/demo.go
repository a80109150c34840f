package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"kaasd/internal/broker"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// demo is the product shown to itself: a broker in this process, three users,
// one quota from the file, one set over the Kafka API, both hit.
type demo struct {
	app      *app
	duration time.Duration
	produce  string // bob's limit, as given
	keep     bool

	limit     float64 // bytes per second, of bob
	dir       string
	passwords map[string]string
	address   string
	began     time.Time
}

// demoBase is alice's limit in the embedded credentials, in bytes per second.
const demoBase = 1 << 20

// demoBytes is when carol stops, whom nothing limits.
const demoBytes = 200 << 20

func newDemo(a *app) *cobra.Command {
	d := &demo{app: a}
	c := &cobra.Command{
		Use:   "demo",
		Short: "set a quota over the Kafka API, hit it, measure it; nothing is left behind",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := parseByteRate(d.produce)
			if err != nil || v < 64<<10 || v != float64(int64(v)) {
				return usagef("--produce: %q is not a rate of at least 64KiB (such as 2MiB)", d.produce)
			}
			if d.duration < 2*time.Second {
				return usagef("--duration: %v is too short to measure anything (2s at least)", d.duration)
			}
			d.limit = v
			return d.run(c.Context())
		},
	}
	c.Flags().DurationVar(&d.duration, "duration", 10*time.Second, "how long to produce")
	c.Flags().StringVar(&d.produce, "produce", "2MiB", "the limit that is set for bob")
	c.Flags().BoolVar(&d.keep, "keep", false, "leave the broker running until Ctrl-C")
	return c
}

// run does everything in a temporary folder.
func (d *demo) run(ctx context.Context) error {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	dir, err := os.MkdirTemp("", "kaasd-demo-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", pathCause(err))
	}
	defer os.RemoveAll(dir)
	d.dir, d.began = dir, time.Now()
	credentials, err := d.writeCredentials()
	if err != nil {
		return err
	}
	log := newLogger(d.app.err, zap.ErrorLevel, true, false) // that it all ends with the demo is no news
	b, err := broker.New(d.config(credentials), log)
	if err != nil {
		return startError(err)
	}
	life, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(life) }()
	err = d.play(ctx, b, ended)
	stop()
	return errors.Join(err, <-ended)
}

func (d *demo) config(credentials string) broker.Config {
	c := broker.Default()
	c.Build = thisBuild().ofBroker()
	c.DataDir = filepath.Join(d.dir, "data")
	c.Listeners = []server.Listener{{Name: "SASL_PLAINTEXT", Protocol: server.SASLPlaintext, Address: "127.0.0.1:0", Host: "127.0.0.1"}}
	c.HTTP.Listen = "127.0.0.1:0"
	c.CredentialsFile = credentials
	c.Properties["group.initial.rebalance.delay.ms"] = "0" // nobody else is about to come
	return c
}

// play is the demo on a running broker.
func (d *demo) play(ctx context.Context, b *broker.Broker, ended chan error) error {
	select {
	case <-b.Ready():
	case err := <-ended:
		ended <- nil
		return startError(err)
	}
	l := b.Listeners()[0]
	d.address = net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
	if err := d.setUp(ctx); err != nil {
		return d.interrupted(ctx, err)
	}
	d.introduce(b.HTTPAddr())
	players := d.players()
	if err := d.perform(ctx, players); err != nil {
		return d.interrupted(ctx, err)
	}
	err := d.conclude(players)
	if d.keep {
		d.linger(ctx)
	}
	return err
}

// interrupted tells Ctrl-C apart from a fault.
func (d *demo) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exitWith(exitFailed, "interrupted")
	}
	return err
}

// setUp logs in as carol, sets bob's quota and makes a topic for each user.
func (d *demo) setUp(ctx context.Context) error {
	client, err := kgo.NewClient(d.options("carol")...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", d.address, err)
	}
	defer client.Close()
	if err := reach(ctx, client, d.address); err != nil {
		return err
	}
	r := &remote{kadm.NewClient(client), d.address}
	bob := "bob"
	results, err := r.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: kafka.EntityUser, Name: &bob}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: kafka.ProducerByteRate, Value: d.limit}},
	}})
	if err != nil {
		return r.failed("the change", err)
	}
	for _, result := range results {
		if result.Err != nil {
			return refusedWith(d.address, "the change", result.Err, result.ErrMessage)
		}
	}
	created, err := r.CreateTopics(ctx, 1, 1, nil, topicOf("alice"), topicOf("bob"), topicOf("carol"))
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		return r.failed("the topics", err)
	}
	return nil
}

func topicOf(user string) string { return "demo-" + user }

func (d *demo) options(user string, more ...kgo.Opt) []kgo.Opt {
	auth := scram.Auth{User: user, Pass: d.passwords[user]}
	return append([]kgo.Opt{
		kgo.SeedBrokers(d.address),
		kgo.ClientID("kaasd-demo"),
		kgo.SASL(auth.AsSha512Mechanism()),
	}, more...)
}

func (d *demo) introduce(http net.Addr) {
	if d.app.json() {
		return
	}
	d.app.printf("broker       %s (SASL_PLAINTEXT)   http %s\n", d.address, http)
	d.app.printf("credentials  embedded: alice produce %s (base), bob and carol no quota\n", formatByteRate(demoBase))
	d.app.printf("override     user bob produce %s, set with AlterClientQuotas\n\n", formatByteRate(d.limit))
}

func (d *demo) players() []*player {
	return []*player{
		{demo: d, user: "alice", source: "base", limit: demoBase},
		{demo: d, user: "bob", source: "override", limit: d.limit},
		{demo: d, user: "carol", most: demoBytes},
	}
}

// perform lets all users produce at once, then read back what they wrote.
func (d *demo) perform(ctx context.Context, players []*player) error {
	var all errgroup.Group
	for _, p := range players {
		all.Go(func() error { return p.produce(ctx) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, p := range players {
		if err := p.fetchBack(ctx); err != nil {
			return err
		}
	}
	return nil
}

// linger keeps the broker up for whoever wants to look around.
func (d *demo) linger(ctx context.Context) {
	path := filepath.Join(d.dir, "bob.properties")
	jaas := fmt.Sprintf("org.apache.kafka.common.security.scram.ScramLoginModule required username=%q password=%q;", "bob", d.passwords["bob"])
	text := "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=" + jaas + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.app.note("%v", err)
	}
	d.app.note("\nstill running until Ctrl-C; to look around as bob:\n  kaasd quota describe --bootstrap-server %s --command-config %s", d.address, path)
	<-ctx.Done()
}
