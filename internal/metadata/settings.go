package metadata

import (
	"maps"
	"math"
	"strconv"
	"time"

	"kaasd/internal/storage"
)

// TopicSettings are the configs of a topic in the form the data path wants.
type TopicSettings struct {
	MaxMessageBytes int    // of a batch, compressed
	Compression     string // producer, uncompressed, gzip, snappy, lz4, zstd
	AppendTime      bool   // message.timestamp.type=LogAppendTime
	// TimestampBefore and TimestampAfter are how far a CreateTime may lie
	// behind and ahead of the clock, in ms; -1: no limit.
	TimestampBefore, TimestampAfter int64
	Log                             storage.Config
}

// BrokerSettings are the configs of the broker in the form the handlers want.
type BrokerSettings struct {
	NumPartitions     int32
	ReplicationFactor int16
	AutoCreateTopics  bool
	DeleteTopics      bool
	FetchMaxBytes     int
	ValidateRecords   bool // log.validate.records
	// ConnectionRate is max.connection.creation.rate, and ConnectionRates
	// that of each listener, per second.
	ConnectionRate  int64
	ConnectionRates map[string]int64
	Groups          GroupSettings
}

// GroupSettings are the configs of consumer groups.
type GroupSettings struct {
	MinSession    time.Duration // group.min.session.timeout.ms
	MaxSession    time.Duration // group.max.session.timeout.ms
	InitialDelay  time.Duration // group.initial.rebalance.delay.ms
	MaxSize       int           // group.max.size
	Retention     time.Duration // offsets.retention.minutes
	RetentionPass time.Duration // offsets.retention.check.interval.ms
	MaxMetadata   int           // offset.metadata.max.bytes
}

// topicSettings resolves what is in force for a topic with these overrides.
func (m *Image) topicSettings(overrides map[string]string) TopicSettings {
	text := func(name string) string { return m.TopicValue(name, overrides) }
	number := func(name string) int64 { return parseLong(text(name)) }
	s := TopicSettings{
		MaxMessageBytes: int(number("max.message.bytes")),
		Compression:     text("compression.type"),
		AppendTime:      text("message.timestamp.type") == "LogAppendTime",
		TimestampBefore: noLimit(number("message.timestamp.before.max.ms")),
		TimestampAfter:  noLimit(number("message.timestamp.after.max.ms")),
	}
	s.Log = storage.Config{
		Flush:              m.flush(number("flush.messages"), number("flush.ms")),
		SegmentBytes:       number("segment.bytes"),
		SegmentAge:         milliseconds(number("segment.ms")),
		IndexIntervalBytes: int(number("index.interval.bytes")),
		RetentionAge:       milliseconds(number("retention.ms")),
		RetentionBytes:     number("retention.bytes"),
		AppendTime:         s.AppendTime,
	}
	return s
}

// flush raises the broker's flush mode to what a topic asks for.
func (m *Image) flush(messages, ms int64) storage.Flush {
	switch {
	case messages == 1 || ms < m.env.FlushInterval.Milliseconds():
		return storage.FlushAlways
	case ms != math.MaxInt64:
		return max(m.env.Flush, storage.FlushInterval)
	}
	return m.env.Flush
}

// brokerSettings resolves what is in force for the broker.
func (m *Image) brokerSettings() BrokerSettings {
	text := m.BrokerValue
	return BrokerSettings{
		NumPartitions:     int32(parseLong(text("num.partitions"))),
		ReplicationFactor: int16(parseLong(text("default.replication.factor"))),
		AutoCreateTopics:  text("auto.create.topics.enable") == "true",
		DeleteTopics:      text("delete.topic.enable") == "true",
		FetchMaxBytes:     int(parseLong(text("fetch.max.bytes"))),
		ValidateRecords:   text("log.validate.records") == "true",
		ConnectionRate:    parseLong(text("max.connection.creation.rate")),
		ConnectionRates:   m.connectionRates(),
		Groups:            m.groupSettings(),
	}
}

func (m *Image) groupSettings() GroupSettings {
	number := func(name string) int64 { return parseLong(m.BrokerValue(name)) }
	return GroupSettings{
		MinSession:    milliseconds(number("group.min.session.timeout.ms")),
		MaxSession:    milliseconds(number("group.max.session.timeout.ms")),
		InitialDelay:  milliseconds(number("group.initial.rebalance.delay.ms")),
		MaxSize:       int(number("group.max.size")),
		Retention:     time.Duration(number("offsets.retention.minutes")) * time.Minute,
		RetentionPass: milliseconds(number("offsets.retention.check.interval.ms")),
		MaxMetadata:   int(number("offset.metadata.max.bytes")),
	}
}

// SameConnectionRates says whether two images limit new connections alike.
func (m *Image) SameConnectionRates(other *Image) bool {
	return m.Broker.ConnectionRate == other.Broker.ConnectionRate && maps.Equal(m.Broker.ConnectionRates, other.Broker.ConnectionRates)
}

func (m *Image) connectionRates() map[string]int64 {
	rates := make(map[string]int64, len(m.env.Listeners))
	for _, l := range m.env.Listeners {
		rates[l] = parseLong(m.BrokerValue(ListenerConnectionRate(l).Name))
	}
	return rates
}

// parseLong reads a number that a Property has already checked.
func parseLong(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// milliseconds is ms as a duration; what is too long for one is no limit.
func milliseconds(ms int64) time.Duration {
	if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

func noLimit(ms int64) int64 {
	if ms == math.MaxInt64 {
		return -1
	}
	return ms
}
