package handlers

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"kaasd/internal/auth"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// story is what Apache Kafka 4.4.0 answered to a list of requests, recorded.
type story struct {
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
	Outcome     string // closed: the connection was closed without an answer
	Ignore      bool   // the step only prepares
	Note        string
}

// TestStories plays the recorded stories that the user model meets in full:
// codes, entities and values are Kafka's. Arrays are sets, texts are our own.
func TestStories(t *testing.T) {
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
			fs := vfs.Memory()
			r := newRig(t, ofStory(s, fs))
			for i, step := range s.Steps {
				if step.Restart {
					r.stop()
					r = newRig(t, ofStory(s, fs))
					continue
				}
				playStep(t, r, fmt.Sprintf("step %d %s", i, step.Note), step)
			}
		})
	}
}

// ofStory is the rig that a story is told of.
func ofStory(s story, fs vfs.FS) func(*setup) {
	return func(set *setup) {
		set.fs = fs
		if s.Config == "acl" {
			set.credentials, set.superUsers = storyUsers, "User:admin"
		}
	}
}

const storyUsers = `{"users":[{"username":"admin","authType":"plain","plainPassword":"admin-secret"},
	{"username":"alice","authType":"plain","plainPassword":"alice-secret"},{"username":"bob","authType":"plain","plainPassword":"bob-secret"},
	{"username":"carol","authType":"plain","plainPassword":"carol-secret"},{"username":"dave","authType":"plain","plainPassword":"dave-secret"}]}`

// connectAs is a connection of somebody, logged in if it has a name.
func (r *rig) connectAs(user string) *peer {
	if user == "" {
		return r.connect(plainListener)
	}
	c := r.connect(saslListener)
	handshake(c, 1, auth.Plain)
	if resp := authenticate(c, 2, "\x00"+user+"\x00"+user+"-secret"); resp.ErrorCode != kafka.NoError {
		r.t.Fatalf("%s cannot log in: %s", user, resp.ErrorCode)
	}
	return c
}

func playStep(t *testing.T, r *rig, name string, step storyStep) {
	t.Helper()
	api := apiNamed(t, step.API)
	body, err := hex.DecodeString(step.RequestHex)
	if err != nil {
		t.Fatal(err)
	}
	c := r.connectAs(step.Principal)
	header := c.frame(api.Key, step.Version, emptyMessage{})
	if api.IsFlexible(step.Version) {
		header = header[:len(header)-1] // the tags of the empty body
	}
	answer, err := c.exchange(append(header, body...))
	switch {
	case step.Outcome == "closed":
		if err == nil {
			t.Errorf("%s: was answered, Kafka closes the connection", name)
		}
		return
	case err != nil:
		t.Errorf("%s: %v", name, err)
		return
	case step.Ignore:
		return
	}
	_, got, err := codec.ParseResponseHeader(answer, api.FlexibleResponseHeader(step.Version))
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(step.ResponseHex)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(asSet(t, api, step.Version, want), asSet(t, api, step.Version, got)); diff != "" {
		t.Errorf("%s: Kafka's answer (-) and ours (+) differ: %s", name, diff)
	}
}

// emptyMessage makes a frame of a header alone.
type emptyMessage struct{}

func (emptyMessage) Fields(*codec.Cursor) {}

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

// asSet is a response as nested sets of text, without what is not compared.
func asSet(t *testing.T, api message.API, version int16, body []byte) any {
	t.Helper()
	resp := api.NewResponse()
	if err := codec.Decode(body, version, api.IsFlexible(version), resp, 1<<30); err != nil {
		t.Fatal(err)
	}
	return plain(reflect.ValueOf(resp))
}

var notCompared = map[string]bool{"ErrorMessage": true, "ThrottleTimeMs": true, "Documentation": true}

func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !notCompared[name] {
				fields[name] = plain(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		items := make([]string, 0, v.Len())
		for i := range v.Len() {
			items = append(items, fmt.Sprint(plain(v.Index(i))))
		}
		slices.SortFunc(items, cmp.Compare)
		return items
	}
	if code, ok := v.Interface().(kafka.Code); ok {
		return int16(code)
	}
	return v.Interface()
}
