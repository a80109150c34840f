package handlers

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// Entities of all connections of the rig, who are anonymous testers.
const (
	theUser   = "user=ANONYMOUS"
	theClient = "client-id=tester"
	thePair   = "user=ANONYMOUS client-id=tester"
)

// liveChanges are the kinds of change that free a muted connection. Each has the
// limits that mute and the alterations that follow; 0 removes.
var liveChanges = map[string]struct{ before, after []setting }{
	"raised":                       {[]setting{{theUser, low}}, []setting{{theUser, high}}},
	"raised and lowered":           {[]setting{{"user", low}}, []setting{{"user", high}, {"user", low}}},
	"removed":                      {[]setting{{theUser, low}}, []setting{{theUser, 0}}},
	"a default removed":            {[]setting{{"client-id", low}}, []setting{{"client-id", 0}}},
	"removed before a higher one":  {[]setting{{thePair, low}, {"user client-id", high}}, []setting{{thePair, 0}}},
	"raised by a stronger level":   {[]setting{{"user", low}}, []setting{{theUser, high}}},
	"raised by the client's own":   {[]setting{{"client-id", low}}, []setting{{theClient, high}}},
	"from the user to the pair":    {[]setting{{theUser, low}}, []setting{{thePair, high}}},
	"from the client to the pair":  {[]setting{{theClient, low}}, []setting{{thePair, high}}},
	"from the client to the user":  {[]setting{{theClient, low}}, []setting{{theUser, high}}},
	"from clients to users":        {[]setting{{"client-id", low}}, []setting{{"user", high}}},
	"from the user to any pair":    {[]setting{{theUser, low}}, []setting{{"user=ANONYMOUS client-id", high}}},
	"from users to the client's":   {[]setting{{"user", low}}, []setting{{"user " + theClient, high}}},
	"to a bucket that is low, too": {[]setting{{theUser, low}}, []setting{{thePair, low}}},
}

const low, high = 1.0, 1e12

type setting struct {
	entity string
	value  float64
}

// liveKinds are the requests that each quota mutes.
var liveKinds = map[string]struct {
	key string
	ask func(p *peer, id kafka.TopicID) server.Mute
}{
	"produce": {kafka.ProducerByteRate, func(p *peer, id kafka.TopicID) server.Mute {
		return p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(1000))).Mute
	}},
	"fetch": {kafka.ConsumerByteRate, func(p *peer, id kafka.TopicID) server.Mute {
		return p.ask(kafka.KeyFetch, 13, fetchFrom("", id, 0, 0)).Mute
	}},
	"request": {kafka.RequestPercentage, func(p *peer, _ kafka.TopicID) server.Mute {
		p.reading = time.Second
		return p.ask(kafka.KeyMetadata, 12, &message.MetadataRequest{}).Mute
	}},
	"mutation": {kafka.ControllerMutationRate, func(p *peer, _ kafka.TopicID) server.Mute {
		one := newTopic(newTopicID().String(), 1, 1)
		return p.ask(kafka.KeyCreateTopics, 5, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{one}}).Mute
	}},
	"new connections": {kafka.ProducerByteRate, func(p *peer, id kafka.TopicID) server.Mute {
		frame := p.frame(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(1000)))
		mute, err := p.session.Admit(len(frame), head(frame))
		if err != nil {
			p.t.Error(err)
		}
		if mute == nil { // one of those who may join
			return p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(1000))).Mute
		}
		return mute
	}},
}

// TestChangeOnAThousandConnections: an alteration is in force on all muted
// connections at once, whatever kind it is of and whatever mutes them, and when
// their client pays from another bucket while the old one keeps its limit.
func TestChangeOnAThousandConnections(t *testing.T) {
	conns := 1000
	if raced { // which takes ten times as long
		conns = 100
	}
	for change, c := range liveChanges {
		for kind, k := range liveKinds {
			t.Run(change+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, withKafkaModel)
					id := r.topic("orders", 1).ID
					fill(t, r, id, 1, 1000)
					for _, s := range c.before {
						r.set(entry(s.entity, k.key, s.value))
					}
					held := 0
					var muted sync.WaitGroup
					for range conns {
						if m := k.ask(r.connect(plainListener), id); m != nil {
							held++
							muted.Go(func() { wait(m) })
						}
					}
					if held < conns-20 {
						t.Errorf("%d of %d connections are muted", held, conns)
					}
					<-time.After(100 * time.Millisecond)
					begin := time.Now()
					for _, s := range c.after {
						if s.value == 0 {
							r.set(entry(s.entity, "-"+k.key))
						} else {
							r.set(entry(s.entity, k.key, s.value))
						}
					}
					muted.Wait()
					if took := time.Since(begin); took > time.Millisecond {
						t.Errorf("the last one wakes after %v", took)
					}
				})
			})
		}
	}
}

// wait is a muted connection, as the server mutes it.
func wait(m server.Mute) {
	defer m.Done()
	for {
		changed := m.Changed()
		left := m.Remaining(time.Now())
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-changed:
		}
	}
}
