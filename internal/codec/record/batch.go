package record

import (
	"encoding/binary"
	"hash/crc32"
)

// The layout of a batch of magic 2 (KIP-98).
const (
	HeaderSize  = 61 // bytes before the records
	LogOverhead = 12 // bytes before what the length field counts
	Magic2      = 2
)

// The bits of the attributes.
const (
	codecMask         = 0x07
	attrAppendTime    = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
)

// Batch is one whole record batch of magic 2, as on the wire and on disk. Its
// accessors need only the first HeaderSize bytes.
type Batch []byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (b Batch) int32(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b Batch) int64(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// BaseOffset is the offset of the first record.
func (b Batch) BaseOffset() int64 { return b.int64(0) }

// Size is the size the header claims for the whole batch, in bytes; it may
// be negative or larger than the slice when the header is damaged.
func (b Batch) Size() int64 { return int64(b.int32(8)) + LogOverhead }

// LeaderEpoch is the epoch stamped by the broker.
func (b Batch) LeaderEpoch() int32 { return b.int32(12) }

// Magic is the format's version.
func (b Batch) Magic() int8 { return int8(b[16]) }

// CRC is the stored checksum, CRC-32C of everything behind it.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[17:]) }

// Attributes are the raw bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[21:])) }

// Codec is how the records are compressed; values above Zstd are not valid.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & codecMask) }

// AppendTime says whether MaxTimestamp holds for every record.
func (b Batch) AppendTime() bool { return b.Attributes()&attrAppendTime != 0 }

// Transactional says whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes()&attrTransactional != 0 }

// Control says whether the batch is a marker of the broker.
func (b Batch) Control() bool { return b.Attributes()&attrControl != 0 }

// LastOffsetDelta is the last record's offset, relative to the first.
func (b Batch) LastOffsetDelta() int32 { return b.int32(23) }

// BaseTimestamp is what the records' timestamps count from, in ms.
func (b Batch) BaseTimestamp() int64 { return b.int64(27) }

// MaxTimestamp is the largest timestamp of the records, in ms.
func (b Batch) MaxTimestamp() int64 { return b.int64(35) }

// ProducerID is -1 when the producer is not idempotent.
func (b Batch) ProducerID() int64 { return b.int64(43) }

// ProducerEpoch is -1 when the producer is not idempotent.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[51:])) }

// BaseSequence is -1 when the producer is not idempotent.
func (b Batch) BaseSequence() int32 { return b.int32(53) }

// Count is the number of records.
func (b Batch) Count() int32 { return b.int32(57) }

// NextOffset is the offset after the last record.
func (b Batch) NextOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) + 1 }

// LastSequence is the sequence of the last record; sequences wrap to 0 after
// 2^31-1.
func (b Batch) LastSequence() int32 {
	return int32((int64(b.BaseSequence()) + int64(b.LastOffsetDelta())) & 0x7fffffff)
}

// Sum computes the checksum anew, over the whole batch.
func (b Batch) Sum() uint32 { return crc32.Checksum(b[21:], castagnoli) }

// Stamp writes what the broker gives a batch. Neither field is covered by the
// checksum.
func (b Batch) Stamp(base int64, epoch int32) {
	binary.BigEndian.PutUint64(b[0:], uint64(base))
	binary.BigEndian.PutUint32(b[12:], uint32(epoch))
}

// StampAppendTime makes now, in ms, the timestamp of every record, and
// computes the checksum anew.
func (b Batch) StampAppendTime(now int64) {
	binary.BigEndian.PutUint16(b[21:], uint16(b.Attributes())|attrAppendTime)
	binary.BigEndian.PutUint64(b[35:], uint64(now))
	binary.BigEndian.PutUint32(b[17:], b.Sum())
}
