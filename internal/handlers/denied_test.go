package handlers

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Who is refused something is told by the name that the broker knows: each
// operation on each resource once in 10 s, and how often else it was refused
// something meanwhile.
func TestDenialsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withACLs)
		p := r.connectAs("alice")
		for range 3 {
			for _, name := range []string{"orders", "refunds"} {
				p.ask(kafka.KeyProduce, 9, produceTo(name, kafka.TopicID{}, 0, 1, batch("a")))
			}
		}
		time.Sleep(11 * time.Second)
		p.ask(kafka.KeyProduce, 9, produceTo("orders", kafka.TopicID{}, 0, 1, batch("a")))
		var got []map[string]any
		for _, line := range r.lines.FilterMessage("denied").All() {
			told := map[string]any{}
			for _, field := range []string{"principal", "operation", "resource", "api", "suppressed"} {
				if value, ok := line.ContextMap()[field]; ok {
					told[field] = value
				}
			}
			got = append(got, told)
		}
		line := func(resource string) map[string]any {
			return map[string]any{"principal": "User:alice", "operation": "WRITE", "resource": resource, "api": "Produce"}
		}
		again := line("TOPIC:orders")
		again["suppressed"] = int64(4)
		if diff := cmp.Diff([]map[string]any{line("TOPIC:orders"), line("TOPIC:refunds"), again}, got); diff != "" {
			t.Errorf("what is told (-want +got):\n%s", diff)
		}
	})
}

// TestDenialsOfOneDoNotHideAnothers: who asks for very many things that are refused
// silences the lines about himself alone.
func TestDenialsOfOneDoNotHideAnothers(t *testing.T) {
	r := newRig(t, withACLs)
	asked := &message.MetadataRequest{}
	for i := range 2000 {
		asked.Topics = append(asked.Topics, message.MetadataRequestTopic{Name: ptr(fmt.Sprint("topic", i))})
	}
	r.connectAs("alice").ask(kafka.KeyMetadata, 9, asked)
	r.connect(plainListener).ask(kafka.KeyProduce, 9, produceTo("orders", kafka.TopicID{}, 0, 1, batch("a")))
	lines := r.lines.FilterMessage("denied")
	if of := lines.FilterField(zap.Stringer("principal", kafka.Anonymous)).Len(); of != 1 {
		t.Errorf("got %d lines about the other one, want one", of)
	}
	if n := lines.Len(); n < 2 || n > 100 {
		t.Errorf("got %d lines, want some of alice and one of the other", n)
	}
}

// TestWhoMayWriteIsNotDenied: producers without duplicates who may write to a topic
// are granted their ids without a line that something was denied; others are not.
func TestWhoMayWriteIsNotDenied(t *testing.T) {
	for mayWrite, want := range map[bool]kafka.Code{true: kafka.NoError, false: kafka.ClusterAuthorizationFailed} {
		r := newRig(t, withACLs)
		if mayWrite {
			if codes := create(r.connectAs("admin"), rule("User:alice", kafka.OpWrite, kafka.ResourceTopic, "orders")); codes[0] != kafka.NoError {
				t.Fatal(codes)
			}
		}
		var resp message.InitProducerIdResponse
		r.connectAs("alice").get(kafka.KeyInitProducerID, 4, &message.InitProducerIdRequest{ProducerID: -1, ProducerEpoch: -1}, &resp)
		if told := r.lines.FilterMessage("denied").Len(); resp.ErrorCode != want || told > 0 == mayWrite {
			t.Errorf("who may write %v: got %v, want %v, and %d lines of a denial", mayWrite, resp.ErrorCode, want, told)
		}
	}
}
