package handlers

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kaasd/internal/auth"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// works has the requests of an API take so long before they are answered as
// ever.
func (r *rig) works(key kafka.APIKey, d time.Duration) {
	route := r.routes.find(key)
	handle := route.handle
	route.handle = func(c *call, body []byte) (codec.Message, error) {
		time.Sleep(d)
		return handle(c, body)
	}
}

// onePercent is a rig in virtual time where everybody together has 10 ms of work
// a second: a bucket of 100 ms.
func onePercent(t *testing.T, f func(t *testing.T, r *rig), choose ...func(*setup)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, append(choose, withKafkaModel)...)
		r.set(entry("user", kafka.RequestPercentage, 1.0))
		f(t, r)
	})
}

// tooMuch is work that leaves 4 ms of debt in the bucket of onePercent, which
// take fourHundred to pay.
const (
	tooMuch     = 104 * time.Millisecond
	fourHundred = 400 * time.Millisecond
)

func about(got, want time.Duration) bool { return (got - want).Abs() <= time.Millisecond }

// TestEveryRequestIsCharged holds that a request of any API and version is
// charged the time it took, that its answer says the throttle where it has the
// field, and that its connection is muted in any case.
func TestEveryRequestIsCharged(t *testing.T) {
	for _, route := range newRig(t).routes.inOrder {
		for v := route.low; v <= route.high; v++ {
			t.Run(fmt.Sprintf("%s v%d", route.Name, v), func(t *testing.T) {
				onePercent(t, func(t *testing.T, r *rig) {
					r.works(route.Key, tooMuch)
					p := r.connect(plainListener)
					answer, err := p.exchange(p.frame(route.Key, v, asked(route.API)))
					if err != nil {
						t.Fatal(err)
					}
					if got := muteOf(p.last); !about(got, fourHundred) {
						t.Errorf("muted for %v, want %v", got, fourHundred)
					}
					got, has := throttleIn(t, route.Key, v, answer[4:])
					if has && (got < 400 || got > 401) || !has && got != 0 {
						t.Errorf("a throttle of %d ms is announced (the version has the field: %v)", got, has)
					}
				})
			})
		}
	}
}

// asked is a request that is answered.
func asked(api message.API) codec.Message {
	req := api.NewRequest()
	if p, ok := req.(*message.ProduceRequest); ok {
		p.Acks = 1
	}
	return req
}

// throttleIn is the throttle that another reader finds in a response, and
// whether its version has the field. header is what is left of the header.
func throttleIn(t *testing.T, key kafka.APIKey, version int16, rest []byte) (ms int32, has bool) {
	t.Helper()
	api, _ := message.Lookup(key)
	if api.FlexibleResponseHeader(version) {
		rest = rest[1:]
	}
	resp := kmsg.ResponseForKey(int16(key))
	resp.SetVersion(version)
	field := reflect.ValueOf(resp).Elem().FieldByName("ThrottleMillis")
	if !field.IsValid() {
		return 0, false
	}
	without := resp.AppendTo(nil)
	field.SetInt(1)
	has = string(resp.AppendTo(nil)) != string(without)
	field.SetInt(0)
	if err := resp.ReadFrom(rest); err != nil {
		t.Fatal(err)
	}
	return int32(field.Int()), has
}

// Every answer that can say a throttle is told one.
func TestEveryThrottleFieldIsKnown(t *testing.T) {
	for _, route := range newRig(t).routes.inOrder {
		resp := route.NewResponse()
		field := reflect.ValueOf(resp).Elem().FieldByName("ThrottleTimeMs")
		setter, known := resp.(throttled)
		if field.IsValid() != known {
			t.Errorf("%s: it has the field: %v, it can be told: %v", route.Name, field.IsValid(), known)
		}
		if known {
			if setter.SetThrottle(7); field.Int() != 7 {
				t.Errorf("%s: 7 ms became %d", route.Name, field.Int())
			}
		}
	}
}

// Who may do nothing pays for being told so.
func TestRefusedRequestsAreCharged(t *testing.T) {
	for _, key := range []kafka.APIKey{kafka.KeyDescribeClientQuotas, kafka.KeyAlterClientQuotas, kafka.KeyCreateAcls, kafka.KeyDescribeAcls} {
		onePercent(t, func(t *testing.T, r *rig) {
			r.Authorizer = only(nil)
			r.works(key, tooMuch)
			p := r.connect(plainListener)
			api, _ := message.Lookup(key)
			if got := p.ask(key, api.Max, api.NewRequest()); !about(got.muted(), fourHundred) {
				t.Errorf("%s: muted for %v", key, got.muted())
			}
		})
	}
}

// The connections of a client share what is owed; each throttle is at most one
// window, and what is owed is not forgotten meanwhile (T34).
func TestThrottleOfWorkIsBounded(t *testing.T) {
	onePercent(t, func(t *testing.T, r *rig) {
		r.works(kafka.KeyDescribeCluster, 125*time.Millisecond) // 2.5 s to pay
		r.connect(plainListener).ask(kafka.KeyDescribeCluster, 0, &message.DescribeClusterRequest{})
		for _, want := range []time.Duration{time.Second, time.Second, 500 * time.Millisecond, 0} {
			if got := r.connect(plainListener).ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}); !about(got.muted(), want) {
				t.Errorf("muted for %v, want %v", got.muted(), want)
			}
			time.Sleep(time.Second)
		}
	})
}

// What is spent waiting is not charged.
func TestWaitingIsNoWork(t *testing.T) {
	t.Run("for records", func(t *testing.T) {
		onePercent(t, func(t *testing.T, r *rig) {
			id := r.topic("orders", 1).ID
			if got := r.connect(plainListener).ask(kafka.KeyFetch, 13, waiting(id, 0, time.Hour, 1)); got.Mute != nil {
				t.Errorf("muted for %v", got.muted())
			}
		})
	})
	t.Run("for others' changes", func(t *testing.T) {
		onePercent(t, func(t *testing.T, r *rig) {
			held := make(chan struct{})
			go r.Metadata.Update(context.Background(), func(*metadata.Draft) error {
				close(held)
				time.Sleep(time.Hour)
				return nil
			})
			<-held
			p := r.connect(plainListener)
			if got := p.ask(kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic("a", 1, 1)}}); got.Mute != nil {
				t.Errorf("muted for %v", got.muted())
			}
		})
	})
	t.Run("for the journal of the quotas", func(t *testing.T) {
		onePercent(t, func(t *testing.T, r *rig) {
			r.journal.takes = time.Hour
			p := r.connect(plainListener)
			if alter(p, false, entry("client-id=x", kafka.RequestPercentage, 1.0)); p.last.Mute != nil {
				t.Errorf("muted for %v", muteOf(p.last))
			}
		})
	})
}

// slow is a response that takes long to encode.
type slow struct {
	codec.Message
	by time.Duration
}

// Fields is that of the message, later.
func (s *slow) Fields(c *codec.Cursor) {
	time.Sleep(s.by)
	s.by = 0
	s.Message.Fields(c)
}

// Encoding is work that the next request pays: the throttle stands in the answer.
func TestEncodingIsWork(t *testing.T) {
	onePercent(t, func(t *testing.T, r *rig) {
		route := r.routes.find(kafka.KeyMetadata)
		handle := route.handle
		route.handle = func(c *call, body []byte) (codec.Message, error) {
			m, err := handle(c, body)
			return &slow{m, tooMuch}, err
		}
		p := r.connect(plainListener)
		first := p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{})
		route.handle = handle
		if second := p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}); first.Mute != nil || !about(second.muted(), fourHundred) {
			t.Errorf("muted for %v, then for %v", first.muted(), second.muted())
		}
	})
}

// Reading and writing are work: the one is charged at once, the other with the
// next request.
func TestReadingAndWritingIsWork(t *testing.T) {
	ask := func(p *peer) time.Duration {
		return p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}).muted()
	}
	onePercent(t, func(t *testing.T, r *rig) {
		p := r.connect(plainListener)
		p.reading = tooMuch
		if got := ask(p); !about(got, fourHundred) {
			t.Errorf("reading: muted for %v", got)
		}
	})
	onePercent(t, func(t *testing.T, r *rig) {
		p := r.connect(plainListener)
		ask(p)
		p.session.Sent(tooMuch)
		if got := ask(r.connect(plainListener)); got != 0 {
			t.Errorf("writing: another connection is muted for %v", got)
		}
		if got := ask(p); !about(got, fourHundred) {
			t.Errorf("writing: muted for %v", got)
		}
	})
	onePercent(t, func(t *testing.T, r *rig) {
		p := r.connect(plainListener)
		ask(p)
		p.session.Sent(tooMuch)
		p.session.End()
		if got := ask(r.connect(plainListener)); !about(got, fourHundred) {
			t.Errorf("writing to who leaves: the next is muted for %v", got)
		}
	})
}

// An ApiVersions in a version that is not known has an answer and a price.
func TestUnknownVersionIsCharged(t *testing.T) {
	onePercent(t, func(t *testing.T, r *rig) {
		p := r.connect(plainListener)
		p.reading = tooMuch
		if _, err := p.exchange(versionsFrame(99, 1)); err != nil || !about(muteOf(p.last), fourHundred) {
			t.Errorf("muted for %v, %v", muteOf(p.last), err)
		}
	})
}

// The log-in is never throttled; the first request after it pays for it.
func TestLoginIsChargedToTheFirstRequest(t *testing.T) {
	onePercent(t, func(t *testing.T, r *rig) {
		r.works(kafka.KeyApiVersions, tooMuch/4)
		r.works(kafka.KeySASLHandshake, tooMuch/4)
		r.works(kafka.KeySASLAuthenticate, tooMuch/4)
		p := r.connect(saslListener)
		p.get(kafka.KeyApiVersions, 4, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}, &message.ApiVersionsResponse{})
		mutes := []any{p.last.Mute}
		handshake(p, 1, auth.Plain)
		mutes = append(mutes, p.last.Mute)
		if resp := authenticate(p, 2, "\x00alice\x00alice-secret"); resp.ErrorCode != kafka.NoError {
			t.Fatal(resp.ErrorCode)
		}
		for i, mute := range append(mutes, p.last.Mute) {
			if mute != nil {
				t.Errorf("request %d of the log-in is muted", i)
			}
		}
		p.session.Sent(tooMuch / 4)
		if got := p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}).muted(); !about(got, fourHundred) {
			t.Errorf("the first request is muted for %v", got)
		}
	}, withUsers)
}

// So do the tokens of a log-in that come without a header, as old clients send them.
func TestRawTokensAreCharged(t *testing.T) {
	onePercent(t, func(t *testing.T, r *rig) {
		p := r.connect(saslListener)
		handshake(p, 0, auth.Plain)
		p.reading = tooMuch
		if _, err := p.exchange([]byte("\x00alice\x00alice-secret")); err != nil || p.last.Mute != nil {
			t.Fatalf("%v, muted for %v", err, muteOf(p.last))
		}
		p.reading = 0
		if got := p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}).muted(); !about(got, fourHundred) {
			t.Errorf("the first request is muted for %v", got)
		}
	}, withUsers)
}

// A produce without an answer works for nobody (T26); its bytes are charged.
func TestProduceWithoutAnswerIsExempt(t *testing.T) {
	onePercent(t, func(t *testing.T, r *rig) {
		id := r.topic("orders", 1).ID
		r.works(kafka.KeyProduce, tooMuch)
		p := r.connect(plainListener)
		if got := p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 0, batch("a"))); got.Mute != nil || got.message != nil {
			t.Errorf("muted for %v", got.muted())
		}
		if got := p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}); got.Mute != nil {
			t.Errorf("the next request is muted for %v", got.muted())
		}
		if got := p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, batch("a"))); !about(got.muted(), fourHundred) {
			t.Errorf("with an answer: muted for %v", got.muted())
		}
	})
}

// A fetch that is throttled for its work still hands out its records; only the
// byte quota makes it empty. One that says it is a follower's pays as well
// (T46).
func TestFetchThrottledForWorkIsFull(t *testing.T) {
	for _, replica := range []int32{-1, 1} {
		onePercent(t, func(t *testing.T, r *rig) {
			id := r.topic("orders", 1).ID
			p := r.connect(plainListener)
			p.produce(13, "", id, batch("a", "b"))
			r.works(kafka.KeyFetch, tooMuch)
			req := fetchFrom("orders", id, 0, 0)
			req.ReplicaID = replica
			got := p.ask(kafka.KeyFetch, 11, req)
			resp := got.message.(*message.FetchResponse)
			if len(resp.Responses) != 1 || len(values(t, resp.Responses[0].Partitions[0].Records.Bytes)) != 2 {
				t.Errorf("replica %d: %+v", replica, resp)
			}
			if !about(got.muted(), fourHundred) || resp.ThrottleTimeMs < 400 || resp.ThrottleTimeMs > 401 {
				t.Errorf("replica %d: %d ms, muted for %v", replica, resp.ThrottleTimeMs, got.muted())
			}
		})
	}
}

// The user model keeps request_percentage and does not enforce it.
func TestUserModelDoesNotChargeWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.set(entry("user=ANONYMOUS", kafka.RequestPercentage, 1.0))
		r.works(kafka.KeyMetadata, time.Hour)
		if got := r.connect(plainListener).ask(kafka.KeyMetadata, 9, &message.MetadataRequest{}); got.Mute != nil {
			t.Errorf("muted for %v", got.muted())
		}
	})
}
