// Package message holds the requests and responses of every API that kaasd
// speaks: one file per API, one struct per request, response and part of one,
// each with a Fields method that names its fields in wire order. The names
// are those of Kafka's schema, with Go's initials.
//
//	Kafka             Go                   nothing there
//	string            string               ""
//	nullable string   *string              nil
//	array             []T                  empty
//	nullable array    []T                  nil, which is not empty
//	uuid              kafka.TopicID        zero
//	records           codec.Records        see there
//	tagged struct     *T                   nil
//	tagged int64      *int64               nil
//
// A field that a version lacks is not encoded, and has its schema's default
// after decoding. A zero response is not a response of defaults: what Kafka
// defaults to -1 must be set.
package message
