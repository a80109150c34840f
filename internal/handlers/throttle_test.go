package handlers

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// bubble runs f in virtual time with a topic to write to, under each model.
// window is how many seconds' worth a full bucket holds.
func bubble(t *testing.T, f func(t *testing.T, r *rig, id kafka.TopicID, window float64)) {
	t.Helper()
	for _, m := range []struct {
		name   string
		choose func(*setup)
		window float64
	}{{"user", func(*setup) {}, 1}, {"kafka", withKafkaModel, 10}} {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, m.choose)
				f(t, r, r.topic("orders", 2).ID, m.window)
			})
		})
	}
}

// owed is the throttle for bytes that are due at a rate, and what is announced
// of it.
func owed(bytes, rate float64) (time.Duration, int32) {
	exact := time.Duration(bytes / rate * float64(time.Second))
	return exact, int32(math.Ceil(bytes/rate*1000 - 1e-6))
}

func near(a, b time.Duration) bool { return (a - b).Abs() <= time.Microsecond }

// TestProduceIsThrottled holds T27, T28 and the charge of header and body.
func TestProduceIsThrottled(t *testing.T) {
	for v := int16(3); v <= 13; v++ {
		bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
			const burst = 10_000
			rate := burst / window
			r.limit(rate, 0)
			p := r.connect(plainListener)
			first := p.ask(kafka.KeyProduce, v, produceTo("orders", id, 0, 1, sized(9000)))
			if got := first.message.(*message.ProduceResponse).ThrottleTimeMs; got != 0 || first.Mute != nil {
				t.Errorf("v%d: within the burst: %d ms", v, got)
			}
			second := p.ask(kafka.KeyProduce, v, produceTo("other", kafka.TopicID{1}, 0, 1, sized(9000)))
			wait, ms := owed(float64(first.request+second.request-burst), rate)
			if got := second.message.(*message.ProduceResponse).ThrottleTimeMs; got != ms || !near(second.muted(), wait) {
				t.Errorf("v%d: %d ms, muted for %v, want %d and %v, the failed one included", v, got, second.muted(), ms, wait)
			}
			third := r.connect(plainListener).ask(kafka.KeyProduce, v, produceTo("orders", id, 0, 1, sized(100)))
			if wait, _ := owed(float64(first.request+second.request+third.request-burst), rate); !near(third.muted(), wait) {
				t.Errorf("v%d: another connection is muted for %v, want %v", v, third.muted(), wait)
			}
		})
	}
}

// TestThrottleWithoutAnswer holds T26.
func TestThrottleWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
		r.limit(1000/window, 0)
		got := r.connect(plainListener).ask(kafka.KeyProduce, 9, produceTo("orders", id, 0, 0, sized(5000)))
		if wait, _ := owed(float64(got.request-1000), 1000/window); got.message != nil || !near(got.muted(), wait) || got.Close {
			t.Errorf("muted for %v, want %v", got.muted(), wait)
		}
	})
}

// TestThrottleAtTheEdges holds T21 and T33.
func TestThrottleAtTheEdges(t *testing.T) {
	t.Run("less than a millisecond", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
			r.limit(10_000_000/window, 0)
			p := r.connect(plainListener)
			for range 11 {
				if got := p.ask(kafka.KeyProduce, 9, produceTo("orders", id, 0, 1, sized(909_000))); got.Mute != nil {
					t.Errorf("muted for %v", got.muted())
				}
			}
		})
	})
	t.Run("one byte per second", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
			r.limit(1, 0)
			p, before := r.connect(plainListener), int32(0)
			for range 4 {
				got := p.ask(kafka.KeyProduce, 9, produceTo("orders", id, 0, 1, sized(900_000))).message.(*message.ProduceResponse).ThrottleTimeMs
				if got <= 0 || got < before {
					t.Errorf("%d ms after %d", got, before)
				}
				before = got
			}
			if before != math.MaxInt32 {
				t.Errorf("the last is %d ms, want %d", before, math.MaxInt32)
			}
		})
	})
}

// fill appends n batches of about size bytes.
func fill(t *testing.T, r *rig, id kafka.TopicID, n, size int) {
	t.Helper()
	p := r.connect(plainListener)
	for range n {
		p.produce(13, "", id, sized(size))
	}
}

// TestFetchIsThrottled holds T22: a client in debt gets nothing, is not charged
// for it, and goes on where it was.
func TestFetchIsThrottled(t *testing.T) {
	for _, v := range []int16{4, 7, 11, 12, 13, 18} {
		bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
			const burst = 10_000
			rate := burst / window
			fill(t, r, id, 5, 4000)
			r.limit(0, rate)
			p, req, charged := r.connect(plainListener), fetchFrom("orders", id, 0, 0), 0
			var last reply
			for last.Mute == nil { // the burst, and the fetch that goes beyond it
				last = p.ask(kafka.KeyFetch, v, req)
				charged += last.size
				if got := last.message.(*message.FetchResponse); len(got.Responses) != 1 || len(got.Responses[0].Partitions[0].Records.Bytes) == 0 {
					t.Fatalf("v%d: nothing after %d bytes", v, charged)
				}
			}
			wait, ms := owed(float64(charged-burst), rate)
			if got := last.message.(*message.FetchResponse).ThrottleTimeMs; got < ms || last.muted() < wait {
				t.Fatalf("v%d: %d ms, muted for %v, want %d and %v at least", v, got, last.muted(), ms, wait)
			}
			empty := p.ask(kafka.KeyFetch, v, req)
			if got := empty.message.(*message.FetchResponse); got.ThrottleTimeMs < ms || len(got.Responses) > 0 || got.SessionID != 0 || got.ErrorCode != 0 {
				t.Fatalf("v%d: in debt: %+v", v, got)
			}
			time.Sleep(wait) // what the records are worth; the empty answer is free
			r.Quotas.SetBase(map[string]quota.Limits{kafka.Anonymous.Name: {kafka.ConsumerByteRate: 2 * rate}})
			again := p.ask(kafka.KeyFetch, v, req)
			if got := again.message.(*message.FetchResponse); len(got.Responses) != 1 || len(got.Responses[0].Partitions[0].Records.Bytes) == 0 {
				t.Errorf("v%d: when the debt is paid: %+v", v, got)
			}
		})
	}
}

// TestFetchBooks holds the long-run rate: all charges are the burst and the rate
// times the time until the announced throttle has passed, never more and at
// most 1 % less.
func TestFetchBooks(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
		const burst = 50_000
		rate := burst / window
		fill(t, r, id, 100, 5000)
		r.limit(0, rate)
		p, charged, began := r.connect(plainListener), 0, time.Now()
		for offset := int64(0); offset < 100; {
			last := p.ask(kafka.KeyFetch, 13, fetchFrom("", id, 0, offset))
			if got := last.message.(*message.FetchResponse); len(got.Responses) > 0 {
				charged += last.size
				offset += int64(len(values(t, got.Responses[0].Partitions[0].Records.Bytes)))
			}
			time.Sleep(last.muted())
		}
		paid := burst + rate*time.Since(began).Seconds()
		if float64(charged) > paid+1 || float64(charged) < 0.99*paid {
			t.Errorf("charged %d bytes, the quota gives %.0f", charged, paid)
		}
	})
}

// TestThrottledSession holds T23 and T24.
func TestThrottledSession(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
		fill(t, r, id, 3, 4000)
		p := r.connect(plainListener)
		full := fetchFrom("", id, 0, 0)
		full.SessionEpoch = 0
		session := p.ask(kafka.KeyFetch, 13, full).message.(*message.FetchResponse).SessionID
		r.limit(0, 100)
		for p.ask(kafka.KeyFetch, 13, fetchFrom("", id, 0, 0)).Mute == nil {
		}
		got := p.ask(kafka.KeyFetch, 13, full).message.(*message.FetchResponse)
		if got.SessionID != 0 || len(got.Responses) > 0 || got.ThrottleTimeMs == 0 || len(r.sessions.byID) != 1 {
			t.Errorf("a throttled full fetch: %+v, %d sessions", got, len(r.sessions.byID))
		}
		more := &message.FetchRequest{MaxBytes: 1 << 20, SessionID: session, SessionEpoch: 1}
		last := p.ask(kafka.KeyFetch, 13, more)
		if got := last.message.(*message.FetchResponse); got.SessionID != session || len(got.Responses) > 0 || got.ThrottleTimeMs == 0 || got.ErrorCode != 0 {
			t.Errorf("a throttled one in the session: %+v", got)
		}
		time.Sleep(last.muted())
		more.SessionEpoch = 2
		if got := p.ask(kafka.KeyFetch, 13, more).message.(*message.FetchResponse); got.ErrorCode != 0 || len(got.Responses) != 1 {
			t.Errorf("the one after it: %+v", got)
		}
	})
}

// TestBatchAboveTheQuota holds T25 and T46.
func TestBatchAboveTheQuota(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
		fill(t, r, id, 2, 50_000)
		r.limit(0, 1000/window)
		req := fetchFrom("orders", id, 0, 0)
		req.ReplicaID = 1
		got := r.connect(plainListener).ask(kafka.KeyFetch, 11, req)
		wait, ms := owed(float64(got.size-1000), 1000/window)
		resp := got.message.(*message.FetchResponse)
		if resp.ThrottleTimeMs != ms || !near(got.muted(), wait) || len(values(t, resp.Responses[0].Partitions[0].Records.Bytes)) != 1 {
			t.Errorf("%d ms for %d bytes, want %d", resp.ThrottleTimeMs, got.size, ms)
		}
	})
}

// TestParkedFetchTakesNothing: a fetch that waits for records leaves the
// balance to the others.
func TestParkedFetchTakesNothing(t *testing.T) {
	handedOut := func(parked int) (sizes []int) {
		bubble(t, func(t *testing.T, r *rig, id kafka.TopicID, window float64) {
			fill(t, r, id, 100, 1000)
			r.limit(0, 50_000/window)
			done := make(chan reply)
			for range parked {
				go func() { done <- r.connect(plainListener).ask(kafka.KeyFetch, 13, waiting(id, 100, 5*time.Second, 1)) }()
			}
			synctest.Wait()
			sizes = append(sizes, r.connect(plainListener).ask(kafka.KeyFetch, 13, fetchFrom("", id, 0, 0)).size)
			for range parked {
				if got := <-done; len(got.message.(*message.FetchResponse).Responses) != 1 {
					t.Error("a fetch that waited in vain was throttled")
				}
			}
		})
		return sizes
	}
	if alone, beside := handedOut(0), handedOut(20); !slices.Equal(alone, beside) {
		t.Errorf("%d bytes handed out while others wait, %d when none do", beside, alone)
	}
}
