package metadata

import (
	"math"
	"slices"
	"strings"

	"kaasd/internal/kafka"
)

const (
	second = 1000
	minute = 60 * second
	hour   = 60 * minute
)

const noCompaction = "this broker does not compact logs (delete is the only cleanup policy)"

var (
	cleanupPolicies = []string{"delete"}
	notYet          = map[string]string{"compact": noCompaction}
	compressions    = []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}
	timestampTypes  = []string{"CreateTime", "LogAppendTime"}
	maxLong         = "9223372036854775807"
)

// TopicProperties are the configs of a topic that kaasd honours, in order of
// their names. Names, types and defaults are those of Apache Kafka 4.4.
var TopicProperties = []*Property{
	{Name: "cleanup.policy", Type: List, Default: "delete", oneOf: cleanupPolicies, refused: notYet,
		sources: []source{{"log.cleanup.policy", 1}},
		Doc:     "What happens to segments past the retention limits: delete drops them."},
	{Name: "compression.type", Type: String, Default: "producer", oneOf: compressions,
		sources: []source{{"compression.type", 1}},
		Doc:     "How batches are compressed in the log; producer keeps each as it was sent."},
	{Name: "flush.messages", Type: Long, Default: maxLong, min: 1,
		Doc: "1 acknowledges a batch only after it is synced to disk; any larger number leaves that to log.flush."},
	{Name: "flush.ms", Type: Long, Default: maxLong, min: 0,
		Doc: "How long a batch may stay unsynced, in ms; below log.flush.interval.ms each batch is synced before it is acknowledged."},
	{Name: "index.interval.bytes", Type: Int, Default: "4096",
		sources: []source{{"log.index.interval.bytes", 1}},
		Doc:     "An index entry is made for each so many bytes of the log."},
	{Name: "max.message.bytes", Type: Int, Default: "1048588",
		sources: []source{{"message.max.bytes", 1}},
		Doc:     "The largest record batch that is accepted, in bytes, after compression."},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000",
		sources: []source{{"log.message.timestamp.after.max.ms", 1}},
		Doc:     "How far a record's CreateTime may lie ahead of the broker's clock, in ms."},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: maxLong,
		sources: []source{{"log.message.timestamp.before.max.ms", 1}},
		Doc:     "How far a record's CreateTime may lie behind the broker's clock, in ms."},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", oneOf: timestampTypes,
		sources: []source{{"log.message.timestamp.type", 1}},
		Doc:     "Whose clock a record's timestamp is from: the producer's (CreateTime) or the broker's (LogAppendTime)."},
	{Name: "min.insync.replicas", Type: Int, Default: "1", min: 1,
		sources: []source{{"min.insync.replicas", 1}},
		Doc:     "How many replicas must have a batch for acks=all; the replication factor is the most that is asked for."},
	{Name: "retention.bytes", Type: Long, Default: "-1", min: math.MinInt64,
		sources: []source{{"log.retention.bytes", 1}},
		Doc:     "The size of a partition's log above which old segments are deleted, in bytes; negative for no limit."},
	{Name: "retention.ms", Type: Long, Default: "604800000", min: -1,
		sources: []source{{"log.retention.ms", 1}, {"log.retention.minutes", minute}, {"log.retention.hours", hour}},
		Doc:     "How long records are kept at least before their segment is deleted, in ms; -1 for ever."},
	{Name: "segment.bytes", Type: Int, Default: "1073741824", min: 1 << 20,
		sources: []source{{"log.segment.bytes", 1}},
		Doc:     "The size at which a new segment file is begun, in bytes."},
	{Name: "segment.ms", Type: Long, Default: "604800000", min: 1,
		sources: []source{{"log.roll.ms", 1}, {"log.roll.hours", hour}},
		Doc:     "The age at which a new segment file is begun, in ms, although the old one is not full."},
}

// BrokerProperties are the configs of the broker, in order of their names.
// What is not Dynamic is shown but fixed when the broker starts.
var BrokerProperties = []*Property{
	{Name: "advertised.listeners", Type: String, NoDefault: true, Doc: "What clients are told to connect to, by listener."},
	{Name: "auto.create.topics.enable", Type: Boolean, Default: "true", Doc: "Whether asking for the metadata of an unknown topic creates it."},
	{Name: "compression.type", Type: String, Default: "producer", oneOf: compressions, Dynamic: true,
		Doc: "The default of compression.type of topics."},
	{Name: "connections.max.idle.ms", Type: Long, Default: "600000", Doc: "A connection that is idle for so long is closed, in ms."},
	{Name: "connections.max.reauth.ms", Type: Long, Default: "0",
		Doc: "How long a log-in lasts until the client must log in again on its connection, in ms; 0 for ever."},
	{Name: "controller.quota.window.num", Type: Int, Default: "11", min: 1,
		Doc: "How many windows of its rate a full quota of controller mutations holds."},
	{Name: "controller.quota.window.size.seconds", Type: Int, Default: "1", min: 1, Doc: "How long such a window is, in seconds."},
	{Name: "default.replication.factor", Type: Int, Default: "1", min: 1, Doc: "The replication factor of topics created without one."},
	{Name: "delete.topic.enable", Type: Boolean, Default: "true", Doc: "Whether topics may be deleted."},
	{Name: "fetch.max.bytes", Type: Int, Default: "57671680", min: 1024, Doc: "The most record bytes of one fetch response."},
	{Name: "group.initial.rebalance.delay.ms", Type: Int, Default: "3000",
		Doc: "How long the first rebalance of a group that was empty waits for more members, in ms."},
	{Name: "group.max.session.timeout.ms", Type: Int, Default: "1800000", min: 1,
		Doc: "The longest session that a member of a group may ask for, in ms."},
	{Name: "group.max.size", Type: Int, Default: "2147483647", min: 1, Doc: "How many members a group may have."},
	{Name: "group.min.session.timeout.ms", Type: Int, Default: "6000", min: 1,
		Doc: "The shortest session that a member of a group may ask for, in ms."},
	{Name: "listeners", Type: String, NoDefault: true, Doc: "The addresses the broker listens on."},
	{Name: "log.cleanup.policy", Type: List, Default: "delete", oneOf: cleanupPolicies, refused: notYet, Dynamic: true,
		Doc: "The default of cleanup.policy of topics."},
	{Name: "log.dirs", Type: String, NoDefault: true, Doc: "The folder that holds the logs."},
	{Name: "log.flush", Type: String, Default: "interval", Doc: "When a batch counts as written: os, interval or always."},
	{Name: "log.flush.interval.ms", Type: Long, Default: "1000", min: 1, Doc: "How often logs are synced in flush mode interval, in ms."},
	{Name: "log.index.interval.bytes", Type: Int, Default: "4096", Dynamic: true, Doc: "The default of index.interval.bytes of topics."},
	{Name: "log.message.timestamp.after.max.ms", Type: Long, Default: "3600000", Dynamic: true,
		Doc: "The default of message.timestamp.after.max.ms of topics."},
	{Name: "log.message.timestamp.before.max.ms", Type: Long, Default: maxLong, Dynamic: true,
		Doc: "The default of message.timestamp.before.max.ms of topics."},
	{Name: "log.message.timestamp.type", Type: String, Default: "CreateTime", oneOf: timestampTypes, Dynamic: true,
		Doc: "The default of message.timestamp.type of topics."},
	{Name: "log.retention.bytes", Type: Long, Default: "-1", min: math.MinInt64, Dynamic: true, Doc: "The default of retention.bytes of topics."},
	{Name: "log.retention.hours", Type: Int, Default: "168", min: math.MinInt32, Doc: "How long records are kept, in hours, where no shorter unit says so."},
	{Name: "log.retention.minutes", Type: Int, NoDefault: true, min: math.MinInt32,
		Doc: "How long records are kept, in minutes, where log.retention.ms does not say so."},
	{Name: "log.retention.ms", Type: Long, NoDefault: true, min: math.MinInt64, Dynamic: true,
		Doc: "The default of retention.ms of topics; negative for ever."},
	{Name: "log.roll.hours", Type: Int, Default: "168", min: 1, Doc: "The age at which a new segment is begun, in hours, where log.roll.ms does not say so."},
	{Name: "log.roll.ms", Type: Long, NoDefault: true, min: 1, Dynamic: true, Doc: "The default of segment.ms of topics."},
	{Name: "log.segment.bytes", Type: Int, Default: "1073741824", min: 1 << 20, Dynamic: true, Doc: "The default of segment.bytes of topics."},
	{Name: "log.validate.records", Type: Boolean, Default: "false",
		Doc: "Whether the records of compressed batches are opened and checked before they are written, as Apache Kafka does."},
	connectionRate("max.connection.creation.rate", "The most new connections per second; the listeners wait when more come."),
	{Name: "max.connections", Type: Int, Default: "2147483647", Doc: "The most connections at a time."},
	{Name: "max.connections.per.ip", Type: Int, Default: "2147483647", Doc: "The most connections at a time from one address."},
	{Name: "message.max.bytes", Type: Int, Default: "1048588", Dynamic: true, Doc: "The default of max.message.bytes of topics."},
	{Name: "min.insync.replicas", Type: Int, Default: "1", min: 1, Dynamic: true, Doc: "The default of min.insync.replicas of topics."},
	{Name: "node.id", Type: Int, Default: "1", Doc: "The number of this broker."},
	{Name: "num.partitions", Type: Int, Default: "1", min: 1, Doc: "How many partitions topics get that are created without a count."},
	{Name: "offset.metadata.max.bytes", Type: Int, Default: "4096", Doc: "How long the note beside a committed offset may be, in bytes."},
	{Name: "offsets.retention.check.interval.ms", Type: Long, Default: "600000", min: 1, Doc: "How often committed offsets are looked through for old ones, in ms."},
	{Name: "offsets.retention.minutes", Type: Int, Default: "10080", min: 1,
		Doc: "How long committed offsets are kept that no member of their group uses, in minutes."},
	{Name: "queued.max.request.bytes", Type: Long, Default: "67108864", min: math.MinInt64, Doc: "Memory for requests on their way in, in bytes."},
	{Name: "quota.model", Type: String, Default: "user", Doc: "Whose rules client quotas follow."},
	{Name: "quota.window.num", Type: Int, Default: "11", min: 1,
		Doc: "A full quota holds one window less than this of its rate, one at least; one window is all that a request quota mutes for."},
	{Name: "quota.window.size.seconds", Type: Int, Default: "1", min: 1, Doc: "How long such a window is, in seconds."},
	{Name: "sasl.enabled.mechanisms", Type: List, Default: "SCRAM-SHA-512", Doc: "The SASL mechanisms that are offered."},
	{Name: "socket.request.max.bytes", Type: Int, Default: "104857600", min: 1, Doc: "The largest request that is read, in bytes."},
}

// connectionRate is a limit of new connections (KIP-612). Apache Kafka takes 0
// for the broker and is then shut; here, as for its listeners, it must be above.
func connectionRate(name, doc string) *Property {
	return &Property{Name: name, Type: Int, Default: "2147483647", min: 1, Dynamic: true, Doc: doc}
}

// ListenerConnectionRate is the property that limits the new connections of a
// listener.
func ListenerConnectionRate(listener string) *Property {
	return connectionRate("listener.name."+strings.ToLower(listener)+".max.connection.creation.rate",
		"The most new connections per second on listener "+listener+"; it waits when more come.")
}

// propertiesWith are the broker's with those of its listeners, in order of
// their names.
func propertiesWith(listeners []string) []*Property {
	all := slices.Clone(BrokerProperties)
	for _, l := range listeners {
		all = append(all, ListenerConnectionRate(l))
	}
	slices.SortFunc(all, func(a, b *Property) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// TopicProperty finds a topic property by name.
func TopicProperty(name string) (*Property, bool) { return find(TopicProperties, name) }

// BrokerProperty finds a broker property by name, but for those of listeners
// (Image.BrokerProperty).
func BrokerProperty(name string) (*Property, bool) { return find(BrokerProperties, name) }

// ParseTopicConfig checks a topic config and gives its plain form, or an
// InvalidConfig.
func ParseTopicConfig(name, value string) (string, error) {
	p, ok := TopicProperty(name)
	if !ok {
		return "", kafka.Errorf(kafka.InvalidConfig, "%q is not a topic config of this broker", name)
	}
	return p.Parse(value)
}

func find(table []*Property, name string) (*Property, bool) {
	i, ok := slices.BinarySearchFunc(table, name, func(p *Property, name string) int { return strings.Compare(p.Name, name) })
	if !ok {
		return nil, false
	}
	return table[i], true
}
