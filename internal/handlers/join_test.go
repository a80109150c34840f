package handlers

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// admit has a frame judged before it is read, says for how long it is held, and
// ends that.
func (p *peer) admit(key kafka.APIKey, version int16, req codec.Message) (frame []byte, held time.Duration) {
	p.t.Helper()
	frame = p.frame(key, version, req)
	mute, err := p.session.Admit(len(frame), head(frame))
	if err != nil {
		p.t.Fatal(err)
	}
	if mute == nil {
		return frame, 0
	}
	defer mute.Done()
	return frame, mute.Remaining(time.Now())
}

// join produces on a connection that may be held first, and then does nothing.
// It says whether it is.
func (p *peer) join(req *message.ProduceRequest) (held bool) {
	p.t.Helper()
	frame, wait := p.admit(kafka.KeyProduce, 13, req)
	if wait > 0 {
		return true
	}
	if _, err := p.session.Serve(p.ctx, &server.Request{Frame: frame, Received: time.Now()}); err != nil {
		p.t.Fatal(err)
	}
	return false
}

// TestNewConnectionsJoin: who comes back for every request is held by whatever
// bucket it is charged to, once 16 have joined its debt; not where a request in
// debt is refused anyway.
func TestNewConnectionsJoin(t *testing.T) {
	topics := &message.CreateTopicsRequest{ValidateOnly: true, Topics: []message.CreateTopicsTopic{newTopic("x", 1, 1)}}
	for name, c := range map[string]struct {
		limit   string
		key     kafka.APIKey
		version int16
		req     codec.Message
		held    int
		longest time.Duration
	}{
		"work":               {kafka.RequestPercentage, kafka.KeyApiVersions, 3, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}, 4, time.Second},
		"mutations":          {kafka.ControllerMutationRate, kafka.KeyCreateTopics, 5, topics, 4, 78 * time.Second},
		"mutations, refused": {kafka.ControllerMutationRate, kafka.KeyCreateTopics, 6, topics, 0, 0},
		"mutations, asked for something else": {kafka.ControllerMutationRate, kafka.KeyApiVersions, 3,
			&message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, withKafkaModel)
				r.set(entry("client-id=tester", c.limit, 1.0))
				p := r.connect(plainListener)
				p.reading = time.Second
				p.create(5, 89)
				held, longest := 0, time.Duration(0)
				for range 20 {
					p := r.connect(plainListener)
					_, wait := p.admit(c.key, c.version, c.req)
					if wait == 0 {
						continue
					}
					held, longest = held+1, max(longest, wait)
					if _, again := p.admit(c.key, c.version, c.req); again > 0 {
						t.Errorf("held twice, for %v", again)
					}
				}
				if held != c.held || !near(longest, c.longest) {
					t.Errorf("%d of 20 new connections are held, for up to %v, want %d for %v", held, longest, c.held, c.longest)
				}
			})
		})
	}
}

// A connection that takes another client id is a new one to the buckets of that:
// small requests under one do not let large ones under the other through.
func TestNewConnectionsJoinUnderEachClientID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKafkaModel)
		r.set(entry("user=ANONYMOUS", kafka.ProducerByteRate, 100.0), entry("user=ANONYMOUS client-id=small", kafka.ProducerByteRate, 1e9))
		id, held := r.topic("orders", 1).ID, 0
		for range 20 {
			p := r.connect(plainListener)
			p.clientID = "small"
			if got := p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(100))); got.Mute != nil {
				t.Fatal("the small ones are in debt")
			}
			p.clientID = "large"
			if p.join(produceTo("", id, 0, 1, sized(5000))) {
				held++
			}
		}
		if held != 3 { // the first makes the debt, 16 join it
			t.Errorf("%d of 20 connections are held, want 3", held)
		}
	})
}

// TestNewConnectionsJoinTheLongerDebt: one mute, the longer one, and no connection is
// counted as muted afterwards.
func TestNewConnectionsJoinTheLongerDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKafkaModel)
		r.set(entry("client-id=tester", kafka.ProducerByteRate, 100.0, kafka.RequestPercentage, 1.0))
		req := produceTo("", r.topic("orders", 1).ID, 0, 1, sized(5000))
		p := r.connect(plainListener)
		p.reading = time.Second
		p.ask(kafka.KeyProduce, 13, req)
		for i := range 17 {
			_, wait := r.connect(plainListener).admit(kafka.KeyProduce, 13, req)
			if joins := i < 16; joins && wait > 0 || !joins && wait < 30*time.Second {
				t.Errorf("connection %d is held for %v, want what the bytes owe, and for the last one alone", i, wait)
			}
		}
		if n := r.metric("kaasd_quota_muted_connections", "quota=request"); n != 0 {
			t.Errorf("%g connections are left muted", n)
		}
	})
}

// TestNewConnectionsJoinTheDebtOfTheirClientID: who comes back for every
// produce is held by the bucket that its client id has, which its first frame
// names.
func TestNewConnectionsJoinTheDebtOfTheirClientID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKafkaModel)
		r.set(entry("client-id=tester", kafka.ProducerByteRate, 100.0))
		req := produceTo("", r.topic("orders", 1).ID, 0, 1, sized(5000))
		if got := r.connect(plainListener).ask(kafka.KeyProduce, 13, req); got.Mute == nil {
			t.Fatal("not in debt")
		}
		for clientID, want := range map[string]int{"tester": 4, "somebody else": 0} {
			held := 0
			for range 20 {
				p := r.connect(plainListener)
				p.clientID = clientID
				if _, wait := p.admit(kafka.KeyProduce, 13, req); wait > 0 {
					held++
				}
			}
			if held != want {
				t.Errorf("%d of 20 new connections of %s are held, want %d", held, clientID, want)
			}
		}
	})
}

// TestNewConnectionsJoinTheDebtOfALongClientID: the first bytes of a frame do not
// hold all of it, and say who pays.
func TestNewConnectionsJoinTheDebtOfALongClientID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKafkaModel)
		r.set(entry("client-id", kafka.ProducerByteRate, 100.0))
		req, held := produceTo("", r.topic("orders", 1).ID, 0, 1, sized(5000)), 0
		for range 20 {
			p := r.connect(plainListener)
			p.clientID = strings.Repeat("x", 600)
			if p.join(req) {
				held++
			}
		}
		if held != 3 { // the first makes the debt, 16 join it
			t.Errorf("%d of 20 new connections are held, want 3", held)
		}
	})
}
