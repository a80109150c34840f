package quota

import (
	"strings"
	"testing"

	"kaasd/internal/kafka"
)

// TestOwnersOfLongClientIDs: who pays by a default is told apart by the first 256
// bytes, so that ids of 32 KiB do not use up the memory; a setting that names all
// of an id is for it alone.
func TestOwnersOfLongClientIDs(t *testing.T) {
	e := newKafka()
	long := strings.Repeat("x", 4000)
	give(t, e, "client-id", kafka.ProducerByteRate, 1000)
	give(t, e, "client-id="+long+"named", kafka.ProducerByteRate, 7000)
	bucket := func(clientID string, want float64) *bucket {
		t.Helper()
		c := e.Client("u", clientID)
		if got := limitOf(c, Produce); got != want {
			t.Errorf("an id of %d bytes has %g, want %g", len(clientID), got, want)
		}
		return c.bucket(Produce)
	}
	one, other, named := bucket(long+"1", 1000), bucket(long+"2", 1000), bucket(long+"named", 7000)
	if one != other || one == named || one == bucket("y"+long, 1000) || bucket(long[:256], 1000) == one {
		t.Error("the wrong ones share a bucket")
	}
	for _, a := range e.accounts.all {
		if len(a.owner.ClientID.Name) > maxOwnerName+1 && !a.series.named {
			t.Errorf("an account keeps an id of %d bytes", len(a.owner.ClientID.Name))
		}
	}
	give(t, e, "client-id="+long+"named", kafka.ProducerByteRate, 0)
	if bucket(long+"named", 1000) != one {
		t.Error("not named any more, and still apart")
	}
}
