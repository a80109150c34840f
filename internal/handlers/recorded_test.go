package handlers

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
)

type exchanged struct{ request, response []byte }

// recordedAnswers are the exchanges that the codec is tested with.
var recordedAnswers = sync.OnceValues(func() (map[string]exchanged, error) {
	f, err := os.Open("../codec/message/testdata/recorded.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string]exchanged{}
	for d := json.NewDecoder(f); d.More(); {
		var r struct {
			ID       string
			Request  string `json:"request_hex"`
			Response string `json:"response_hex"`
		}
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		var e exchanged
		if e.request, err = hex.DecodeString(r.Request); err == nil {
			e.response, err = hex.DecodeString(r.Response)
		}
		if err != nil {
			return nil, err
		}
		all[r.ID] = e
	}
	return all, nil
})

// compareRecorded sends a recorded request and holds the answer against that of
// Apache Kafka 4.4.0, but for the words and the fields named.
func compareRecorded(t *testing.T, p *peer, name string, but ...string) {
	t.Helper()
	answers, err := recordedAnswers()
	if err != nil {
		t.Fatal(err)
	}
	recorded, ok := answers[name]
	if !ok {
		t.Errorf("%s is not recorded", name)
		return
	}
	key, version, _ := codec.PeekKey(recorded.request)
	api, _ := message.Lookup(key)
	answer, err := p.exchange(recorded.request)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
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
	ignored := cmp.FilterPath(func(path cmp.Path) bool {
		field, ok := path.Last().(cmp.StructField)
		return ok && (field.Name() == "ErrorMessage" || slices.Contains(but, field.Name()))
	}, cmp.Ignore())
	if diff := cmp.Diff(read(recorded.response), read(answer), ignored, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: Kafka's answer (-) and ours (+) differ: %s", name, diff)
	}
}
