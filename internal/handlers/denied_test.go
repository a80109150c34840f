package handlers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Who is refused something is told by the name that the broker knows: each
// operation on each resource once in 10 s.
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
		again["suppressed"] = int64(2)
		if diff := cmp.Diff([]map[string]any{line("TOPIC:orders"), line("TOPIC:refunds"), again}, got); diff != "" {
			t.Errorf("what is told (-want +got):\n%s", diff)
		}
	})
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
