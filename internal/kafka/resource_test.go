package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOperationsAreKafkas(t *testing.T) {
	for o := OpAny; o <= OpDescribeTokens; o++ { // kmsg does not know TWO_PHASE_COMMIT yet
		theirs, err := kmsg.ParseACLOperation(o.String())
		if err != nil || int8(theirs) != int8(o) {
			t.Errorf("%s is %d here and %d (%v) in kmsg", o, o, theirs, err)
		}
	}
}

func TestResourceTypesAreKafkas(t *testing.T) {
	for r := ResourceAny; r <= ResourceUser; r++ {
		theirs, err := kmsg.ParseACLResourceType(r.String())
		if err != nil || int8(theirs) != int8(r) {
			t.Errorf("%s is %d here and %d (%v) in kmsg", r, r, theirs, err)
		}
	}
}

func TestResourceNotation(t *testing.T) {
	for got, want := range map[string]string{
		Cluster.String():                 "CLUSTER:kafka-cluster",
		TopicResource("orders").String(): "TOPIC:orders",
		Operation(99).String():           "99",
		ResourceType(-1).String():        "-1",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
