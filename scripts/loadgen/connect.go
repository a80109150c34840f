package main

import (
	"errors"
	"fmt"
	"net"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"

	"golang.org/x/sync/errgroup"
)

// doors is what became of connections.
type doors struct {
	Passed  int     `json:"passed"`
	Refused int     `json:"refused"`
	Least   float64 `json:"least"`  // of the limit, between the first answer and the last attempt
	Most    float64 `json:"most"`   // and between the first attempt and the last answer
	Served  float64 `json:"served"` // seconds from the first attempt to the last answer
	HeldMin float64 `json:"held_min"`
	HeldMax float64 `json:"held_max"` // seconds until a refused one was closed
}

// attempt is one connection: answered, or closed in silence after a while.
type attempt struct {
	at       time.Time
	answered bool
	held     time.Duration
}

// connections opens one connection after the other, evenly over the time, and
// counts those that are served. Refused ones must be closed without a byte.
func connections(o options) (any, error) {
	attempts := make([]attempt, o.connections)
	var all errgroup.Group
	began := time.Now()
	for i := range attempts {
		time.Sleep(time.Until(began.Add(o.duration * time.Duration(i) / time.Duration(o.connections))))
		attempts[i].at = time.Now()
		p, err := o.dial(o.buckets[0].clients[0])
		if err != nil {
			return nil, err
		}
		defer p.nc.Close()
		all.Go(func() error { return attempts[i].knock(p, o.within) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	d := count(attempts, o.limit, o.burst)
	return d, d.judge(o.limit)
}

// knock asks what the broker speaks, which anybody may.
func (a *attempt) knock(p *peer, within time.Duration) error {
	p.nc.SetDeadline(a.at.Add(within))
	err := p.call(kafka.KeyApiVersions, 0, &message.ApiVersionsRequest{}, &message.ApiVersionsResponse{})
	a.answered, a.held = err == nil, time.Since(a.at)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return fmt.Errorf("a connection was neither answered nor closed in %v", within)
	}
	return nil
}

// count holds what passed against the limit. When the broker has met a connection
// is not known but for this: after it was tried, and before its answer.
func count(attempts []attempt, limit float64, burst time.Duration) doors {
	first, last := attempts[0], attempts[len(attempts)-1]
	var d doors
	for _, a := range attempts {
		if a.answered {
			d.Passed++
			d.Served = max(d.Served, a.at.Add(a.held).Sub(first.at).Seconds())
			continue
		}
		if held := a.held.Seconds(); d.Refused == 0 {
			d.HeldMin, d.HeldMax = held, held
		} else {
			d.HeldMin, d.HeldMax = min(d.HeldMin, held), max(d.HeldMax, held)
		}
		d.Refused++
	}
	d.Least = min(limit*(burst+last.at.Sub(first.at)-first.held).Seconds(), float64(len(attempts)))
	d.Most = limit * (burst.Seconds() + d.Served)
	return d
}

// judge allows one connection more or less, since the broker counts whole ones.
func (d doors) judge(limit float64) error {
	if limit == 0 && d.Refused > 0 {
		return fmt.Errorf("%d connections were refused", d.Refused)
	}
	if passed := float64(d.Passed); limit > 0 && (passed < d.Least-1 || passed > d.Most+1) {
		return fmt.Errorf("%d connections passed, the limit allows %.1f to %.1f", d.Passed, d.Least, d.Most)
	}
	return nil
}
