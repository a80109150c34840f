package handlers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// metric is the value of a series, or how many values a histogram has; -1 when
// there is none.
func (r *rig) metric(name string, labels ...string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetName()+"="+l.GetValue())
			}
			if !slices.Equal(have, labels) {
				continue
			}
			if h := m.GetHistogram(); h != nil {
				return float64(h.GetSampleCount())
			}
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return -1
}

// TestTwoQuotasOnOneRequest holds T35: the longer wait is announced and muted
// for, once, and only its quota counts a throttle.
func TestTwoQuotasOnOneRequest(t *testing.T) {
	const rate = 1000 // bytes per second: a bucket of 10,000
	for _, c := range []struct {
		name   string
		bytes  int
		byWork bool // is the longer
	}{{"work is longer", 10_200, true}, {"bytes are longer", 12_000, false}} {
		for _, kind := range []string{"produce", "fetch"} {
			t.Run(kind+": "+c.name, func(t *testing.T) {
				onePercent(t, func(t *testing.T, r *rig) {
					id := r.topic("orders", 1).ID
					p := r.connect(plainListener)
					p.produce(13, "", id, sized(c.bytes))
					key, req := kafka.KeyFetch, codec.Message(fetchFrom("", id, 0, 0))
					if kind == "produce" {
						key, req = kafka.KeyProduce, produceTo("", id, 0, 1, sized(c.bytes))
					}
					r.set(entry("user=ANONYMOUS", kafka.ProducerByteRate, float64(rate), kafka.ConsumerByteRate, float64(rate)))
					p.reading = tooMuch // which takes no time here, so that both waits begin together
					got := p.ask(key, 13, req)
					charged := got.request
					if kind == "fetch" {
						charged = got.size
					}
					byBytes, _ := owed(float64(charged-10*rate), rate)
					want, winner, loser := byBytes, kind, "request"
					if fourHundred > byBytes {
						want, winner, loser = fourHundred, "request", kind
					}
					if (winner == "request") != c.byWork {
						t.Fatalf("%v by bytes", byBytes)
					}
					if ms := throttleOf(got.message); !about(got.muted(), want) || !about(time.Duration(ms)*time.Millisecond, want) {
						t.Errorf("%d ms, muted for %v, want %v", ms, got.muted(), want)
					}
					for quota, want := range map[string]float64{winner: 1, loser: 0} {
						if n := r.metric("kaasd_quota_throttle_seconds", "quota="+quota); n != want {
							t.Errorf("%v throttles of %s, want %v", n, quota, want)
						}
						if n := r.metric("kaasd_quota_muted_connections", "quota="+quota); n != want {
							t.Errorf("%v connections muted by %s, want %v", n, quota, want)
						}
					}
					got.Mute.Done()
					if n := r.metric("kaasd_quota_muted_connections", "quota="+winner); n != 0 {
						t.Errorf("%v connections stay muted", n)
					}
					// The one that was not announced is owed all the same.
					for _, quota := range []string{winner, loser} {
						if n := r.metric("kaasd_quota_checks_total", "level="+levelOf(quota), "outcome=throttled", "quota="+quota); n != 1 {
							t.Errorf("%v requests found %s in debt", n, quota)
						}
					}
				})
			})
		}
	}
}

// levelOf is where the quotas of TestTwoQuotasOnOneRequest are set.
func levelOf(quota string) string {
	if quota == "request" {
		return "user-default"
	}
	return "user"
}

func throttleOf(m any) int32 {
	switch m := m.(type) {
	case *message.ProduceResponse:
		return m.ThrottleTimeMs
	case *message.FetchResponse:
		return m.ThrottleTimeMs
	}
	panic(fmt.Sprintf("%T", m))
}
