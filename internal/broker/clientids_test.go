package broker_test

import (
	"strings"
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Whatever a client calls itself, it is served, limited, and counted without
// harm to the page of metrics; none at all and the empty name are one.
func TestClientIDsOfEveryKind(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.newTopic("t")
	for name, id := range map[string]string{
		"empty": "", "UTF-8": "\u00fc\u6f22\U0001f600", "300 characters": strings.Repeat("n", 300), "4096 characters": strings.Repeat("n", 4096), "32000 characters": strings.Repeat("n", 32_000),
		"not UTF-8": "a\xff\xfe", "zero bytes": "a\x00b", "a path": "../../etc/passwd", "quotes": `a"b\\c`, "a line": "a\nb{c=\"d\"} 1", "spaces": "  ",
		"like a default": "<default>",
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, b.Plain)
			p.clientID = id
			for version, req := range map[int16]*message.ProduceRequest{3: produceRequest("t", 1, batch(10)), 9: produceRequest("t", 1, batch(10))} {
				if got := p.producedTo(version, req); got.ErrorCode != kafka.NoError {
					t.Errorf("version %d: %s", version, got.ErrorCode)
				}
			}
			joined := call[message.JoinGroupResponse](p, 4, &message.JoinGroupRequest{GroupID: "g", SessionTimeoutMs: 10_000, RebalanceTimeoutMs: 10_000,
				ProtocolType: "consumer", Protocols: []message.JoinGroupProtocol{{Name: "range"}}})
			if joined.ErrorCode != kafka.MemberIDRequired || joined.MemberID == "" {
				t.Errorf("join: %s, id %.40q", joined.ErrorCode, joined.MemberID)
			}
			if id == "" || len(id) > 4096 {
				return // nobody's name: the others would be limited too; or too long for a quota of its own
			}
			admin.alterEntity(entityOf(named(kafka.EntityClientID, id)), set(kafka.ProducerByteRate, 100))
			p.mustProduce("t", batch(100_000))
			again := dial(t, b.Plain)
			again.clientID = id
			if got := again.mustProduce("t", batch(10)); got < longThrottle {
				t.Errorf("throttled for %v", got)
			}
		})
	}
	nameless := dial(t, b.Plain)
	nameless.clientID, nameless.anonymous = "", true
	if got := nameless.mustProduce("t", batch(10)); got != 0 {
		t.Errorf("one without a name is throttled for %v by the others", got)
	}
	scrape(t, b) // which parses all of it
}
