package main

import (
	"bytes"
	"encoding/binary"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// either spreads the attackers over the listeners with and without a log-in.
func (c *crew) either(i int) string {
	if i%2 == 0 {
		return c.plain
	}
	return c.sasl
}

// opened is how long opening all connections takes: a fifth of the attack at
// ten thousand, so that they are held in the rest.
const opened = 150 * time.Microsecond

// hold opens as many connections as the attack is to hold, one after the other.
func (c *crew) hold(address func(int) string, use func(*mark)) {
	c.once(c.connections, func(i int) {
		c.pause(time.Duration(i) * opened)
		if m := c.dial(address(i)); m != nil {
			defer m.abandon()
			use(m)
		}
	})
}

func silence(c *crew) {
	c.hold(c.either, (*mark).hear)
}

func drip(c *crew) {
	frame := append(binary.BigEndian.AppendUint32(nil, 1<<20), 0, byte(kafka.KeyMetadata), 0, 1)
	sasl := append(binary.BigEndian.AppendUint32(nil, 100<<10), 0, byte(kafka.KeySASLHandshake), 0, 1)
	c.hold(c.either, func(m *mark) {
		bytes := frame
		if m.RemoteAddr().String() == c.sasl {
			bytes = sasl
		}
		for i := 0; m.say(bytes[min(i, len(bytes)-1):][:1]) && c.pause(time.Second); i++ {
			c.rounds.Add(1)
		}
	})
}

func tlsSilence(c *crew) {
	c.hold(func(int) string { return c.tls }, (*mark).hear)
}

// tlsMessages begin a handshake with the longest message there may be, and keep its
// last byte to themselves.
func tlsMessages(c *crew) {
	const record = 16 << 10
	message := append([]byte{1, 0, 0xff, 0xff}, make([]byte, 0xffff-1)...) // ClientHello, RFC 8446 section 4
	var begun []byte
	for len(message) > 0 {
		part := message[:min(record, len(message))]
		message = message[len(part):]
		begun = append(binary.BigEndian.AppendUint16(append(begun, 22, 3, 1), uint16(len(part))), part...)
	}
	c.hold(func(int) string { return c.tls }, func(m *mark) {
		if m.say(begun) {
			m.hear()
		}
	})
}

// stalled begins frames that want memory, and comes again when it loses it.
func stalled(c *crew) {
	begun := [2][]byte{}
	for i, size := range []uint32{256 << 10, largestFrame} {
		begun[i] = append(binary.BigEndian.AppendUint32(nil, size), append(head(kafka.KeyProduce, produceVersion), make([]byte, 1<<10)...)...)
	}
	c.at(min(c.connections, 1000), func(i int) {
		if m := c.dial(c.plain); m != nil {
			defer m.abandon()
			if m.say(begun[i%2]) {
				m.hear()
			}
		}
	})
}

// slowWriters keep the pace that is asked of a large frame, with a little to
// spare.
func slowWriters(c *crew) {
	head := append(binary.BigEndian.AppendUint32(nil, largestFrame), 0, byte(kafka.KeyProduce), 0, 9)
	second := make([]byte, 32<<10)
	c.once(min(c.connections, 1000), func(i int) {
		c.pause(time.Duration(i) * opened)
		m := c.dial(c.plain)
		if m == nil {
			return
		}
		defer m.abandon()
		for more := m.say(head); more && c.pause(time.Second); more = m.say(second) {
			c.rounds.Add(1)
		}
	})
}

// stored is how much there is to fetch, in bytes.
const stored = 64 << 20

func storeMuch(t *target) error {
	s, err := t.session()
	if err != nil {
		return err
	}
	defer s.nc.Close()
	if err := s.newTopic("much", 1); err != nil {
		return err
	}
	frame, err := produce("much", batchOf(bytes.Repeat([]byte{'x'}, 1<<20-100), timely))
	if err != nil {
		return err
	}
	for range stored >> 20 {
		if err := s.mustProduce(frame); err != nil {
			return err
		}
	}
	return nil
}

// slowReaders ask for all there is, thrice, and take no byte of it.
func slowReaders(c *crew) {
	fetch := must(encode(kafka.KeyFetch, 12, &message.FetchRequest{ReplicaID: -1, MaxBytes: 50 << 20, MinBytes: 1, SessionEpoch: -1,
		Topics: []message.FetchTopic{{Topic: "much", Partitions: []message.FetchPartition{{CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: 50 << 20}}}}}))
	c.once(min(c.connections, 1000), func(i int) {
		c.pause(time.Duration(i) * opened)
		m := c.dial(c.plain)
		if m == nil {
			return
		}
		defer m.abandon()
		for range 3 {
			m.say(fetch)
			c.rounds.Add(1)
		}
		<-c.ended.Done()
	})
}
