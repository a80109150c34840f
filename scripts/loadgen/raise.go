package main

import (
	"fmt"
	"slices"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"

	"golang.org/x/sync/errgroup"
)

const (
	// asleep is what must be left of every mute when the limit is raised, so
	// that none ends by itself.
	asleep  = 5 * time.Second
	ballast = 1_000_000 // bytes, most of what makes the debt
)

// felt is how soon connections that were muted felt that their limit was raised.
type felt struct {
	Connections int     `json:"connections"`
	AlterMs     float64 `json:"alter_ms"` // from the request to its answer
	// From the answer to the alteration to the answer that was waited for:
	MedianMs float64 `json:"median_ms"`
	P99Ms    float64 `json:"p99_ms"`
	MaxMs    float64 `json:"max_ms"`
}

// raise lets every connection be muted with a request waiting behind it, gives
// an entity a higher limit or takes it away, and measures when each waiting request is answered.
func raise(o options) (any, error) {
	if err := prepare(o); err != nil {
		return nil, err
	}
	admin, err := o.dial(o.admin)
	if err != nil {
		return nil, err
	}
	defer admin.nc.Close()
	seats, err := o.connect()
	defer func() {
		for _, s := range seats {
			s.nc.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := o.mute(seats); err != nil {
		return nil, err
	}
	answered := make([]time.Time, len(seats))
	var all errgroup.Group
	for i, s := range seats {
		all.Go(func() (err error) {
			s.nc.SetDeadline(time.Now().Add(asleep - time.Second))
			_, err = s.receive()
			answered[i] = time.Now()
			return err
		})
	}
	time.Sleep(time.Second) // what was sent has arrived, and the machine is quiet
	began := time.Now()
	if err := admin.alter(o.entity, o.limit); err != nil {
		return nil, err
	}
	inForce := time.Now()
	if err := all.Wait(); err != nil {
		return nil, fmt.Errorf("a connection did not feel the raise: %w", err)
	}
	f := feel(answered, inForce)
	f.AlterMs = ms(inForce.Sub(began))
	if f.MaxMs > ms(o.within) {
		return f, fmt.Errorf("the last connection felt the raise after %.1f ms", f.MaxMs)
	}
	return f, nil
}

func feel(answered []time.Time, inForce time.Time) felt {
	slices.SortFunc(answered, time.Time.Compare)
	at := func(share float64) float64 { return ms(answered[int(share*float64(len(answered)-1))].Sub(inForce)) }
	return felt{Connections: len(answered), MedianMs: at(0.5), P99Ms: at(0.99), MaxMs: at(1)}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// mute charges each connection until it is muted for long, and sends one more
// request that waits until the mute ends. All connections make a small request
// before: those that come for the first time while there is a debt would be
// held unread. Where they share a bucket the first one makes most of the debt.
func (o options) mute(seats []seat) error {
	for _, s := range seats {
		if _, err := o.charge(s, minBytes); err != nil {
			return err
		}
	}
	for i, s := range seats {
		size := o.bytes
		if i == 0 && !o.buckets[0].clients[0].isMany() {
			size = ballast
		}
		throttle, err := o.charge(s, size)
		if err != nil {
			return err
		}
		if throttle < 2*asleep {
			return fmt.Errorf("a throttle of %v is too short to see a raise end it (smaller limit)", throttle)
		}
		w, err := o.produce(s.client, s.partition, minBytes)
		if err == nil {
			err = s.send(w.frame)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// charge makes one produce request and tells its throttle.
func (o options) charge(s seat, size int) (time.Duration, error) {
	w, err := o.produce(s.client, s.partition, size)
	if err != nil {
		return 0, err
	}
	s.nc.SetDeadline(time.Now().Add(asleep))
	if err := s.send(w.frame); err != nil {
		return 0, err
	}
	answer, err := s.receive()
	if err != nil {
		return 0, err
	}
	_, throttle, err := w.charge(answer)
	return throttle, err
}

// alter sets the produce quota of an entity, or removes it with a limit of 0.
func (p *peer) alter(entity []message.AlterClientQuotasEntity, limit float64) error {
	var got message.AlterClientQuotasResponse
	if err := p.call(kafka.KeyAlterClientQuotas, 1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{{
		Entity: entity,
		Ops:    []message.AlterClientQuotasOp{{Key: "producer_byte_rate", Value: limit, Remove: limit == 0}},
	}}}, &got); err != nil {
		return err
	}
	if len(got.Entries) != 1 {
		return fmt.Errorf("alter: %d answers for one entity", len(got.Entries))
	}
	if code := got.Entries[0].ErrorCode; code != kafka.NoError {
		return fmt.Errorf("alter: %v", code)
	}
	return nil
}
