package broker_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// oldMessage is a message as it was before record batches, of magic 0 or 1.
func oldMessage(magic byte, value []byte) []byte {
	body := []byte{magic, 0}
	if magic == 1 {
		body = binary.BigEndian.AppendUint64(body, uint64(time.Now().UnixMilli()))
	}
	body = append(body, 0xff, 0xff, 0xff, 0xff) // no key
	body = append(binary.BigEndian.AppendUint32(body, uint32(len(value))), value...)
	message := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body))
	message = append(message, body...)
	set := binary.BigEndian.AppendUint64(nil, 0)
	set = binary.BigEndian.AppendUint32(set, uint32(len(message)))
	return append(set, message...)
}

// Message sets of old are refused in every version (KIP-724), and so is what is
// near to one batch but not one.
func TestMessageSetsAreRefused(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	id := p.newTopic("t")
	good := batch(20)
	moved := batch(20)
	moved.Stamp(1, -1)
	for name, records := range map[string]record.Batch{
		"magic 0":                   oldMessage(0, []byte("a value that is long enough to be one")),
		"magic 1":                   oldMessage(1, []byte("a value that is long enough to be one")),
		"magic 1, two":              slices.Concat(oldMessage(1, make([]byte, 50)), oldMessage(1, make([]byte, 50))),
		"magic 1, short":            oldMessage(1, nil),
		"a batch and an old one":    slices.Concat(good, oldMessage(1, make([]byte, 50))),
		"two batches":               slices.Concat(good, good),
		"a batch and a byte":        slices.Concat(good, []byte{0}),
		"a batch without its end":   good[:len(good)-1],
		"nothing":                   {},
		"an offset other than 0":    moved,
		"a header, and no more":     good[:61],
		"twelve bytes, and no more": good[:12],
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			for version := int16(3); version <= 13; version++ {
				req := produceRequest("t", 1, records)
				req.TopicData[0].TopicID = id
				answer := p.producedTo(version, req)
				if answer.ErrorCode != kafka.InvalidRecord || answer.BaseOffset != -1 {
					t.Errorf("version %d: %s at %d", version, answer.ErrorCode, answer.BaseOffset)
				}
			}
		})
	}
	p.t = t
	if got := endOffset(p, "t"); got != 0 {
		t.Errorf("%d records were stored", got)
	}
}
