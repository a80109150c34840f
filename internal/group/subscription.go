package group

import "encoding/binary"

// consumers is the protocol type of groups whose members read topics. Only
// of those the broker looks into what members tell each other.
const consumers = "consumer"

// subscribed tells of topics whether a member reads them. One whose
// subscription cannot be read may read anything. What the members say is looked
// through once, since there may be very many topics to ask about.
func (g *machine) subscribed() (reads func(topic string) bool) {
	all := map[string]bool{}
	if g.protocolType != consumers {
		return func(string) bool { return false }
	}
	for _, m := range g.inOrder {
		for _, p := range m.protocols {
			topics, ok := subscription(p.Metadata)
			if !ok {
				return func(string) bool { return true }
			}
			for _, t := range topics {
				all[t] = true
			}
		}
	}
	return func(topic string) bool { return all[topic] }
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
