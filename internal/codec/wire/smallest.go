package wire

import (
	"bytes"
	"encoding/binary"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
)

// SmallestRequest is the frame of a request with numbers zero, strings and
// bytes empty, one element in each array and one empty batch as records.
func SmallestRequest(a message.API, version int16) ([]byte, error) {
	if err := CheckVersion(a, version); err != nil {
		return nil, err
	}
	m := a.NewRequest()
	codec.Fill(version, a.IsFlexible(version), emptyBatch(), m)
	h := codec.RequestHeader{Key: a.Key, Version: version, HasClientID: true}
	return codec.EncodeRequest(h, a.IsFlexible(version), m)
}

// SmallestResponse is the frame of a response, filled like SmallestRequest.
func SmallestResponse(a message.API, version int16) ([]byte, error) {
	if err := CheckVersion(a, version); err != nil {
		return nil, err
	}
	m := a.NewResponse()
	codec.Fill(version, a.IsFlexible(version), emptyBatch(), m)
	f, err := codec.EncodeResponse(0, version, a.IsFlexible(version), a.FlexibleResponseHeader(version), m)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	var b bytes.Buffer
	_, err = f.WriteTo(&b)
	return b.Bytes(), err
}

// emptyBatch is a batch header without records, zero but for what must not
// be: length, magic and checksum.
func emptyBatch() []byte {
	b := make(record.Batch, record.HeaderSize)
	binary.BigEndian.PutUint32(b[8:], record.HeaderSize-record.LogOverhead)
	b[16] = record.Magic2
	binary.BigEndian.PutUint32(b[17:], b.Sum())
	return b
}
