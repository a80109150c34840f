package broker_test

import (
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

// lookedFor are exact versions by which clients decide what a broker can do.
// None of them tells its user when one is missing: it compresses nothing, keeps
// out of groups or stands still.
var lookedFor = []struct {
	key      kafka.APIKey
	versions []int16
	why      string
}{
	{kafka.KeyProduce, []int16{0, 3, 7}, "librdkafka to 2.11: gzip, snappy and lz4; batches; zstd"},
	{kafka.KeyFetch, []int16{4, 10}, "librdkafka to 2.11: batches; zstd"},
	{kafka.KeyListOffsets, []int16{1, 2}, "kafka-go, kafka-python 2.0; librdkafka to 2.11"},
	{kafka.KeyMetadata, []int16{0, 1}, "kafka-python 2.0 and aiokafka ask with 0 first"},
	{kafka.KeyFindCoordinator, []int16{0}, "librdkafka to 2.11: groups and lz4; kafka-go, kafka-python 2.0"},
	{kafka.KeyJoinGroup, []int16{0, 2}, "librdkafka to 2.10; kafka-go"},
	{kafka.KeySyncGroup, []int16{0}, "librdkafka to 2.11; kafka-go"},
	{kafka.KeyHeartbeat, []int16{0}, "librdkafka to 2.11; kafka-go"},
	{kafka.KeyLeaveGroup, []int16{0}, "librdkafka to 2.11; kafka-go"},
	{kafka.KeyOffsetCommit, []int16{2}, "librdkafka to 2.11; kafka-go"},
	{kafka.KeyOffsetFetch, []int16{1}, "librdkafka to 2.11; kafka-go"},
	{kafka.KeySASLHandshake, []int16{0, 1}, "kafka-python 2.0 uses 0; the others 1"},
	{kafka.KeySASLAuthenticate, []int16{0, 1}, "librdkafka to 2.11"},
	{kafka.KeyApiVersions, []int16{0, 2, 3, 4}, "kafka-go, Java before a log-in; kafkajs; librdkafka; franz-go"},
	{kafka.KeyInitProducerID, []int16{0}, "librdkafka to 2.11: idempotence"},
	{kafka.KeyOffsetForLeaderEpoch, []int16{2}, "librdkafka uses 2 alone"},
	{kafka.KeyDeleteGroups, []int16{0}, "sarama of old"},
}

// What old clients look for is within what is listed.
func TestOldClientsFindWhatTheyLookFor(t *testing.T) {
	type span struct{ low, high int16 }
	listed := map[kafka.APIKey]span{}
	for _, k := range dial(t, brokertest.Start(t).Plain).versions().ApiKeys {
		listed[k.ApiKey] = span{k.MinVersion, k.MaxVersion}
	}
	for _, look := range lookedFor {
		has, ok := listed[look.key]
		for _, version := range look.versions {
			if !ok || version < has.low || version > has.high {
				t.Errorf("%s %d is not within %d-%d (%s)", look.key, version, has.low, has.high, look.why)
			}
		}
	}
}

// Keys of what is not served are not listed: clients that find them use them,
// of their own accord. Telemetry would be pushed by every librdkafka and Java
// client, a transaction would fail in its middle.
func TestWhatIsNotServedIsNotListed(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	unserved := map[kafka.APIKey]string{
		24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", 26: "EndTxn", 28: "TxnOffsetCommit", 65: "DescribeTransactions", 66: "ListTransactions",
		38: "CreateDelegationToken", 39: "RenewDelegationToken", 40: "ExpireDelegationToken", 41: "DescribeDelegationToken",
		68: "ConsumerGroupHeartbeat", 69: "ConsumerGroupDescribe", 71: "GetTelemetrySubscriptions", 72: "PushTelemetry",
		76: "ShareGroupHeartbeat", 77: "ShareGroupDescribe", 78: "ShareFetch", 79: "ShareAcknowledge", 88: "StreamsGroupHeartbeat", 89: "StreamsGroupDescribe",
	}
	for _, key := range []kafka.APIKey{4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 64, 67, 70, 73, 80, 81, 82, 83, 84, 85, 86, 87} {
		unserved[key] = "between brokers and controllers"
	}
	told := p.versions()
	for _, k := range told.ApiKeys {
		if name, ok := unserved[k.ApiKey]; ok {
			t.Errorf("key %d (%s) is listed", k.ApiKey, name)
		}
	}
	flexible := p.flexibleVersions()
	for _, f := range flexible.FinalizedFeatures {
		if f.Name == "transaction.version" {
			t.Errorf("feature %s is told as %d", f.Name, f.MaxVersionLevel)
		}
	}
}
