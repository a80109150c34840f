package handlers

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// A connection at rest keeps nothing of its last request: not the metadata of
// that time, nor its mute with the limit it was for.
func TestRestingConnectionsForget(t *testing.T) {
	r := newRig(t, withKafkaModel)
	r.set(entry("client-id=tester", kafka.ProducerByteRate, 1.0))
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	mute, image := throttledOnce(t, p, id), weak.Make(r.Metadata.Image())
	r.topic("later", 1)
	for range 3 { // what hangs on a finalizer takes one more
		runtime.GC()
	}
	if mute.Value() != nil {
		t.Error("its mute is kept")
	}
	if image.Value() != nil {
		t.Error("the old metadata is kept")
	}
	runtime.KeepAlive(p)
}

// throttledOnce leaves no trace of the mute in p.
func throttledOnce(t *testing.T, p *peer, id kafka.TopicID) weak.Pointer[quota.Mute] {
	got := p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(5000)))
	if got.Mute == nil {
		t.Fatal("not throttled")
	}
	if p.last.Mute.Remaining(time.Now()) <= 0 {
		t.Error("not muted")
	}
	p.last.Mute.Done()
	defer func() { p.last.Mute = nil }()
	return weak.Make(p.last.Mute.(*quota.Mute))
}
