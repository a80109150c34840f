package broker_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// story is what Apache Kafka 4.4.0 answered to a list of requests, recorded.
type story struct {
	Name   string
	Why    string
	Config string // acl: with an authorizer whose super user is admin
	Steps  []storyStep
}

type storyStep struct {
	Restart     bool
	Principal   string // who asks; empty: somebody without a log-in
	API         string
	Version     int16
	RequestHex  string `json:"request_hex"`
	ResponseHex string `json:"response_hex"`
	// Outcome is closed when the connection was closed without an answer, and
	// silent when none came and it stayed open.
	Outcome string
	Ignore  bool // the step only prepares
	Note    string
}

func stories(t *testing.T) []story {
	t.Helper()
	f, err := os.Open("testdata/stories.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []story
	for lines := json.NewDecoder(f); lines.More(); {
		var s story
		if err := lines.Decode(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// difference is where kaasd answers other than Apache Kafka 4.4.0, on purpose.
type difference struct {
	story string
	steps []int // counted from 0
	why   string
}

// stepsOf are the steps of one story that differ.
func stepsOf(all []difference, story string) map[int]bool {
	steps := map[int]bool{}
	for _, d := range all {
		if d.story != story {
			continue
		}
		for _, step := range d.steps {
			steps[step] = true
		}
	}
	return steps
}

// TestStoriesOfTheKafkaModel plays every recording: codes, entities and values
// are Kafka's, but for what stands in differencesOfKafka. Arrays are sets, texts
// are our own.
func TestStoriesOfTheKafkaModel(t *testing.T) {
	all := stories(t)
	if len(all) != 78 {
		t.Fatalf("%d stories, want 78", len(all))
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) { s.play(t, kafkaModel, differencesOfKafka) })
	}
}

// TestStoriesOfTheUserModel plays those that the user model meets as well, but
// for what stands in differencesOfUser.
func TestStoriesOfTheUserModel(t *testing.T) {
	left := map[string]bool{}
	for _, name := range metByUserModel {
		left[name] = true
	}
	for _, s := range stories(t) {
		if left[s.Name] {
			t.Run(s.Name, func(t *testing.T) { s.play(t, func(*broker.Config) {}, differencesOfUser) })
			delete(left, s.Name)
		}
	}
	if len(left) > 0 {
		t.Errorf("there are no stories %v", left)
	}
}

// play tells a story to a broker of its own.
func (s story) play(t *testing.T, model func(*broker.Config), all []difference) {
	differing := stepsOf(all, s.Name)
	changes := []func(*broker.Config){model}
	if slices.ContainsFunc(s.Steps, func(step storyStep) bool { return step.Restart }) {
		changes = append(changes, withFolder(t))
	}
	if s.Config == "acl" {
		changes = append(changes, withFile(t, storyUsers), func(c *broker.Config) {
			c.Access.Enabled, c.Access.SuperUsers = true, []string{"User:admin"}
		})
	}
	b := brokertest.Start(t, changes...)
	for i, step := range s.Steps {
		if step.Restart {
			b.Stop()
			b = brokertest.Start(t, changes...)
			continue
		}
		diff := step.play(t, b)
		if differs := differing[i]; diff != "" && !differs {
			t.Errorf("step %d %s: Kafka (-) and we (+) differ: %s", i, step.Note, diff)
		} else if diff == "" && differs {
			t.Errorf("step %d %s: is listed as different and is not", i, step.Note)
		}
	}
}

const storyUsers = `{"users":[{"username":"admin","authType":"plain","plainPassword":"admin-secret"},
	{"username":"alice","authType":"plain","plainPassword":"alice-secret"},{"username":"bob","authType":"plain","plainPassword":"bob-secret"},
	{"username":"carol","authType":"plain","plainPassword":"carol-secret"},{"username":"dave","authType":"plain","plainPassword":"dave-secret"}]}`

// play sends the step's request on a connection of its own and says how the
// answer differs from Kafka's.
func (step storyStep) play(t *testing.T, b *brokertest.Broker) string {
	t.Helper()
	p := dialFor(t, b, step.Principal)
	defer p.Close()
	api := apiNamed(t, step.API)
	p.raw(p.frameOf(api, step.Version, unhex(t, step.RequestHex)))
	if step.Outcome == "closed" {
		if err := p.ended(); err != nil {
			return err.Error()
		}
		return ""
	}
	got := p.answer(p.correlation)
	switch {
	case step.Ignore:
		return ""
	case step.Outcome == "silent":
		return "we answer"
	case api.FlexibleResponseHeader(step.Version):
		got = got[1:]
	}
	return gocmp.Diff(asSet(t, api, step.Version, unhex(t, step.ResponseHex)), asSet(t, api, step.Version, got))
}

func dialFor(t *testing.T, b *brokertest.Broker, principal string) *peer {
	t.Helper()
	if principal == "" {
		return dial(t, b.Plain)
	}
	return dialAs(t, b.SASL, principal, principal+"-secret")
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

// asSet is a response as nested sets of text, without what is not compared.
func asSet(t *testing.T, api message.API, version int16, body []byte) any {
	t.Helper()
	resp := api.NewResponse()
	if err := codec.Decode(body, version, api.IsFlexible(version), resp, 1<<30); err != nil {
		t.Fatal(err)
	}
	return unordered(reflect.ValueOf(resp))
}

var notCompared = map[string]bool{"ErrorMessage": true, "ThrottleTimeMs": true, "Documentation": true}

func unordered(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return unordered(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !notCompared[name] {
				fields[name] = unordered(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		items := make([]string, 0, v.Len())
		for i := range v.Len() {
			items = append(items, fmt.Sprintf("%#v", unordered(v.Index(i))))
		}
		slices.SortFunc(items, cmp.Compare)
		return items
	}
	if code, ok := v.Interface().(kafka.Code); ok {
		return int16(code)
	}
	return v.Interface()
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

// TestDifferencesAreTold holds the page about them to the table.
func TestDifferencesAreTold(t *testing.T) {
	page, err := os.ReadFile("../../docs/kafka-differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differencesOfKafka {
		if d.why == "" || !strings.Contains(string(page), "`"+d.story+"`") {
			t.Errorf("docs/kafka-differences.md does not name %s", d.story)
		}
	}
}
