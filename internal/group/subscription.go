package group

import (
	"encoding/binary"
	"slices"
)

// consumers is the protocol type of groups whose members read topics. Only
// of those the broker looks into what members tell each other.
const consumers = "consumer"

// subscribed says whether a member reads the topic. One whose subscription
// cannot be read may read anything.
func (g *machine) subscribed(topic string) bool {
	if g.protocolType != consumers {
		return false
	}
	return slices.ContainsFunc(g.inOrder, func(m *member) bool {
		return slices.ContainsFunc(m.protocols, func(p Protocol) bool {
			topics, ok := subscription(p.Metadata)
			return !ok || slices.Contains(topics, topic)
		})
	})
}

// subscription reads the topics at the beginning of a consumer's metadata:
//
//	version i16 | count i32 | count x (length i16, name)
func subscription(metadata []byte) (topics []string, ok bool) {
	if len(metadata) < 6 {
		return nil, false
	}
	n := int32(binary.BigEndian.Uint32(metadata[2:]))
	rest := metadata[6:]
	for ; n > 0; n-- {
		if len(rest) < 2 {
			return nil, false
		}
		size := int(int16(binary.BigEndian.Uint16(rest)))
		if size < 0 || size > len(rest)-2 {
			return nil, false
		}
		topics = append(topics, string(rest[2:2+size]))
		rest = rest[2+size:]
	}
	return topics, true
}
