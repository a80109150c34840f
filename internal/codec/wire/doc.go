// Package wire shows frames the way a page about the protocol does: a grid of
// the bytes and the tree of everything they mean, down to records and tags.
// It describes nothing itself. Trees come from codec.Trace and schemas from
// codec.Describe, which walk the messages that the broker speaks with; only
// the insides of record batches, which the codec leaves unopened, are told
// here.
//
//	0000  00 00 00 13 00 00 00 00 00 00 00 00 00 02 00 00  |................|
//
//	AlterClientQuotasResponse message v1 [0x0000, 23B]
//	+-- Frame [0x0000, 4B] length-delimited
//	|   +-- size int32 = 19 [0x0000, 4B] bytes that follow
//
// A line is: name, type, = value, (how it is written or what it means),
// [offset, length], what it is. Offsets count from the start of the frame.
package wire
