package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// much and compactMuch are counts of elements that no frame has room for.
var much, compactMuch = []byte{0x7f, 0xff, 0xff, 0xff}, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}

// sized is a frame of these parts.
func sized(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// head is a request header; that of a flexible version has an empty section of
// tags behind it.
func head(key kafka.APIKey, version int16) []byte {
	h := binary.BigEndian.AppendUint16(nil, uint16(key))
	h = binary.BigEndian.AppendUint16(h, uint16(version))
	return append(h, 0, 0, 0, 1, 0, 0)
}

// small are bombs of a few bytes.
func small() [][]byte {
	return [][]byte{
		binary.BigEndian.AppendUint32(nil, math.MaxInt32),
		append(binary.BigEndian.AppendUint32(nil, largestFrame), head(kafka.KeyMetadata, 1)...),
		sized(head(kafka.KeyApiVersions, 3), compactMuch),
		sized(head(kafka.KeyApiVersions, 3), []byte{0, 2, 'a', 2, '1'}, compactMuch),
		sized(head(kafka.KeySASLHandshake, 1), []byte{0x7f, 0xff}),
		sized(head(kafka.KeyMetadata, 1), much),
		sized(head(kafka.KeyMetadata, 12), []byte{0}, compactMuch),
		sized(head(kafka.KeyProduce, 3), []byte{0xff, 0xff, 0, 1, 0, 0, 0, 0}, much),
		sized(head(kafka.KeyFetch, 4), make([]byte, 17), much),
		sized(head(kafka.KeyAlterClientQuotas, 1), []byte{0}, compactMuch),
		sized(head(kafka.KeyJoinGroup, 9), []byte{0, 2, 'g'}, compactMuch),
	}
}

// throw sends one thing after the other, each on a connection of its own, and
// waits until the broker has closed it or answered.
func (c *crew) throw(attackers int, address string, things [][]byte) {
	c.at(attackers, func(i int) {
		m := c.dial(address)
		if m == nil {
			return
		}
		defer m.abandon()
		_ = m.SetDeadline(time.Now().Add(patience))
		if m.say(things[int(c.rounds.Add(1))%len(things)]) {
			m.answer()
		}
	})
}

func bombsBefore(c *crew) {
	token := make([]byte, 400<<10)
	shake := must(encode(kafka.KeySASLHandshake, 1, &message.SaslHandshakeRequest{Mechanism: "PLAIN"}))
	authenticate := must(encode(kafka.KeySASLAuthenticate, 1, &message.SaslAuthenticateRequest{AuthBytes: token}))
	c.throw(64, c.sasl, append(small(), append(shake, authenticate...), authenticate))
}

// bombs adds bodies that decode to as much as the bytes they have allow.
func bombs(c *crew) {
	c.throw(48, c.plain, small())
	// As many elements as the bytes are enough for: of Produce, and of the most
	// that is let in of others.
	const large, size = 32 << 20, 7 << 20
	c.throw(16, c.plain, [][]byte{
		zeros(append(head(kafka.KeyProduce, 3), 0xff, 0xff, 0, 1, 0, 0, 0, 0), large, 6),
		zeros(head(kafka.KeyCreateTopics, 2), size, 16),
		zeros(head(kafka.KeyMetadata, 1), size, 2),
		zeros(head(kafka.KeyDescribeConfigs, 1), size, 7),
		sized(head(kafka.KeyDescribeClientQuotas, 1), []byte{0}, binary.AppendUvarint(nil, size), bytes.Repeat([]byte{1}, size)),
	})
}

// zeros is a frame whose first array has elements of so many bytes.
func zeros(head []byte, size, each int) []byte {
	return sized(head, binary.BigEndian.AppendUint32(nil, uint32(size/each)), make([]byte, size))
}

func metadata(c *crew) {
	const topics = 200_000
	req := &message.MetadataRequest{}
	for i := range topics {
		req.Topics = append(req.Topics, message.MetadataRequestTopic{Name: ptr(fmt.Sprintf("no-such-topic-%d", i))})
	}
	c.throw(16, c.plain, [][]byte{must(encode(kafka.KeyMetadata, 9, req))})
}

func ptr[T any](v T) *T { return &v }

// must gives what cannot fail but for a mistake in this program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// inflated is how large the records of a compressed bomb are, in bytes.
const inflated = 120 << 20

const timely = 0 // from now, in time.Duration

// batchOf is a batch of one record.
func batchOf(value []byte, from time.Duration) record.Batch {
	return record.NewBuilder(record.None).Add(time.Now().Add(from).UnixMilli(), nil, value).Batch()
}

// compressed is a batch of few bytes and many records' bytes.
func compressed(codec record.Codec, size int, from time.Duration) []byte {
	return must(produce(topic, record.NewBuilder(codec).Add(time.Now().Add(from).UnixMilli(), nil, make([]byte, size)).Batch()))
}

// tooLate is a time that no record may have: the batch must be opened to say
// which record it is.
const tooLate = 24 * 365 * time.Hour

func compression(c *crew) {
	c.throw(16, c.plain, [][]byte{
		compressed(record.Zstd, inflated, tooLate),
		compressed(record.Gzip, inflated, tooLate),
		compressed(record.LZ4, inflated, tooLate),
		compressed(record.Snappy, 12<<20, tooLate), // as far as a megabyte goes
	})
}

// begun is the time of the first record of the stored bomb: the same in every
// process of a run, and not yet old enough to be deleted.
var begun = time.Now().Truncate(24 * time.Hour)

// storeBomb produces a bomb that nobody has a reason to open.
func storeBomb(t *target) error {
	s, err := t.session()
	if err != nil {
		return err
	}
	defer s.nc.Close()
	if err := s.newTopic("bomb", 1); err != nil {
		return err
	}
	b := record.NewBuilder(record.Zstd).Add(begun.UnixMilli(), nil, nil).Add(begun.UnixMilli()+10, nil, make([]byte, inflated)).Batch()
	return s.mustProduce(must(produce("bomb", b)))
}

// lookUps asks for a time inside of the bomb.
func lookUps(c *crew) {
	asked := must(encode(kafka.KeyListOffsets, 6, &message.ListOffsetsRequest{ReplicaID: -1, Topics: []message.ListOffsetsTopic{{
		Name: "bomb", Partitions: []message.ListOffsetsPartition{{CurrentLeaderEpoch: -1, Timestamp: begun.UnixMilli() + 5}},
	}}}))
	c.throw(16, c.plain, [][]byte{asked})
}

// session is a connection to prepare an attack with.
func (t *target) session() (session, error) { return connect(t.plain) }

// mustProduce produces and wants no error.
func (s session) mustProduce(frame []byte) error {
	answer, err := s.ask(frame)
	if err != nil {
		return err
	}
	var resp message.ProduceResponse
	if err := codec.Decode(answer[5:], produceVersion, true, &resp, 16*len(answer)); err != nil {
		return err
	}
	if got := resp.Responses[0].PartitionResponses[0]; got.ErrorCode != kafka.NoError {
		return fmt.Errorf("produce: %v", got.ErrorCode)
	}
	return nil
}
