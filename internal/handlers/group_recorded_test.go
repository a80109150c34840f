package handlers

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
)

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
	answers := recordedAnswers(t)
	p := newRig(t).connect(plainListener)
	for _, name := range refusals {
		recorded, ok := answers[name]
		if !ok {
			t.Errorf("%s is not recorded", name)
			continue
		}
		key, version, _ := codec.PeekKey(recorded.request)
		api, _ := message.Lookup(key)
		answer, err := p.exchange(recorded.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		read := func(frame []byte) codec.Message {
			_, body, err := codec.ParseResponseHeader(frame, api.FlexibleResponseHeader(version))
			m := api.NewResponse()
			if err == nil {
				err = codec.Decode(body, version, api.IsFlexible(version), m, 1<<20)
			}
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		words := cmp.FilterPath(func(path cmp.Path) bool { return path.Last().String() == ".ErrorMessage" }, cmp.Ignore())
		if diff := cmp.Diff(read(recorded.response), read(answer), words, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: Kafka's answer (-) and ours (+) differ: %s", name, diff)
		}
	}
}

type exchanged struct{ request, response []byte }

// recordedAnswers are the exchanges that the codec is tested with.
func recordedAnswers(t *testing.T) map[string]exchanged {
	t.Helper()
	f, err := os.Open("../codec/message/testdata/recorded.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]exchanged{}
	for d := json.NewDecoder(z); d.More(); {
		var r struct {
			ID       string
			Request  string `json:"request_hex"`
			Response string `json:"response_hex"`
		}
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		var e exchanged
		if e.request, err = hex.DecodeString(r.Request); err == nil {
			e.response, err = hex.DecodeString(r.Response)
		}
		if err != nil {
			t.Fatal(err)
		}
		all[r.ID] = e
	}
	return all
}
