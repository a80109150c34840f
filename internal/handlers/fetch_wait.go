package handlers

import (
	"context"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/storage"
)

// await reads until there is something to answer: the bytes asked for, all that
// one read can give, an error, or the end of the client's patience. A fetch that waits
// holds no records and no share of a quota; and memory for requests, which what it was
// decoded to takes, only until others want it. An error is a peer that has gone.
func (f *fetching) await(req *message.FetchRequest) error {
	f.c.at = f.c.now
	least := min(max(int(req.MinBytes), 0), f.max)
	deadline := f.c.now.Add(time.Duration(req.MaxWaitMs) * time.Millisecond)
	for {
		f.read(f.max)
		if f.found >= least || f.more || f.failed || f.ended || len(f.wants) == 0 || !f.c.at.Before(deadline) {
			return nil
		}
		req.Topics, req.ForgottenTopicsData = nil, nil // it knows its logs
		f.c.request.Keep(int64(len(f.wants) * wantBytes))
		if err := f.park(least-f.found, deadline); err != nil {
			return err
		}
	}
}

// park waits until missing bytes were appended, at most until the deadline.
// When the server stops, or others wait for the memory of the request, the client gets
// what there is.
func (f *fetching) park(missing int, deadline time.Time) error {
	began := time.Now()
	f.release()
	parked, resume := f.c.request.Park(f.c.ctx)
	defer resume()
	w := storage.NewWaiter(int64(missing))
	for i := range f.wants {
		defer f.wants[i].log.Watch(w, f.wants[i].ends.highWatermark)()
	}
	timer := time.NewTimer(deadline.Sub(began))
	defer timer.Stop()
	select {
	case <-w.C():
	case <-timer.C:
	case <-parked.Done():
		f.ended = true
	}
	f.c.at = time.Now()
	f.c.parked += f.c.at.Sub(began)
	return context.Cause(f.c.ctx) // the peer is gone
}
