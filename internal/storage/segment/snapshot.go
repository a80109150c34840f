package segment

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The layout of a .snapshot, of which Kafka reads the first part and skips the
// second; the checksum covers both.
const (
	snapshotVersion = 1
	snapshotHead    = 2 + 4 + 4                        // version, checksum, count
	snapshotEntry   = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8    // one producer
	olderEntry      = 4 + 4 + 8 + 8 + 8                // one earlier batch
	olderMagic      = uint32('k')<<24 | 'a'<<16 | 5<<8 // begins the second part
)

var (
	errSnapshot = errors.New("the producer snapshot is damaged")
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

// encode gives the bytes of a snapshot.
func (p *producers) encode() []byte {
	out := make([]byte, 0, snapshotHead+4+len(p.byID)*(snapshotEntry+1+olderEntry))
	out = binary.BigEndian.AppendUint16(out, snapshotVersion)
	out = binary.BigEndian.AppendUint32(out, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(p.byID)))
	for known := p.oldest; known != nil; known = known.newer {
		q := known.last()
		out = binary.BigEndian.AppendUint64(out, uint64(known.id))
		out = binary.BigEndian.AppendUint16(out, uint16(known.epoch))
		out = binary.BigEndian.AppendUint32(out, uint32(q.last))
		out = binary.BigEndian.AppendUint64(out, uint64(q.next-1))
		out = binary.BigEndian.AppendUint32(out, uint32(q.next-1-q.base))
		out = binary.BigEndian.AppendUint64(out, uint64(q.ts))
		out = binary.BigEndian.AppendUint32(out, 0xffffffff) // coordinator epoch: none
		out = binary.BigEndian.AppendUint64(out, ^uint64(0)) // first offset of a transaction: none
	}
	out = p.encodeOlder(out)
	binary.BigEndian.PutUint32(out[2:], crc32.Checksum(out[6:], castagnoli))
	return out
}

// encodeOlder adds the batches before each producer's last, in the same order
// of producers.
func (p *producers) encodeOlder(out []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, olderMagic)
	for known := p.oldest; known != nil; known = known.newer {
		out = append(out, byte(known.n-1))
		for _, q := range known.batches[:known.n-1] {
			out = binary.BigEndian.AppendUint32(out, uint32(q.first))
			out = binary.BigEndian.AppendUint32(out, uint32(q.last))
			out = binary.BigEndian.AppendUint64(out, uint64(q.base))
			out = binary.BigEndian.AppendUint64(out, uint64(q.next))
			out = binary.BigEndian.AppendUint64(out, uint64(q.ts))
		}
	}
	return out
}

// decodeProducers reads a snapshot, Kafka's or ours, at now in ms.
func decodeProducers(raw []byte, now int64) ([]*producer, error) {
	if len(raw) < snapshotHead || binary.BigEndian.Uint16(raw) != snapshotVersion ||
		binary.BigEndian.Uint32(raw[2:]) != crc32.Checksum(raw[6:], castagnoli) {
		return nil, errSnapshot
	}
	count := int64(binary.BigEndian.Uint32(raw[6:]))
	raw = raw[snapshotHead:]
	if int64(len(raw)) < count*snapshotEntry {
		return nil, errSnapshot
	}
	list := make([]*producer, 0, count)
	for range count {
		known := decodeProducer(raw)
		known.seen = now
		list = append(list, known)
		raw = raw[snapshotEntry:]
	}
	return list, decodeOlder(raw, list)
}

func decodeProducer(raw []byte) *producer {
	last := int32(binary.BigEndian.Uint32(raw[10:]))
	next := int64(binary.BigEndian.Uint64(raw[14:])) + 1
	delta := int32(binary.BigEndian.Uint32(raw[22:]))
	known := &producer{id: int64(binary.BigEndian.Uint64(raw)), epoch: int16(binary.BigEndian.Uint16(raw[8:]))}
	known.push(sequenced{
		first: int32((int64(last) - int64(delta)) & 0x7fffffff), last: last,
		base: next - 1 - int64(delta), next: next,
		ts: int64(binary.BigEndian.Uint64(raw[26:])),
	})
	return known
}

func decodeOlder(raw []byte, list []*producer) error {
	if len(raw) < 4 || binary.BigEndian.Uint32(raw) != olderMagic {
		return nil // Kafka's own
	}
	raw = raw[4:]
	for _, known := range list {
		if len(raw) == 0 || raw[0] >= remembered || len(raw) < 1+int(raw[0])*olderEntry {
			return errSnapshot
		}
		count, last := int(raw[0]), known.last()
		raw, known.n = raw[1:], 0
		for range count {
			known.push(sequenced{
				int32(binary.BigEndian.Uint32(raw)), int32(binary.BigEndian.Uint32(raw[4:])),
				int64(binary.BigEndian.Uint64(raw[8:])), int64(binary.BigEndian.Uint64(raw[16:])),
				int64(binary.BigEndian.Uint64(raw[24:])),
			})
			raw = raw[olderEntry:]
		}
		known.push(last)
	}
	return nil
}
