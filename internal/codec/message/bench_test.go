package message_test

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"testing"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

var sizes = []int{1, 1000}

func produce(partitions int) *message.ProduceRequest {
	m := &message.ProduceRequest{Acks: -1, TimeoutMs: 30000, TopicData: []message.ProduceTopic{{Name: "orders"}}}
	for i := range partitions {
		m.TopicData[0].PartitionData = append(m.TopicData[0].PartitionData, message.ProducePartition{
			Index: int32(i), Records: codec.Records{Bytes: make([]byte, 1024)},
		})
	}
	return m
}

// BenchmarkProduceDecode reads header and body of version 9, into a new
// message and into one that is used again.
func BenchmarkProduceDecode(b *testing.B) {
	for _, n := range sizes {
		h := codec.RequestHeader{Key: kafka.KeyProduce, Version: 9, ClientID: "producer-1", HasClientID: true}
		frame, err := codec.EncodeRequest(h, true, produce(n))
		if err != nil {
			b.Fatal(err)
		}
		read := func(b *testing.B, m *message.ProduceRequest) {
			_, body, err := codec.ParseHeader(frame[4:], true)
			if err == nil {
				err = codec.Decode(body, 9, true, m, plenty)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("new/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read(b, new(message.ProduceRequest))
			}
		})
		b.Run(fmt.Sprintf("reset/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			m := new(message.ProduceRequest)
			for b.Loop() {
				m.Reset()
				read(b, m)
			}
		})
	}
}

// BenchmarkFetchDecode reads the body of version 12 into a message that is
// used again.
func BenchmarkFetchDecode(b *testing.B) {
	for _, n := range sizes {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			a := named(b, "Fetch")
			m := &message.FetchRequest{Topics: []message.FetchTopic{{Topic: "orders", Partitions: make([]message.FetchPartition, n)}}}
			body := encode(b, a, 12, m)
			for b.Loop() {
				m.Reset()
				if err := codec.Decode(body, 12, true, m, plenty); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// source is records of which no byte is in memory before they are written.
type source struct{ b []byte }

func (s *source) Size() int { return len(s.b) }

func (s *source) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.b)
	return int64(n), err
}

func (s *source) Release() {}

// BenchmarkFetchEncode makes, writes and releases an answer of version 12
// whose records are streamed.
func BenchmarkFetchEncode(b *testing.B) {
	for _, n := range sizes {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			records := &source{make([]byte, 1024)}
			m := &message.FetchResponse{Responses: []message.FetchResponseTopic{{Topic: "orders", Partitions: make([]message.FetchResponsePartition, n)}}}
			for i := range n {
				m.Responses[0].Partitions[i].Records.Source = records
			}
			for b.Loop() {
				f, err := codec.EncodeResponse(1, 12, true, true, m)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.WriteTo(io.Discard); err != nil {
					b.Fatal(err)
				}
				f.Release()
			}
		})
	}
}

// TestAllocations: what decoding costs does not grow with the record bytes,
// and a message that is used again costs next to nothing.
func TestAllocations(t *testing.T) {
	a := named(t, "Produce")
	m := produce(1)
	body := encode(t, a, 9, m)
	big := produce(1)
	big.TopicData[0].PartitionData[0].Records.Bytes = bytes.Repeat([]byte{1}, 1<<20)
	for _, c := range []struct {
		name string
		body []byte
		most float64
		m    func() *message.ProduceRequest
	}{
		{"new", body, 4, func() *message.ProduceRequest { return new(message.ProduceRequest) }},
		{"new, 1 MiB of records", encode(t, a, 9, big), 4, func() *message.ProduceRequest { return new(message.ProduceRequest) }},
		{"reset", body, 0, func() *message.ProduceRequest { m.Reset(); return m }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() {
				if err := codec.Decode(c.body, 9, true, c.m(), plenty); err != nil {
					t.Fatal(err)
				}
			})
			if got > c.most {
				t.Fatalf("%v allocations, want at most %v", got, c.most)
			}
		})
	}
}
