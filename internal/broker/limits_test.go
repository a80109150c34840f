package broker_test

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// Topics cannot use up the machine together, however they come to be.
func TestPartitionsInAll(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	create := func(name string, partitions int32) kafka.Code {
		return call[message.CreateTopicsResponse](p, 7, &message.CreateTopicsRequest{
			Topics:    []message.CreateTopicsTopic{{Name: name, NumPartitions: partitions, ReplicationFactor: 1}},
			TimeoutMs: 30_000,
		}).Topics[0].ErrorCode
	}
	if got := create("a", 60_000); got != kafka.NoError {
		t.Fatalf("60000 partitions: %s", got)
	}
	if got := create("b", 40_001); got != kafka.InvalidPartitions {
		t.Errorf("40001 more: %s, want INVALID_PARTITIONS", got)
	}
	if got := create("b", 1); got != kafka.NoError {
		t.Errorf("1 more: %s", got)
	}
	grown := call[message.CreatePartitionsResponse](p, 3, &message.CreatePartitionsRequest{
		Topics: []message.CreatePartitionsTopic{{Name: "b", Count: 50_000}}, TimeoutMs: 30_000,
	})
	if got := grown.Results[0].ErrorCode; got != kafka.InvalidPartitions {
		t.Errorf("growing beyond the limit: %s, want INVALID_PARTITIONS", got)
	}
}

// Compressed records are opened only where that is asked for (INVALID_RECORD then),
// and kept as they were produced elsewhere.
func TestCompressedRecordsAreOpenedOnRequest(t *testing.T) {
	for validate, want := range map[string]kafka.Code{"false": kafka.NoError, "true": kafka.InvalidRecord} {
		b := brokertest.Start(t, func(c *broker.Config) { c.Properties = map[string]string{"log.validate.records": validate} })
		p := dial(t, b.Plain)
		p.newTopic("t")
		broken := batch(500)
		binary.BigEndian.PutUint16(broken[21:], uint16(record.Gzip)) // these records are not gzip
		binary.BigEndian.PutUint32(broken[17:], broken.Sum())
		if got, _ := p.produce("t", broken); got.ErrorCode != want {
			t.Errorf("log.validate.records=%s: %s, want %s", validate, got.ErrorCode, want)
		}
		if got, _ := p.produce("t", record.NewBuilder(record.Gzip).Add(batch(1).BaseTimestamp(), nil, []byte("good")).Batch()); got.ErrorCode != kafka.NoError {
			t.Errorf("log.validate.records=%s: a good batch: %s", validate, got.ErrorCode)
		}
	}
}

// A client may say itself that the broker's time counts (Kafka 4.4.0 takes that):
// where it does not, the batch is taken, and its times are the producer's.
func TestAppendTimeBitOfAClient(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("created")
	p.newTopic("appended", config("message.timestamp.type", "LogAppendTime"))
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd} {
		for topic, stamps := range map[string]bool{"created": false, "appended": true} {
			b := record.NewBuilder(codec).Add(1000, nil, []byte("v")).Batch()
			b[22] |= 1 << 3
			reseal(b)
			answer, _ := p.produce(topic, b)
			if answer.ErrorCode != kafka.NoError || (answer.LogAppendTimeMs > 1000) != stamps {
				t.Errorf("%s, %v: %s, append time %d", topic, codec, answer.ErrorCode, answer.LogAppendTimeMs)
			}
			stored := batches(t, p.fetchOne(12, fetchRequest(topic, answer.BaseOffset)).Records.Bytes)[0]
			if stored.Codec() != codec || (stored.MaxTimestamp() > 1000) != stamps || stamps && !stored.AppendTime() {
				t.Errorf("%s, %v: stored with %v, time %d", topic, codec, stored.Codec(), stored.MaxTimestamp())
			}
		}
	}
}

// Connections cannot use up the memory: where nobody says how many there may be, half
// of it is enough for them.
func TestConnectionsWithinMemory(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.MemoryLimit = 1 << 20 })
	const room = 64 // the least
	for range room {
		p := dial(t, b.Plain)
		call[message.ApiVersionsResponse](p, 0, &message.ApiVersionsRequest{})
	}
	nc, err := net.Dial("tcp", b.Plain)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("connection %d was let in: %v", room+1, err)
	}
}
