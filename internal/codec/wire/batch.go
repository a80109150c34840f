package wire

import (
	"encoding/binary"
	"fmt"

	"kaasd/internal/codec"
	"kaasd/internal/codec/record"
)

// openRecords tells what is in the records fields at and below n.
func openRecords(n *codec.Node) {
	for _, child := range n.Children {
		openRecords(child)
	}
	raw, ok := n.Value.(codec.Raw)
	if !ok || n.Null {
		return
	}
	at := n.Offset + n.Size - len(raw)
	for i := 0; len(raw) > 0; i++ {
		node, size := batchNode(raw, at, i)
		n.Children = append(n.Children, node)
		raw, at = raw[size:], at+size
	}
}

// batchNode tells the batch at the start of b, which lies at at in the frame,
// and gives its size. What is no whole batch of magic 2 is told as bytes to
// the end.
func batchNode(b []byte, at, i int) (*codec.Node, int) {
	batch, _, err := record.Next(b)
	if err == nil && batch.Magic() != record.Magic2 {
		err = fmt.Errorf("magic %d is not told further", batch.Magic())
	}
	if err != nil {
		return &codec.Node{
			Name: "undecoded", Type: "bytes", Value: b, Note: err.Error(), Offset: at, Size: len(b),
			About: "not a whole record batch of magic 2",
		}, len(b)
	}
	n := &codec.Node{Name: fmt.Sprintf("RecordBatch[%d]", i), Type: "struct", Offset: at, Size: len(batch), About: "one record batch, magic 2"}
	n.Children = headerNodes(batch, at)
	n.Children = append(n.Children, recordNodes(batch, at+record.HeaderSize)...)
	return n, len(batch)
}

// headerNodes tells the 61 bytes before the records.
func headerNodes(b record.Batch, at int) []*codec.Node {
	var list []*codec.Node
	off := 0
	add := func(name, kind string, size int, value any, note, about string) {
		list = append(list, &codec.Node{Name: name, Type: kind, Value: value, Note: note, Offset: at + off, Size: size, About: about})
		off += size
	}
	add("base_offset", "int64", 8, b.BaseOffset(), "", "offset of the first record; the broker writes it")
	add("batch_length", "int32", 4, b.Size()-record.LogOverhead, "", "bytes after this field")
	add("partition_leader_epoch", "int32", 4, b.LeaderEpoch(), "", "epoch of the leader that took the batch; the broker writes it")
	add("magic", "int8", 1, b.Magic(), "", "version of the batch's layout")
	add("crc", "uint32", 4, b.CRC(), sumNote(b), "CRC-32C of everything after this field")
	add("attributes", "int16", 2, b.Attributes(), attributesNote(b), "codec, kind of timestamp, transaction and control bits")
	add("last_offset_delta", "int32", 4, b.LastOffsetDelta(), "", "offset of the last record, from the base offset")
	add("base_timestamp", "int64", 8, b.BaseTimestamp(), "", "what the records' timestamps count from, in ms")
	add("max_timestamp", "int64", 8, b.MaxTimestamp(), "", "largest timestamp of the records, in ms")
	add("producer_id", "int64", 8, b.ProducerID(), "", "idempotent producer; -1: none")
	add("producer_epoch", "int16", 2, b.ProducerEpoch(), "", "epoch of that producer; -1: none")
	add("base_sequence", "int32", 4, b.BaseSequence(), "", "its number of the first record; -1: none")
	add("records_count", "int32", 4, b.Count(), "", "records in the batch")
	return list
}

func sumNote(b record.Batch) string {
	if sum := b.Sum(); sum != b.CRC() {
		return fmt.Sprintf("0x%08x, wrong: 0x%08x is right", b.CRC(), sum)
	}
	return fmt.Sprintf("0x%08x, right", b.CRC())
}

func attributesNote(b record.Batch) string {
	note := b.Codec().String() + ", create time"
	if b.AppendTime() {
		note = b.Codec().String() + ", append time"
	}
	if b.Transactional() {
		note += ", transactional"
	}
	if b.Control() {
		note += ", control"
	}
	return note
}

// largest is how much decompressed data is told, in bytes.
const largest = 64 << 20

// recordNodes tells the records, which lie at at in the frame. Those of a
// compressed batch have offsets in the decompressed bytes.
func recordNodes(b record.Batch, at int) []*codec.Node {
	data := []byte(b[record.HeaderSize:])
	if b.Codec() == record.None {
		return newRecords(data, at).nodes(int(b.Count()))
	}
	n := &codec.Node{
		Name: "compressed", Type: "bytes", Value: data, Offset: at, Size: len(data),
		About: "the records, compressed with " + b.Codec().String(),
	}
	raw, err := record.Decompress(b.Codec(), data, largest)
	if err != nil {
		n.Note = err.Error()
		return []*codec.Node{n}
	}
	n.Note = fmt.Sprintf("%d bytes decompressed, offsets below count from their start", len(raw))
	n.Children = newRecords(raw, 0).nodes(int(b.Count()))
	return []*codec.Node{n}
}

// recordReader walks records and notes every field.
type recordReader struct {
	b    []byte
	off  int
	base int
	into *codec.Node // whose children are added
	bad  bool
}

func newRecords(b []byte, base int) *recordReader {
	return &recordReader{b: b, base: base}
}

// nodes tells up to count records, and what is left as bytes.
func (r *recordReader) nodes(count int) []*codec.Node {
	list := &codec.Node{}
	for i := 0; i < count && r.off < len(r.b) && !r.bad; i++ {
		n := &codec.Node{Name: fmt.Sprintf("Record[%d]", i), Type: "struct", Offset: r.base + r.off}
		list.Children = append(list.Children, n)
		r.into = n
		r.record()
		n.Size = r.base + r.off - n.Offset
	}
	if r.into = list; r.off < len(r.b) {
		r.add("undecoded", "bytes", len(r.b)-r.off, r.b[r.off:], "bytes that are not told as records")
	}
	return list.Children
}

func (r *recordReader) add(name, kind string, size int, value any, about string) {
	r.into.Children = append(r.into.Children, &codec.Node{
		Name: name, Type: kind, Value: value, Offset: r.base + r.off, Size: size, About: about,
	})
	r.off += size
}

func (r *recordReader) record() {
	length := r.varint("length", "bytes of the record after this field")
	end := r.off + int(length)
	if r.bad = r.bad || length < 1 || end > len(r.b); r.bad {
		return
	}
	r.add("attributes", "int8", 1, int8(r.b[r.off]), "unused")
	r.varint("timestamp_delta", "timestamp, from the base timestamp, in ms")
	r.varint("offset_delta", "offset, from the base offset")
	r.field("key", "key of the record; null: none")
	r.field("value", "value of the record; null: a tombstone")
	count := r.varint("headers_count", "headers of the record")
	for i := int64(0); i < count && !r.bad; i++ {
		r.field(fmt.Sprintf("header_key[%d]", i), "name of the header")
		r.field(fmt.Sprintf("header_value[%d]", i), "value of the header; null: none")
	}
	r.bad = r.bad || r.off != end
}

// varint tells a zigzag number.
func (r *recordReader) varint(name, about string) int64 {
	v, n := binary.Varint(r.b[min(r.off, len(r.b)):])
	if r.bad = r.bad || n <= 0; r.bad {
		return 0
	}
	r.add(name, "varint", n, v, about)
	return v
}

// field tells a length and the bytes it counts; -1 is null.
func (r *recordReader) field(name, about string) {
	n := r.varint(name+"_length", "")
	if r.bad = r.bad || n > int64(len(r.b)-r.off); r.bad || n < 0 {
		return
	}
	r.add(name, "bytes", int(n), r.b[r.off:r.off+int(n)], about)
}
