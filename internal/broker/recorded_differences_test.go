package broker_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// recordedDifference is where the answer to a recorded request has another
// shape than that of Apache Kafka 4.4.0.
type recordedDifference struct {
	ids string
	why string
}

// differsFromRecorded says why the answer to an exchange differs; empty when it
// must not.
func differsFromRecorded(id string) string {
	for _, d := range slices.Concat(differencesOfRecorded, recordedAtBadMoments) {
		if slices.Contains(strings.Fields(d.ids), id) {
			return d.why
		}
	}
	return ""
}

// differencesOfRecorded are by choice; docs/kafka-differences.md tells each in
// these words.
var differencesOfRecorded = []recordedDifference{
	{"0.11-3 0.11-4 0.11-5 0.11-6 0.11-7 0.11-8 0.12-5 0.13-5", "batches of transactions are refused"},
	{"10.1-1 10.1-2 10.2-1 10.2-2 10.2-6 10.2-7 10.3-1 10.3-3 10.3-4 10.4-1 10.5-1 10.6-5 10.6-7 10.6-8 10.6-9 10.6-11", "there is no coordinator of transactions"},
	{"22.0-4 22.1-2 22.2-2 22.3-2 22.4-3 22.4-5 22.4-7 22.4-8 22.5-4 22.5-5 22.5-7 22.5-9", "there are no transactional producers"},
	{"1.11-4 1.11-10 1.16-2 61.0-3", "there are no transactions to tell of"},
	{"10.6-10", "there is no coordinator of share groups"},
	{"18.3-1 18.3-2 18.3-3 18.3-8 18.4-1 18.4-2 18.4-3", "there are no features to tell"},
	{"57.2-1 57.2-2", "there are no features to change"},
	{"18.5-1 18.5-2 18.5-3 18.5-4 18.5-5 18.5-6 18.5-7 18.5-8 18.5-9 18.5-10 18.5-11", "version 5 is above the list: 35 in the layout of version 0"},
	{"0.9-5", "a codec that there is not is 87, not an unknown error"},
	{"0.9-14", "compressed data is not opened unless log.validate.records says so"},
	{"0.9-16", "the log start is not told beside a batch that is refused as such"},
	{"0.9-19", "the time of a batch that was sent again is not told"},
	{"0.7-8", "records that are null are 87, where Kafka leaves the client waiting"},
	{"3.1-7", "a request in the middle of the log-in closes, without an empty answer first"},
	{"3.0-2 3.0-3 3.6-7 3.13-5", "a topic that is made because it was asked for is there in the same answer"},
	{"0.12-3 0.13-3 19.3-3 19.4-6 19.5-3 19.6-2 21.2-3 21.2-5 44.1-1 44.1-3", "logs are not compacted"},
	{"19.7-20", "two new topics of one request whose names collide are one too many"},
	{"44.1-2", "there are no pools of threads to set"},
	{"44.1-10", "a bad operation is 42 for every resource"},
	{"32.4-11 74.0-1 74.0-2 74.1-1 74.1-2 74.1-4 74.1-9", "groups and client metrics have no configs"},
	{"51.0-1", "both mechanisms of a user may be set at once"},
}

// recordedAtBadMoments are exchanges whose answers nobody could give again.
var recordedAtBadMoments = []recordedDifference{
	{"0.8-1 0.9-1 0.11-9 8.10-3 9.10-3 10.6-4 10.6-6 22.4-6 22.4-10 22.5-3", "the recorded broker was starting"},
	{"0.13-4", "the recorded broker was deleting the topic"},
	{"1.9-5 1.11-8 19.7-10 20.6-7 37.3-7", "the recorded client was throttled"},
	{"43.1-4", "the recorded broker was given no time"},
	{"0.9-9 0.9-10 1.17-4 1.18-2 1.18-7 47.0-2", "what the client did before has no part in the exchange; TestFacts does it"},
}

// TestRecordedDifferencesAreTold holds the page about them to the table.
func TestRecordedDifferencesAreTold(t *testing.T) {
	page, err := os.ReadFile("../../docs/kafka-differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differencesOfRecorded {
		if !strings.Contains(string(page), d.why) {
			t.Errorf("docs/kafka-differences.md does not say that %s", d.why)
		}
	}
}
