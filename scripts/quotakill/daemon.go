package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// daemon is one run of kaasd.
type daemon struct {
	address string
	cmd     *exec.Cmd
	log     bytes.Buffer
	dead    bool
}

// start runs kaasd on a free port and waits until it answers.
func start(ctx context.Context, binary, dir string) (*daemon, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &daemon{address: l.Addr().String()}
	l.Close()
	b.cmd = exec.Command(binary, "start", "--quota-model", "kafka", "--listeners", "PLAINTEXT://"+b.address, "--http-listen", "",
		"--data-dir", dir, "--log-level", "warn", "--log-disk-reserve", "0")
	b.cmd.Env = withoutSettings(os.Environ())
	b.cmd.Stderr = &b.log
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		if _, err = b.describe(ctx); err == nil {
			return b, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.kill()
	return nil, fmt.Errorf("the broker does not answer: %w\n%s", err, &b.log)
}

// withoutSettings drops what kaasd would take for a setting.
func withoutSettings(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "KAASD_") && !strings.HasPrefix(e, "KAFKA_") {
			out = append(out, e)
		}
	}
	return out
}

// kill is kill -9.
func (b *daemon) kill() {
	if b.dead {
		return
	}
	b.dead = true
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// connect makes a client that tries nothing twice.
func connect(address string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(address), kgo.ClientID("quotakill"), kgo.RequestRetries(0), kgo.DialTimeout(time.Second))
}

// describe asks for all quotas.
func (b *daemon) describe(ctx context.Context) (map[entity]values, error) {
	client, err := connect(b.address)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	answer, err := client.SeedBrokers()[0].Request(ctx, kmsg.NewPtrDescribeClientQuotasRequest())
	if err != nil {
		return nil, err
	}
	got := answer.(*kmsg.DescribeClientQuotasResponse)
	if got.ErrorCode != 0 {
		return nil, fmt.Errorf("describe: error %d", got.ErrorCode)
	}
	all := map[entity]values{}
	for _, e := range got.Entries {
		var names entity
		for _, c := range e.Entity {
			if err := names.set(c.Type, c.Name); err != nil {
				return nil, err
			}
		}
		if _, twice := all[names]; twice {
			return nil, errors.New("describe: an entity is there twice: " + names.String())
		}
		all[names] = values{}
		for _, v := range e.Values {
			all[names][v.Key] = v.Value
		}
	}
	return all, nil
}
