package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/kafka"
)

// player is one user of the demo and what was measured of it.
type player struct {
	demo   *demo
	user   string
	source string  // of the limit: base, override; empty: none
	limit  float64 // bytes per second
	most   int64   // stop after so many bytes; 0: only after the duration

	acked   atomic.Int64 // records
	bytes   atomic.Int64 // of records
	fetched int64        // records
	meter   meter
}

// The records of the demo, and how many wait at most: what waits at the end
// must still pass the quota.
const (
	demoRecord   = 8 << 10
	demoBuffered = 64
	demoBatch    = 64 << 10
)

// produce sends as fast as the broker lets it.
func (p *player) produce(ctx context.Context) error {
	client, err := kgo.NewClient(p.demo.options(p.user, kgo.WithHooks(&p.meter), kgo.DefaultProduceTopic(topicOf(p.user)),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(demoBatch), kgo.MaxBufferedRecords(demoBuffered))...)
	if err != nil {
		return fmt.Errorf("connect as %s: %w", p.user, err)
	}
	defer client.Close()
	if err := reach(ctx, client, p.demo.address); err != nil {
		return err
	}
	value := make([]byte, demoRecord)
	rand.Read(value)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for end := time.Now().Add(p.demo.duration); time.Now().Before(end) && ctx.Err() == nil && (p.most == 0 || p.bytes.Load() < p.most); {
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("produce as %s: %w", p.user, err))
				return
			}
			p.acked.Add(1)
			p.bytes.Add(demoRecord)
		})
	}
	err = client.Flush(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// fetchBack counts what can be read of what was acknowledged.
func (p *player) fetchBack(ctx context.Context) error {
	client, err := kgo.NewClient(p.demo.options(p.user, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topicOf(p.user): {0: kgo.NewOffset().AtStart()},
	}))...)
	if err != nil {
		return fmt.Errorf("connect as %s: %w", p.user, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for p.fetched < p.acked.Load() {
		fetches := client.PollFetches(ctx)
		p.fetched += int64(fetches.NumRecords())
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("fetch as %s, %d of %d records back: %w", p.user, p.fetched, p.acked.Load(), err)
		}
	}
	return nil
}

// meter counts what the quota counts: the bytes of produce requests, as their
// answers come in. The client calls its hooks in the order of the answers.
type meter struct {
	mu        sync.Mutex
	first     time.Time // the first answer
	last      time.Time // the last answer
	bytes     int64     // of all requests that were answered
	from      time.Time // when the first throttle was over
	until     time.Time // when the throttle of the last answer is over
	burst     int64     // bytes up to the first throttle
	throttled time.Duration
}

// frameSize is the size before each frame, which no quota counts.
const frameSize = 4

// OnBrokerE2E counts a request when its answer is there.
func (m *meter) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if kafka.APIKey(key) != kafka.KeyProduce || e2e.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = time.Now()
	m.until = m.last
	if m.first.IsZero() {
		m.first = m.last
	}
	m.bytes += int64(e2e.BytesWritten) - frameSize
}

// OnBrokerThrottle notes the throttle of the answer that came last.
func (m *meter) OnBrokerThrottle(_ kgo.BrokerMetadata, throttle time.Duration, _ bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.throttled += throttle
	m.until = m.last.Add(throttle)
	if m.from.IsZero() {
		m.from, m.burst = m.until, m.bytes
	}
}

// rate is in bytes per second: from when the first throttle was over, since
// before that the burst passes, to when the last one is. A bucket that is
// empty at both ends has passed exactly limit x time.
func (m *meter) rate() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes, span := m.bytes-m.burst, m.until.Sub(m.from)
	if m.from.IsZero() {
		bytes, span = m.bytes, m.last.Sub(m.first)
	}
	if span <= 0 {
		return 0
	}
	return float64(bytes) / span.Seconds()
}

// verdict says whether the user was treated as its quota says, or how not.
func (p *player) verdict() error {
	rate := p.meter.rate()
	switch {
	case p.fetched != p.acked.Load():
		return fmt.Errorf("%s: %d records came back of %d", p.user, p.fetched, p.acked.Load())
	case p.limit == 0 && p.meter.throttled > 0:
		return fmt.Errorf("%s: throttled for %v without a quota", p.user, p.meter.throttled)
	case p.limit == 0:
		return nil
	case p.meter.throttled == 0:
		return fmt.Errorf("%s: never throttled", p.user)
	case rate < 0.9*p.limit || rate > 1.1*p.limit:
		return fmt.Errorf("%s: %s/s is more than 10%% off %s", p.user, roughSize(rate), formatByteRate(p.limit))
	}
	return nil
}

// demoRow is one user's result.
type demoRow struct {
	User             string  `json:"user"`
	Quota            string  `json:"quota"`
	Source           string  `json:"source,omitempty"`
	Limit            float64 `json:"limit,omitempty"` // bytes per second
	Measured         float64 `json:"measured"`        // bytes per second
	ThrottledSeconds float64 `json:"throttled_seconds"`
	Records          int64   `json:"records"`
	Fetched          int64   `json:"fetched"`
	OK               bool    `json:"ok"`
	Fault            string  `json:"fault,omitempty"`
}

// conclude prints the table and says how it went.
func (d *demo) conclude(players []*player) error {
	var rows []demoRow
	var faults []error
	for _, p := range players {
		fault := p.verdict()
		row := demoRow{p.user, "produce", p.source, p.limit, p.meter.rate(), p.meter.throttled.Seconds(), p.acked.Load(), p.fetched, fault == nil, ""}
		if fault != nil {
			row.Fault = fault.Error()
			faults = append(faults, exitWith(exitFailed, "%w", fault))
		}
		rows = append(rows, row)
	}
	took := time.Since(d.began)
	if d.app.json() {
		if err := d.app.document(map[string]any{"users": rows, "ok": faults == nil, "seconds": took.Seconds()}); err != nil {
			return err
		}
		return errors.Join(faults...)
	}
	d.app.printDemo(rows)
	d.app.printf("\n%d of %d as expected in %.1f s\n", len(rows)-len(faults), len(rows), took.Seconds())
	return errors.Join(faults...)
}

func (a *app) printDemo(rows []demoRow) {
	lines := [][]string{{"USER", "QUOTA", "SOURCE", "LIMIT", "MEASURED", "THROTTLED", "ok"}}
	for _, r := range rows {
		limit, throttled, ok := "-", "0 s", "yes"
		if r.Limit > 0 {
			limit = roughSize(r.Limit) + "/s"
		}
		if r.ThrottledSeconds > 0 {
			throttled = fmt.Sprintf("%.1f s", r.ThrottledSeconds)
		}
		if !r.OK {
			ok = "no"
		}
		lines = append(lines, []string{r.User, r.Quota, orElse(r.Source, "-"), limit, roughSize(r.Measured) + "/s", throttled, ok})
	}
	table(a.out, "  ", lines)
}
