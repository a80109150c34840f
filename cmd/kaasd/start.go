package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"kaasd/internal/broker"
	"kaasd/internal/credstore"
	"kaasd/internal/storage"
)

func newStart(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "start",
		Short: "run the broker",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			g, s, err := a.load(c)
			if err != nil {
				return err
			}
			return a.newDaemon(c, g, s).run(c.Context())
		},
	}
	optionFlags(c)
	return c
}

// daemon is a broker in a process of its own: with signals and a log.
type daemon struct {
	app     *app
	command *cobra.Command // for its flags, read again at SIGHUP
	given   *given
	set     *settings
	level   zap.AtomicLevel
	log     *zap.Logger
	console bool
	began   time.Time
}

func (a *app) newDaemon(c *cobra.Command, g *given, s *settings) *daemon {
	d := &daemon{app: a, command: c, given: g, set: s, began: time.Now(), level: zap.NewAtomicLevelAt(levelOf(s.LogLevel))}
	d.log, d.console = a.logger(s.logFormat, d.level)
	return d
}

func levelOf(name string) zapcore.Level {
	level, err := zapcore.ParseLevel(name)
	if err != nil {
		return zapcore.InfoLevel
	}
	return level
}

// run starts the broker and ends when it was asked to stop.
func (d *daemon) run(ctx context.Context) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	d.set.Build = thisBuild().ofBroker()
	if d.set.MemoryLimit == 0 {
		d.set.MemoryLimit = memoryLimit(os.ReadFile)
	}
	liveIn(d.set.MemoryLimit, d.app.variables())
	d.notices()
	d.set.Level = &d.level
	b, err := broker.New(d.set.Config, d.log)
	if err != nil {
		return startError(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return d.attend(b, signals, ended, stop)
}

// attend waits for what happens to a running broker: it is ready, a signal
// comes, it has ended.
func (d *daemon) attend(b *broker.Broker, signals <-chan os.Signal, ended <-chan error, stop func()) error {
	ready, stopping := b.Ready(), false
	for {
		select {
		case <-ready:
			ready = nil
			d.announce(b)
		case s := <-signals:
			switch {
			case s == syscall.SIGHUP:
				d.reload(b)
			case stopping:
				return silent(exitFailed)
			default:
				stopping = true
				d.log.Info("stopping", zap.Stringer("signal", s))
				stop()
			}
		case err := <-ended:
			if err == nil {
				d.log.Info("stopped")
			}
			return startError(err)
		}
	}
}

// waysOut are what to do about a setting of which nothing came.
var waysOut = map[string]string{
	"listeners":   "--listeners names another address",
	"http.listen": "--http-listen names another address, an empty one turns it off",
	"data.dir":    "--data-dir names another folder",
}

// withWayOut says it behind the error, or behind each of those that were joined.
func withWayOut(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, withWayOut(e))
		}
		return errors.Join(all...)
	}
	var bad *broker.BadSetting
	if !errors.As(err, &bad) {
		return err
	}
	way := waysOut[bad.Key]
	if errors.Is(err, fs.ErrPermission) && bad.Key == "data.dir" {
		way = fmt.Sprintf("it must be writable for user id %d; %s", os.Geteuid(), way)
	}
	return fmt.Errorf("%w (%s)", err, way)
}

// startError gives the exit code of an error of the broker.
func startError(err error) error {
	if err == nil {
		return nil
	}
	err = withWayOut(err)
	var bad *broker.BadFile
	if errors.As(err, &bad) {
		return &exitError{code: exitInput, err: err}
	}
	return &exitError{code: exitFailed, err: err}
}

// notices tells what was given but means nothing here.
func (d *daemon) notices() {
	if len(d.given.ignored) > 0 {
		d.say(d.given.ignoredNotice(), "variables ignored", zap.Strings("variables", d.given.ignored))
	}
	for _, l := range d.set.dropped {
		d.say("ignored: listener "+l+", kaasd needs no controller", "listener ignored", zap.String("listener", l))
	}
}

// say logs one thing at info: in words on a console, as fields elsewhere.
func (d *daemon) say(words, message string, fields ...zap.Field) {
	d.tell(zapcore.InfoLevel, words, message, fields...)
}

func (d *daemon) tell(level zapcore.Level, words, message string, fields ...zap.Field) {
	if d.console {
		d.log.Log(level, words)
		return
	}
	d.log.Log(level, message, fields...)
}

// announce tells that clients may come, where, and what to know about it.
func (d *daemon) announce(b *broker.Broker) {
	d.log.Info("kaasd ready", zap.String("version", thisBuild().Version), zap.Duration("took", time.Since(d.began)), zap.String("quota.model", d.set.Quota.Model))
	for _, l := range b.Listeners() {
		told := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
		d.say(fmt.Sprintf("kafka %s %s, clients are told %s", l.Name, l.Address, told), "kafka listener",
			zap.String("listener", l.Name), zap.String("protocol", string(l.Protocol)), zap.String("address", l.Address), zap.String("advertised", told))
	}
	if addr := b.HTTPAddr(); addr != nil {
		d.say(fmt.Sprintf("http %s  /metrics /readyz /v1/quotas", addr), "http listener", zap.Stringer("address", addr))
	}
	d.announceData(b)
	d.set.warn(d.log)
}

func (d *daemon) announceData(b *broker.Broker) {
	words := "data " + d.set.DataDir
	if b.Fresh() {
		words += ", new"
	}
	d.say(words+", cluster "+b.ClusterID(), "data folder",
		zap.String("dir", d.set.DataDir), zap.Bool("new", b.Fresh()), zap.String("cluster_id", b.ClusterID()))
	mode, loss := "always", ""
	switch d.set.Storage.Flush {
	case storage.FlushOS:
		mode, loss = "os", "what the kernel has not written yet"
	case storage.FlushInterval:
		mode, loss = "interval", "the last "+d.set.Storage.FlushInterval.String()
	}
	if loss != "" && d.set.DataDir != broker.InMemory {
		d.say("log.flush="+mode+": a power cut may take "+loss+" of acknowledged records (always keeps them)", "power cut may take records",
			zap.String("log.flush", mode), zap.String("at_risk", loss))
	}
}

// reload reads the credentials again, and the settings: those that are live
// are taken, the others named.
func (d *daemon) reload(b *broker.Broker) {
	_, _ = b.ReloadFiles(credstore.TriggerSignal) // each tells the log
	d.set.warnOfUsers(d.log)
	g, s, err := d.app.load(d.command)
	if err != nil {
		d.log.Error("settings not reloaded", zap.String("error", strings.Join(errorLines(err), "; ")))
		return
	}
	var restart []string
	for _, o := range d.given.table {
		if d.given.value(o).text == g.value(o).text {
			continue
		}
		if !o.live {
			restart = append(restart, o.key)
		}
	}
	d.level.SetLevel(levelOf(s.LogLevel))
	if len(restart) > 0 {
		d.log.Warn("settings that differ need a restart", zap.Strings("keys", restart))
	}
	d.given.values["log.level"] = g.values["log.level"]
}
