package handlers

import (
	"fmt"
	"testing"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// longest is a writer that remembers its longest write, and what came in all.
type longest struct{ one, all int }

func (w *longest) Write(p []byte) (int, error) {
	w.one, w.all = max(w.one, len(p)), w.all+len(p)
	return len(p), nil
}

// TestLongAnswersAreNotInMemory: of an answer of megabytes, which a request of few
// bytes may want, pieces are in memory.
func TestLongAnswersAreNotInMemory(t *testing.T) {
	p := newRig(t).connect(plainListener)
	var topics []message.MetadataRequestTopic
	for i := range 20_000 {
		name := fmt.Sprintf("no-such-topic-%d", i)
		topics = append(topics, message.MetadataRequestTopic{Name: &name})
	}
	frame := p.frame(kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: topics})
	answer, err := p.session.Serve(p.ctx, &server.Request{Frame: frame, Received: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Payload.Release()
	var w longest
	if _, err := answer.Payload.WriteTo(&w); err != nil {
		t.Fatal(err)
	}
	if w.all != answer.Payload.Size() || w.all < 500<<10 || w.one > 80<<10 {
		t.Errorf("%d bytes, said to be %d, were written with %d at once", w.all, answer.Payload.Size(), w.one)
	}
}
