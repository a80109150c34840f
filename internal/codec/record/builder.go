package record

import (
	"encoding/binary"
	"slices"
)

// Builder makes one batch out of records, as a producer would.
type Builder struct {
	codec      Codec
	raw        []byte // the records, encoded
	count      int32
	base, last int64 // timestamps in ms: of the first record, and the largest
	id         int64
	epoch      int16
	sequence   int32
}

// NewBuilder begins a batch of that codec, by no producer.
func NewBuilder(c Codec) *Builder {
	return &Builder{codec: c, id: -1, epoch: -1, sequence: -1}
}

// Producer makes the batch one of an idempotent producer (KIP-98).
func (b *Builder) Producer(id int64, epoch int16, sequence int32) *Builder {
	b.id, b.epoch, b.sequence = id, epoch, sequence
	return b
}

// Add appends a record with a timestamp in ms; a nil key or value is null.
func (b *Builder) Add(ts int64, key, value []byte, headers ...Header) *Builder {
	if b.count == 0 {
		b.base, b.last = ts, ts
	}
	b.last = max(b.last, ts)
	body := []byte{0} // attributes
	body = binary.AppendVarint(body, ts-b.base)
	body = binary.AppendVarint(body, int64(b.count))
	body = appendField(body, key)
	body = appendField(body, value)
	body = binary.AppendVarint(body, int64(len(headers)))
	for _, h := range headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendField(body, h.Value)
	}
	b.raw = binary.AppendVarint(slices.Grow(b.raw, len(body)+binary.MaxVarintLen32), int64(len(body)))
	b.raw = append(b.raw, body...)
	b.count++
	return b
}

func appendField(dst, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(field))), field...)
}

// Batch is what was added so far, at base offset 0; it shares nothing with the
// builder.
func (b *Builder) Batch() Batch {
	batch := Batch(compress(make([]byte, HeaderSize, HeaderSize+len(b.raw)), b.codec, b.raw))
	batch[16] = Magic2
	binary.BigEndian.PutUint32(batch[12:], 0xffffffff) // no leader epoch yet
	binary.BigEndian.PutUint16(batch[21:], uint16(b.codec))
	binary.BigEndian.PutUint32(batch[23:], uint32(b.count-1))
	binary.BigEndian.PutUint64(batch[27:], uint64(b.base))
	binary.BigEndian.PutUint64(batch[35:], uint64(b.last))
	binary.BigEndian.PutUint64(batch[43:], uint64(b.id))
	binary.BigEndian.PutUint16(batch[51:], uint16(b.epoch))
	binary.BigEndian.PutUint32(batch[53:], uint32(b.sequence))
	binary.BigEndian.PutUint32(batch[57:], uint32(b.count))
	batch.seal()
	return batch
}

// seal writes the length and the checksum of what the batch now is.
func (b Batch) seal() {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint32(b[17:], b.Sum())
}
