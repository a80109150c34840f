package broker_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// recorded is one exchange of a real client with Apache Kafka 4.4.0. The codec
// is tested with the same ones.
type recorded struct {
	ID              string
	User            string // who asks; empty: somebody who may do everything
	Before          []string
	Request         hexText `json:"request_hex"`
	Response        hexText `json:"response_hex"`
	ResponseVersion *int16  `json:"response_version"`
	// Outcome is closed when the connection was closed without an answer,
	// silent when none came and it stayed open, and gone when the client had
	// left before it.
	Outcome string
}

// throughLogIn says whether the exchange is part of a log-in, or of what is not
// one. Before are the exchanges that came first on its connection.
func (r *recorded) throughLogIn() bool { return r.Before != nil }

// recordings are all exchanges, in order of keys and versions.
func recordings(t *testing.T) []*recorded {
	t.Helper()
	f, err := os.Open("../codec/message/testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*recorded
	for lines := json.NewDecoder(f); lines.More(); {
		var r recorded
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, &r)
	}
	return all
}

type hexText []byte

func (h *hexText) UnmarshalText(text []byte) (err error) {
	*h = make([]byte, len(text)/2)
	_, err = hex.Decode(*h, text)
	return err
}

// TestRecorded sends every recorded request to a broker in which the recorded
// answer can be true, and holds the answer against it: who is closed or gets
// none, errors, what is null, empty or there, which numbers are below zero. The
// exchanges in which we differ are in differencesOfRecorded.
func TestRecorded(t *testing.T) {
	all := recordings(t)
	if len(all) != 1535 {
		t.Fatalf("%d exchanges, want 1535", len(all))
	}
	byID := map[string]*recorded{}
	for _, r := range all {
		byID[r.ID] = r
	}
	for _, r := range all {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			diff := r.replay(t, byID)
			if why := differsFromRecorded(r.ID); why == "" && diff != "" {
				t.Errorf("Kafka (-) and we (+) differ: %s", diff)
			} else if why != "" && diff == "" {
				t.Errorf("is listed as different (%s) and is not", why)
			}
		})
	}
}

// replay says how our answer differs.
func (r *recorded) replay(t *testing.T, byID map[string]*recorded) string {
	key, version, _ := codec.PeekKey(r.Request)
	ground := func(*broker.Config) {}
	if key == kafka.KeyDescribeLogDirs {
		ground = withFolder(t) // memory has no size
	}
	b := brokertest.Start(t, ground, kafkaModel, atOnce, withFile(t, recordedUsers), func(c *broker.Config) {
		anyTime(c)
		c.Access.Enabled, c.Access.AllowEveryoneIfNoACL, c.Access.SuperUsers = true, true, []string{"User:admin", anonymousUser}
	})
	s := newScene(t, b, r, key, version)
	if s.api.NewRequest == nil {
		r.Outcome = "closed" // as by Kafka a key that it does not know
	}
	s.prepare()
	p := s.enter(byID)
	defer p.Close()
	s.openSession(p)
	p.raw(sized(s.request()))
	return r.judge(p, s)
}

// anyTime has records of any time taken, so that it does not matter what day it
// is when the recordings are played.
func anyTime(c *broker.Config) {
	c.Properties["log.message.timestamp.after.max.ms"] = "9223372036854775807"
}

// judge says how what comes differs from what came.
func (r *recorded) judge(p *peer, s *scene) string {
	switch {
	case r.Outcome == "closed" && len(r.Response) == 0:
		if err := p.ended(); err != nil {
			return err.Error()
		}
		return ""
	case r.Outcome == "silent":
		return p.silence()
	}
	frame, err := p.frameOrEnd()
	switch {
	case r.Outcome == "gone":
		return ""
	case err != nil:
		return err.Error()
	case len(frame) < 4 || binary.BigEndian.Uint32(frame) != binary.BigEndian.Uint32(r.Request[4:]):
		return "the correlation id is another"
	}
	ours, err := s.read(frame)
	if err != nil {
		return err.Error()
	}
	return shapeOf(s.recorded).diff(shapeOf(ours))
}

// silence asks for the versions after a request that gets no answer.
func (p *peer) silence() string {
	p.correlation = 1 << 20
	p.raw(p.frame(0, &message.ApiVersionsRequest{}))
	frame, err := p.frameOrEnd()
	if err != nil {
		return err.Error()
	}
	if binary.BigEndian.Uint32(frame) != 1<<20+1 {
		return "there is an answer"
	}
	return ""
}

// errTrailing is an answer with more bytes than its version has.
var errTrailing = errors.New("bytes after the body of the answer")

// read decodes an answer in the layout of the recorded one.
func (s *scene) read(frame []byte) (codec.Message, error) {
	_, body, err := codec.ParseResponseHeader(frame, s.api.FlexibleResponseHeader(s.answered))
	if err != nil {
		return nil, err
	}
	m := s.api.NewResponse()
	flexible := s.api.IsFlexible(s.answered)
	if err := codec.Decode(body, s.answered, flexible, m, 1<<30); err != nil {
		return nil, err
	}
	again, err := codec.Encode(nil, s.answered, flexible, m)
	if err == nil && len(again) != len(body) {
		err = errTrailing
	}
	return m, err
}

// recordedUsers are those of the recordings.
const recordedUsers = `{"users":[{"username":"admin","authType":"plain","plainPassword":"admin-pw"},{"username":"mallory","authType":"plain","plainPassword":"mallory-pw"}]}`

const anonymousUser = "User:ANONYMOUS"

// enter is the connection that the request comes by.
func (s *scene) enter(byID map[string]*recorded) *peer {
	switch {
	case s.r.throughLogIn():
		p := dial(s.t, s.b.SASL)
		for _, id := range s.r.Before {
			p.raw(sized(byID[id].Request))
			p.readFrame()
		}
		return p
	case s.r.User != "":
		return dialAs(s.t, s.b.SASL, s.r.User, s.r.User+"-pw")
	}
	return dial(s.t, s.b.Plain)
}
