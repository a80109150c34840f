package handlers

import (
	"bytes"
	"io"
	"testing"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// serve is a request without the reading of its answer. The frame is given
// as it was read: a broker writes offsets into the batches in it.
func (p *peer) serve(request *server.Request, frame []byte) {
	own := request.Frame
	copy(own, frame)
	defer func() { request.Frame = own }() // a Fetch drops it
	a, err := p.session.Serve(p.ctx, request)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := a.Payload.WriteTo(io.Discard); err != nil {
		p.t.Fatal(err)
	}
	a.Payload.Release()
}

func requestOf(frame []byte) *server.Request {
	return &server.Request{Frame: bytes.Clone(frame), Received: time.Now()}
}

// dataFrames are the requests whose cost is held: a producer's and a
// consumer's, inside a session and outside.
func dataFrames(t testing.TB, r *rig, p *peer, size int) map[string][]byte {
	id := r.topic("orders", 1).ID
	p.produce(13, "", id, sized(size))
	in := fetchFrom("", id, 0, 0)
	in.MaxBytes = int32(size)
	return map[string][]byte{
		"produce v9":  p.frame(kafka.KeyProduce, 9, produceTo("orders", id, 0, 1, sized(size))),
		"produce v13": p.frame(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(size))),
		"fetch v12":   p.frame(kafka.KeyFetch, 12, fetchFrom("orders", id, 0, 0)),
		"fetch v18":   p.frame(kafka.KeyFetch, 18, in),
	}
}

// TestAllocations holds that a request allocates at most ten times, its codec
// included, and no more for more record bytes.
func TestAllocations(t *testing.T) {
	most := 10.0
	if raced { // pools then drop some of what they hold
		most *= 1.5
	}
	for _, size := range []int{200, 1000} {
		plain, charged := newRig(t), newRig(t, withKafkaModel)
		plain.limit(1e12, 1e12)
		charged.set(everyQuota())
		for _, r := range []*rig{plain, charged} {
			p := r.connect(plainListener)
			for name, frame := range dataFrames(t, r, p, size) {
				request := requestOf(frame)
				n := testing.AllocsPerRun(200, func() { p.serve(request, frame) })
				if n > most {
					t.Errorf("%s of %d bytes: %v allocations, want at most %v", name, size, n, most)
				}
			}
		}
	}
}

func BenchmarkData(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		benchData(b, newRig(b), size, "")
		r := newRig(b, withKafkaModel)
		r.set(everyQuota())
		benchData(b, r, size, "/charged")
	}
}

func benchData(b *testing.B, r *rig, size int, suffix string) {
	p := r.connect(plainListener)
	for name, frame := range dataFrames(b, r, p, size) {
		b.Run(name+"/"+sizeName(size)+suffix, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			request := requestOf(frame)
			for b.Loop() {
				p.serve(request, frame)
			}
		})
	}
}

// everyQuota limits whoever comes to more than there is.
func everyQuota() message.AlterClientQuotasEntry {
	return entry("user client-id", kafka.ProducerByteRate, 1e15, kafka.ConsumerByteRate, 1e15, kafka.RequestPercentage, 1e9, kafka.ControllerMutationRate, 1e9)
}

func sizeName(n int) string {
	if n < 64<<10 {
		return "1KiB"
	}
	return "64KiB"
}
