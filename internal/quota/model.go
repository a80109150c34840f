package quota

import (
	"time"

	"kaasd/internal/kafka"
)

// Model is the rules of a quota model: what may be limited, by which keys,
// which code answers what is wrong, and which setting applies to whom. The
// engine is the same for every model.
type Model struct {
	// types are the entity types a filter may name.
	types []string
	// alterable are the types that make up an entity which may be altered:
	// exactly these, each with a name.
	alterable []string
	// allows tells, in the message of a refusal, which option takes other
	// entities.
	allows string

	keys       []key
	unknownKey kafka.Code // of an operation, set and removal alike

	levels []level
	burst  time.Duration // how much of its rate a full bucket holds
}

// key is a quota key with the values it takes.
type key struct {
	name     string
	label    string // value of the label quota
	unit     string
	integral bool    // a fraction above 1e-6 is refused
	highest  float64 // 0: no bound
	enforced bool
	kind     Kind // when enforced
}

// level is one step of the precedence: the first level that holds a value for
// a key decides. Stored is where the value is looked up, and whose bucket pays.
type level struct {
	name   string
	stored func(user, clientID string) kafka.Entity
	shared func(user, clientID string) string // by whom the bucket is shared
}

// maxLong is the highest byte rate: 2^63, as far as a double can tell it from
// the largest 64-bit integer.
const maxLong = 1 << 63

// Windows are the settings that say how much a full bucket of the kafka model
// holds: quota.window.num, quota.window.size.seconds, and the pair of the same
// name under controller. for mutations.
type Windows struct {
	Num          int
	Size         time.Duration
	MutationNum  int
	MutationSize time.Duration
}

// DefaultWindows are eleven of one second, twice.
func DefaultWindows() Windows { return Windows{11, time.Second, 11, time.Second} }

// KafkaModel is everything that Apache Kafka does.
func KafkaModel(w Windows) Model {
	m := UserModel()
	m.burst = time.Duration(w.Num-1) * w.Size
	return m
}

// UserModel is the default: named users, an override that stands for the user
// as a whole, a burst of one second's worth.
func UserModel() Model {
	return Model{
		types:      []string{kafka.EntityUser, kafka.EntityClientID, kafka.EntityIP},
		alterable:  []string{kafka.EntityUser},
		allows:     "quota.model=kafka",
		unknownKey: kafka.InvalidConfig,
		burst:      time.Second,
		keys: []key{
			{name: kafka.ProducerByteRate, label: Produce.String(), unit: "bytes/s", integral: true, highest: maxLong, enforced: true, kind: Produce},
			{name: kafka.ConsumerByteRate, label: Fetch.String(), unit: "bytes/s", integral: true, highest: maxLong, enforced: true, kind: Fetch},
			{name: kafka.RequestPercentage, label: "request", unit: "percent"},
		},
		levels: []level{{
			name:   "user",
			stored: func(user, _ string) kafka.Entity { return kafka.UserEntity(user) },
			shared: func(user, _ string) string { return "all clients of " + user },
		}},
	}
}

func (m *Model) key(name string) (*key, bool) {
	for i := range m.keys {
		if m.keys[i].name == name {
			return &m.keys[i], true
		}
	}
	return nil, false
}
