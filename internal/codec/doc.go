// Package codec is the wire: frames, headers, and one engine that turns bytes
// into message structs and back. The messages are in codec/message, the record
// batches, which this package carries unopened, in codec/record.
//
// A message says its fields once, in wire order, in its Fields method. The
// Cursor it is given decides what the walk does:
//
//	decode    bytes become fields; with a trace also the tree of kaasd wire
//	encode    fields become bytes, with record ranges kept as sources; an answer of
//	          more than 256 KiB only as it is written, 64 KiB at a time
//	shape     one element in every array: the smallest instance, the schema
//
// What the engine promises of bytes from outside:
//
//   - A count is held against the bytes left and against the budget of decoded
//     memory before anything is made for it.
//   - Every loop ends with the bytes, tag sections included.
//   - Record bytes are neither copied nor looked into.
//   - The first error sticks, with its offset and the path of its field, and
//     nothing is decoded after it.
//   - Bytes after the body are ignored, as Apache Kafka does.
//
// A frame on the wire:
//
//	size int32 | header | body
//
//	request header v1   api key int16, version int16, correlation id int32, client id string
//	request header v2   the same and a tag section (flexible versions, KIP-482)
//	response header v0  correlation id int32
//	response header v1  the same and a tag section; never for ApiVersions
//
// A tag section is a count and then, for each tag, its number, its size and
// its bytes. Tags a message does not know are skipped, and lost when it is
// encoded again.
package codec
