package broker_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// story is what Apache Kafka 4.4.0 answered to a list of requests, recorded.
type story struct {
	Why   string
	Steps []storyStep
}

type storyStep struct {
	API         string
	Version     int16
	RequestHex  string `json:"request_hex"`
	ResponseHex string `json:"response_hex"`
	Outcome     string // closed: the connection was closed without an answer
	Note        string
}

// TestQuotaStories plays recordings that the user model meets in full, over
// sockets. Arrays are sets and texts are our own.
func TestQuotaStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s story
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			b := brokertest.Start(t)
			for i, step := range s.Steps {
				play(t, b.Plain, fmt.Sprintf("step %d %s", i, step.Note), step)
			}
		})
	}
}

func play(t *testing.T, address, name string, step storyStep) {
	t.Helper()
	api := apiNamed(t, step.API)
	p := dial(t, address)
	frame := p.frame(step.Version, api.NewRequest())
	head := frame[4:18:18] // key, version, correlation id, "peer"
	if api.IsFlexible(step.Version) {
		head = append(head, 0)
	}
	body := unhex(t, step.RequestHex)
	p.raw(slices.Concat([]byte{0, 0, byte((len(head) + len(body)) >> 8), byte(len(head) + len(body))}, head, body))
	if step.Outcome == "closed" {
		if err := p.ended(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	got := p.answer(p.correlation)
	if api.FlexibleResponseHeader(step.Version) {
		got = got[1:]
	}
	if diff := cmp.Diff(told(t, api, step.Version, unhex(t, step.ResponseHex)), told(t, api, step.Version, got)); diff != "" {
		t.Errorf("%s: Kafka's answer (-) and ours (+) differ: %s", name, diff)
	}
}

func apiNamed(t *testing.T, name string) message.API {
	t.Helper()
	for _, api := range message.APIs() {
		if api.Name == name {
			return api
		}
	}
	t.Fatalf("there is no API %s", name)
	return message.API{}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// told is what an answer about quotas says, as a sorted list.
func told(t *testing.T, api message.API, version int16, body []byte) []string {
	t.Helper()
	resp := api.NewResponse()
	if err := codec.Decode(body, version, api.IsFlexible(version), resp, 1<<30); err != nil {
		t.Fatal(err)
	}
	switch resp := resp.(type) {
	case *message.AlterClientQuotasResponse:
		return toldOfAlter(resp)
	case *message.DescribeClientQuotasResponse:
		return toldOfDescribe(resp)
	}
	t.Fatalf("a story about %s", api.Name)
	return nil
}

func toldOfAlter(resp *message.AlterClientQuotasResponse) []string {
	var all []string
	for _, e := range resp.Entries {
		var entity []string
		for _, c := range e.Entity {
			entity = append(entity, fmt.Sprintf("%q=%q", c.EntityType, deref(c.EntityName)))
		}
		slices.Sort(entity)
		all = append(all, fmt.Sprint(entity, " ", e.ErrorCode))
	}
	slices.Sort(all)
	return all
}

func toldOfDescribe(resp *message.DescribeClientQuotasResponse) []string {
	if resp.ErrorCode != kafka.NoError {
		return []string{fmt.Sprint(resp.ErrorCode, " ", resp.Entries == nil)}
	}
	var all []string
	for _, e := range resp.Entries {
		var entity, quotas []string
		for _, c := range e.Entity {
			entity = append(entity, fmt.Sprintf("%q=%q", c.EntityType, deref(c.EntityName)))
		}
		for _, v := range e.Values {
			quotas = append(quotas, fmt.Sprintf("%s=%v", v.Key, v.Value))
		}
		slices.Sort(entity)
		slices.Sort(quotas)
		all = append(all, fmt.Sprint(entity, " ", quotas))
	}
	slices.Sort(all)
	return all
}

// TestSeedFrames sends the smallest AlterClientQuotas request and holds its
// answer to the byte: an entity without a type is refused and echoed.
func TestSeedFrames(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.raw(unhex(t, "0000001f"+"0031000100000000000000"+"02020101000201"+"0000000000000000"+"0000000000"))
	got := p.readFrame()
	if !bytes.HasPrefix(got, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 42}) || !bytes.HasSuffix(got, []byte{2, 1, 1, 0, 0, 0}) {
		t.Errorf("got %x", got)
	}
}
