package message_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// recorded is one exchange between a real client and Apache Kafka 4.4.0, taken
// off the wire; frames are without their size prefix.
type recorded struct {
	ID              string
	Client          string
	Request         hexBytes `json:"request_hex"`
	Response        hexBytes `json:"response_hex"`
	ResponseVersion *int16   `json:"response_version"`
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func recordings(t testing.TB) []recorded {
	t.Helper()
	f, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	for d := json.NewDecoder(f); d.More(); {
		var r recorded
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// odd are the requests that are not written back as they came.
var odd = map[string]string{
	"3.1-3":   "trailing", // four bytes after the body
	"3.9-3":   "tags",     // unknown tags in header and body
	"3.9-2":   "broken",   // the body ends in the first field
	"18.3-5":  "broken",   // the body ends in the first field
	"19.7-13": "broken",   // 0xff where the first array begins
	"29.3-8":  "trailing", // kafka-go ends with one byte too many
	"51.0-8":  "trailing", // so does librdkafka
	"51.0-9":  "trailing",
}

// strangers are the keys of recorded requests that kaasd does not read: those of
// transactions, share groups, telemetry, delegation tokens, the newer protocol
// of groups, brokers among themselves, and two that nobody knows.
var strangers = []kafka.APIKey{-1, 4, 7, 24, 25, 26, 27, 28, 38, 39, 40, 41, 52, 64, 65, 66, 68, 69, 71, 72, 76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92, 999}

// TestStrangers: the list is exact, so that a key is read from the day it is
// served.
func TestStrangers(t *testing.T) {
	var found []kafka.APIKey
	for _, r := range recordings(t) {
		key, _, _ := codec.PeekKey(r.Request)
		if _, ok := message.Lookup(key); !ok && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, strangers) {
		t.Errorf("got %v, want %v", found, strangers)
	}
}

// TestRecorded: what clients and Apache Kafka really send is read, is what
// kmsg reads, and is written back byte for byte.
func TestRecorded(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.ID, func(t *testing.T) {
			key, version, _ := codec.PeekKey(r.Request)
			a, ok := message.Lookup(key)
			if !ok || version < a.Min || version > a.Max {
				return
			}
			checkRequest(t, a, version, r)
			if r.ResponseVersion != nil {
				version = *r.ResponseVersion
			}
			if r.Response != nil {
				checkResponse(t, a, version, r)
			}
		})
	}
}

func checkRequest(t *testing.T, a message.API, version int16, r recorded) {
	h, body, err := codec.ParseHeader(r.Request, a.IsFlexible(version))
	if err != nil {
		t.Fatalf("header: %v", err)
	}
	d := directions(a)[0]
	m := d.ours()
	err = codec.Decode(body, version, a.IsFlexible(version), m, plenty)
	if (err != nil) != (odd[r.ID] == "broken") {
		t.Fatalf("request: %v", err)
	}
	if err != nil || odd[r.ID] == "tags" {
		return
	}
	again, err := codec.EncodeRequest(h, a.IsFlexible(version), m)
	if err != nil {
		t.Fatal(err)
	}
	again = again[4:]
	if rest, ok := bytes.CutPrefix(r.Request, again); !ok || len(rest) > 0 && odd[r.ID] != "trailing" {
		t.Fatalf("request encodes to\n%x, want\n%x", again, []byte(r.Request))
	}
	agree(t, a, version, d, encode(t, a, version, m))
}

func checkResponse(t *testing.T, a message.API, version int16, r recorded) {
	_, body, err := codec.ParseResponseHeader(r.Response, a.FlexibleResponseHeader(version))
	if err != nil {
		t.Fatalf("header: %v", err)
	}
	agree(t, a, version, directions(a)[1], body)
}
