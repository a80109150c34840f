package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// constant is an answer that costs nothing to make.
type constant []byte

func (p constant) Size() int { return len(p) }

func (p constant) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p)
	return int64(n), err
}

func (p constant) Release() {}

// BenchmarkRoundTrip sends a request and reads its answer over loopback; the
// peer allocates nothing, so allocations are the server's.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d", size), func(b *testing.B) {
			var answer Payload = constant(framed(make([]byte, 100)))
			r := start(b, testOptions(), &handler{serve: func(context.Context, *Request) (Answer, error) {
				return Answer{Payload: answer, Alone: true}, nil
			}})
			c := r.dial()
			request, got := framed(make([]byte, size)), make([]byte, 104)
			b.SetBytes(int64(len(request)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParts writes an answer of many small parts and a large one, as a
// fetch does.
func BenchmarkParts(b *testing.B) {
	var answer Payload = parts{make([]byte, 64<<10)}
	r := start(b, testOptions(), &handler{serve: func(context.Context, *Request) (Answer, error) {
		return Answer{Payload: answer, Alone: true}, nil
	}})
	c := r.dial()
	request, got := framed([]byte("fetch")), make([]byte, answer.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, got); err != nil {
			b.Fatal(err)
		}
	}
}

// parts is ten small parts, each followed by records of which one is large.
type parts struct{ records []byte }

func (p parts) Size() int { return 10*(50+200) + len(p.records) }

func (p parts) WriteTo(w io.Writer) (int64, error) {
	for range 10 {
		if _, err := w.Write(p.records[:50]); err != nil {
			return 0, err
		}
		if _, err := w.Write(p.records[:200]); err != nil {
			return 0, err
		}
	}
	_, err := w.Write(p.records)
	return int64(p.Size()), err
}

func (p parts) Release() {}

// BenchmarkMuted has 1,000 connections from a second process muted again and
// again for half a second on average; one iteration is one second of it. It
// reports the server's CPU in percent of a core, and how late mutes end.
func BenchmarkMuted(b *testing.B) {
	var late lateness
	r := start(b, testOptions(), &handler{serve: func(_ context.Context, q *Request) (Answer, error) {
		d := time.Duration(binary.BigEndian.Uint32(q.Frame)) * time.Millisecond
		return Answer{Payload: constant(framed(nil)), Alone: true, Mute: &timedMute{until: q.Received.Add(d), late: &late}}, nil
	}})
	clients(b, "muted", 1000, r.Listeners()[0].Address)
	reportCPU(b)
	b.ReportMetric(float64(late.p99().Microseconds()), "us-late-p99")
}

// BenchmarkMutedBare has the same traffic answered by bare loops of read, write
// and sleep: what no server of one goroutine per connection goes below.
func BenchmarkMutedBare(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go answerAndSleep(nc)
		}
	}()
	clients(b, "muted", 1000, l.Addr().String())
	reportCPU(b)
}

// answerAndSleep serves what ask sends.
func answerAndSleep(nc net.Conn) {
	defer nc.Close()
	request, answer := make([]byte, 8), framed(nil)
	for {
		if _, err := io.ReadFull(nc, request); err != nil {
			return
		}
		if _, err := nc.Write(answer); err != nil {
			return
		}
		time.Sleep(time.Duration(binary.BigEndian.Uint32(request[4:])) * time.Millisecond)
	}
}

// reportCPU lets seconds pass and reports the processor time of this process.
func reportCPU(b *testing.B) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := cpu(b)
	for b.Loop() {
		<-tick.C
	}
	b.ReportMetric(100*(cpu(b)-began).Seconds()/b.Elapsed().Seconds(), "%core")
}

// BenchmarkLookOut looks once at 1,000 connections that do not read: those that
// are registered, and those that have to be peeked at.
func BenchmarkLookOut(b *testing.B) {
	for name, watched := range map[string]bool{"watched": true, "peeked": false} {
		b.Run(name, func(b *testing.B) {
			r := start(b, testOptions(), &handler{serve: echo})
			clients(b, "idle", 1000, r.Listeners()[0].Address)
			for _, c := range r.connections() {
				c.watched = c.watched && watched
				c.still.Store(true)
			}
			var l lookout
			b.ReportAllocs()
			for b.Loop() {
				r.look(&l)
			}
		})
	}
}

// timedMute notes how long after its end it is done.
type timedMute struct {
	until time.Time
	late  *lateness
}

func (m *timedMute) Remaining(now time.Time) time.Duration { return m.until.Sub(now) }
func (m *timedMute) Changed() <-chan struct{}              { return nil }
func (m *timedMute) Done()                                 { m.late.add(time.Since(m.until)) }

// lateness counts by 100 us, up to 100 ms.
type lateness struct {
	mu     sync.Mutex
	counts [1000]int
	total  int
}

func (l *lateness) add(d time.Duration) {
	if d < 0 {
		return // ended by the stop
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[min(d/(100*time.Microsecond), 999)]++
	l.total++
}

func (l *lateness) p99() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := 0
	for i, n := range l.counts {
		if seen += n; seen*100 >= l.total*99 {
			return time.Duration(i+1) * 100 * time.Microsecond
		}
	}
	return 0
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
