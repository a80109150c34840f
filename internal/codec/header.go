package codec

import (
	"encoding/binary"

	"kaasd/internal/kafka"
)

// RequestHeader is what comes before every request.
type RequestHeader struct {
	Key           kafka.APIKey
	Version       int16
	CorrelationID int32
	ClientID      string // empty when null: the two mean the same
	HasClientID   bool
}

// Fields is header version 1 or 2. The client id is never compact.
func (h *RequestHeader) Fields(c *Cursor) {
	c.Int16("api_key", (*int16)(&h.Key), "which API is asked")
	if c.trace != nil && c.err == nil {
		c.trace.remark(h.Key.String())
	}
	c.Int16("api_version", &h.Version, "version of the body's layout")
	c.Int32("correlation_id", &h.CorrelationID, "the answer carries the same number")
	c.optionalString("client_id", &h.ClientID, &h.HasClientID, "what the client calls itself; null and empty mean the same")
	c.flexible = c.Version >= 2
}

// ResponseHeader is what comes before every response.
type ResponseHeader struct {
	CorrelationID int32
}

// Fields is header version 0 or 1.
func (h *ResponseHeader) Fields(c *Cursor) {
	c.Int32("correlation_id", &h.CorrelationID, "the number the request carried")
	c.flexible = c.Version >= 1
}

// ParseHeader reads the header of a request frame, without its size prefix:
// version 2 when flexible, else version 1. The body is a slice of the frame.
// On an error the header holds the fields before the bad one.
func ParseHeader(frame []byte, flexible bool) (h RequestHeader, body []byte, err error) {
	c := newCursor(decoding, headerVersion(flexible, 1), false)
	defer c.free()
	c.buf, c.budget = frame, len(frame)
	walk(c, &c.request)
	return c.request, frame[c.off:], c.failure()
}

// ParseResponseHeader reads the header of a response frame, without its size
// prefix: version 1 when flexible, else version 0.
func ParseResponseHeader(frame []byte, flexible bool) (h ResponseHeader, body []byte, err error) {
	c := newCursor(decoding, headerVersion(flexible, 0), false)
	defer c.free()
	c.buf = frame
	walk(c, &c.response)
	return c.response, frame[c.off:], c.failure()
}

func headerVersion(flexible bool, plain int16) int16 {
	if flexible {
		return plain + 1
	}
	return plain
}

// PeekKey reads the API key and version at the start of a request frame.
func PeekKey(head []byte) (kafka.APIKey, int16, bool) {
	if len(head) < 4 {
		return 0, 0, false
	}
	return kafka.APIKey(binary.BigEndian.Uint16(head)), int16(binary.BigEndian.Uint16(head[2:])), true
}

// headerClientID is where the length of the client id stands in a request
// frame, behind key, version and correlation id.
const headerClientID = 8

// PeekClientID reads the client id at the start of a request frame; of a long
// one what the head holds of it. A null one is empty.
func PeekClientID(head []byte) ([]byte, bool) {
	if len(head) < headerClientID+2 {
		return nil, false
	}
	length, rest := int16(binary.BigEndian.Uint16(head[headerClientID:])), head[headerClientID+2:]
	return rest[:min(max(int(length), 0), len(rest))], true
}
