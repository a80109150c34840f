package kafka

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// BrokerID is the number of a broker (node.id).
type BrokerID int32

// TopicPartition names one log.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's folder, such as orders-3.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// OwnPrefix begins the names of the logs that a broker keeps for itself. No
// topic of a client may have such a name.
const OwnPrefix = "__kaasd_"

// IsOwn says whether the log is one that the broker keeps for itself.
func (tp TopicPartition) IsOwn() bool { return strings.HasPrefix(tp.Topic, OwnPrefix) }

// TopicID is the UUID of a topic's life: a topic that is deleted and created
// again has another one (KIP-516). The zero value means none.
type TopicID [16]byte

// String is Kafka's notation: 22 characters of unpadded URL-safe base64.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero says whether the id names no topic.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// ParseTopicID reads what TopicID.String writes.
func ParseTopicID(s string) (TopicID, error) {
	var id TopicID
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != len(id) {
		return TopicID{}, Errorf(InvalidRequest, "%q is not a topic id: 22 characters of URL-safe base64 are expected", s)
	}
	copy(id[:], raw)
	return id, nil
}

// MarshalText writes the id as String does.
func (id TopicID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *TopicID) UnmarshalText(text []byte) error {
	parsed, err := ParseTopicID(string(text))
	*id = parsed
	return err
}

// MaxTopicName is the longest topic name Kafka allows, in bytes.
const MaxTopicName = 249

// CheckTopicName says what is wrong with a topic's name, as an
// InvalidTopic error, or nil.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return Errorf(InvalidTopic, "a topic name may not be empty")
	case name == "." || name == "..":
		return Errorf(InvalidTopic, "topic name %q may not be . or ..", name)
	case len(name) > MaxTopicName:
		return Errorf(InvalidTopic, "topic name of %d characters is longer than %d", len(name), MaxTopicName)
	}
	for i := range len(name) {
		if !topicByte(name[i]) {
			return Errorf(InvalidTopic, "topic name %q holds %q: only ASCII letters, digits, '.', '_' and '-' are allowed", name, name[i:i+1])
		}
	}
	return nil
}

func topicByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}
