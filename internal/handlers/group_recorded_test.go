package handlers

import "testing"

// refusals are requests of real clients about groups that nobody has founded,
// by their names in the recordings. Apache Kafka knew some of the groups that
// those were asked of, as empty ones, which has no part in the answers.
var refusals = []string{
	"9.1-1", "9.1-2", "9.1-3", "9.2-2", "9.8-1", "10.1-3", "11.0-2", "11.0-3", "11.0-4", "11.7-2", "11.7-3", "12.0-2", "13.0-1", "13.3-1", "14.0-2",
	"14.5-6", "14.5-8", "15.6-2", "16.5-3", "42.2-3", "47.0-5",
}

// TestRecordedRefusals: the same request gets the answer that Apache Kafka 4.4.0
// gave, but for the words.
func TestRecordedRefusals(t *testing.T) {
	p := newRig(t).connect(plainListener)
	for _, name := range refusals {
		compareRecorded(t, p, name)
	}
}
