package handlers

import (
	"fmt"
	"reflect"
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

// weigh is the memory behind a value, in bytes, without its strings, which answers
// share with what they tell of.
func weigh(v reflect.Value) (bytes int) {
	switch v.Kind() {
	case reflect.Slice:
		bytes = v.Len() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			bytes += weigh(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			bytes += weigh(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			bytes = int(v.Type().Elem().Size()) + weigh(v.Elem())
		}
	}
	return bytes
}

// TestLongAnswersFitIntoWhatIsReserved: what is taken for an answer before it is made is
// about what it takes.
func TestLongAnswersFitIntoWhatIsReserved(t *testing.T) {
	r := newRig(t)
	p := r.connect(plainListener)
	const topics, partitions = 20, 5
	var resources []message.DescribeConfigsResource
	for i := range topics {
		name := fmt.Sprintf("topic-%d", i)
		r.topic(name, partitions)
		resources = append(resources, message.DescribeConfigsResource{ResourceType: configTopic, ResourceName: name})
	}
	all := p.ask(kafka.KeyMetadata, 12, &message.MetadataRequest{}).message.(*message.MetadataResponse)
	configs := p.ask(kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: resources, IncludeSynonyms: true, IncludeDocumentation: true}).
		message.(*message.DescribeConfigsResponse)
	for name, c := range map[string]struct{ takes, reserved int }{
		"all topics":  {weigh(reflect.ValueOf(all.Topics)), topics * (1 + partitions) * shownBytes},
		"all configs": {weigh(reflect.ValueOf(configs.Results)), configsBytes(resources)},
	} {
		if c.takes > c.reserved*3/2 || c.takes < c.reserved/4 {
			t.Errorf("%s: %d bytes are reserved, %d are taken", name, c.reserved, c.takes)
		}
	}
}
