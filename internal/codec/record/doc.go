// Package record is the record batch: the same bytes on the wire and on disk.
// Nothing above it looks into records; what passes through here is checked
// once at the door and copied as bytes from then on.
//
// A batch of magic 2 (KIP-98), big-endian:
//
//	 0        8    12    16 17    21   23       27        35        43
//	+--------+----+-----+--+-----+----+--------+---------+---------+---
//	| base   |len |epoch|mg| crc |attr| last   | base    | max     |
//	| offset |    |     |2 |     |    | delta  | time    | time    |
//	+--------+----+-----+--+-----+----+--------+---------+---------+---
//	43          51     53         57     61
//	---+--------+------+----------+------+-------------------+
//	   | prod.  |prod. | base     |count | records, in one   |
//	   | id     |epoch | sequence |      | compressed block  |
//	---+--------+------+----------+------+-------------------+
//
// len counts what lies behind it, so a batch has len+12 bytes. The checksum is
// CRC-32C over everything from attr on; base offset and epoch are the
// broker's to write, which is why they lie before it. The bits of attr:
//
//	0-2 codec   3 append time   4 transactional   5 control   6 delete horizon
//
// One record, in zigzag varints but for attr (one byte, unused):
//
//	size | attr | time delta | offset delta | key size, key | value size, value | headers
//	headers: count, then for each: key size, key | value size, value
//
// A size of -1 is null, for keys, values and header values. With the append
// time bit every record has the batch's max time.
//
// Promises: no function panics on any bytes; Validate does not copy or keep
// what it is given, and allocates only for errors and for a compressed batch
// that must be opened. What a batch opens to is bounded (maxOpened) whatever
// the input claims, and so is the memory for it: where only the records' places
// and times matter they are read as they come out of the decompressor (skim.go),
// half as many batches are open at a time as there are processors, and of those
// that need more than 8 MiB for it one (open.go).
package record
