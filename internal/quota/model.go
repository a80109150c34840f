package quota

import (
	"math"
	"time"

	"kaasd/internal/kafka"
)

// Model is the rules of a quota model: what may be limited, by which keys,
// which code answers what is wrong, and which setting applies to whom. The
// engine is the same for every model.
type Model struct {
	// types are the entity types a filter may name.
	types []string
	// usersOnly: an entity is one user with a name. allows tells, in the message
	// of a refusal, which option takes the others.
	usersOnly bool
	allows    string
	// whole: an override stands for the entity as a whole; else each key of it
	// stands before the file's.
	whole bool
	// strict: a filter can ask for entities that have no other types.
	strict bool
	// durable: alterations are to outlive the process.
	durable bool

	keys          []key
	unknownKey    kafka.Code // of an operation that sets it
	removeUnknown bool       // its removal is no fault

	levels []level
	rules  [kinds]rule
}

// key is a quota key with the values it takes.
type key struct {
	name     string
	unit     string
	scale    float64 // units of the bucket in a second for a value of one
	integral bool    // a fraction above 1e-6 is refused
	highest  float64 // 0: no bound
	none     float64 // from this value on there is no limit; 0: never
	ofIP     bool    // of an address; else of users and client ids
	enforced bool
	kind     Kind
}

// rate is a value in units of the bucket.
func (k *key) rate(v float64) float64 {
	if k.none > 0 && v >= k.none {
		return unlimited
	}
	return v * k.scale
}

// The highest values: 2^63, as far as a double can tell it from the largest
// 64-bit integer, and the largest 32-bit integer.
const (
	maxLong = 1 << 63
	maxInt  = math.MaxInt32
)

// rule is how the buckets of a kind behave.
type rule struct {
	burst   time.Duration // how much of its rate a full bucket holds
	longest time.Duration // the longest throttle that is announced; 0: any
	deepest time.Duration // the most that is owed; 0: any
}

// UserModel is the default: named users, an override that stands for the user
// as a whole, a burst of one second's worth.
func UserModel() Model {
	second := rule{burst: time.Second}
	return Model{
		types:      []string{kafka.EntityUser, kafka.EntityClientID, kafka.EntityIP},
		usersOnly:  true,
		allows:     "quota.model=kafka",
		whole:      true,
		unknownKey: kafka.InvalidConfig,
		keys: []key{
			{name: kafka.ProducerByteRate, unit: "bytes/s", scale: 1, integral: true, highest: maxLong, enforced: true, kind: Produce},
			{name: kafka.ConsumerByteRate, unit: "bytes/s", scale: 1, integral: true, highest: maxLong, enforced: true, kind: Fetch},
			{name: kafka.RequestPercentage, unit: "percent", scale: percent, kind: Request},
		},
		levels: []level{{name: "user", user: byName, owner: ofUser}},
		rules:  [kinds]rule{Produce: second, Fetch: second},
	}
}

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

// KafkaModel is everything that Apache Kafka does: users, client ids, pairs of
// them, addresses and the defaults of all, key by key. Full buckets hold what
// Kafka's windows let pass at once, and one window's worth at least: what an empty
// bucket earns while nobody takes it would be lost.
func KafkaModel(w Windows) Model {
	burst := time.Duration(max(w.Num-1, 1)) * w.Size
	return Model{
		types:         []string{kafka.EntityUser, kafka.EntityClientID, kafka.EntityIP},
		strict:        true,
		durable:       true,
		unknownKey:    kafka.InvalidRequest,
		removeUnknown: true,
		keys: []key{
			{name: kafka.ProducerByteRate, unit: "bytes/s", scale: 1, integral: true, highest: maxLong, enforced: true, kind: Produce},
			{name: kafka.ConsumerByteRate, unit: "bytes/s", scale: 1, integral: true, highest: maxLong, enforced: true, kind: Fetch},
			{name: kafka.RequestPercentage, unit: "percent", scale: percent, enforced: true, kind: Request},
			{name: kafka.ControllerMutationRate, unit: "partitions/s", scale: 1, enforced: true, kind: Mutation},
			{name: kafka.ConnectionCreationRate, unit: "connections/s", scale: 1, integral: true, highest: maxInt, none: maxInt, ofIP: true, enforced: true, kind: Connection},
		},
		levels: []level{
			{name: "user+client-id", user: byName, clientID: byName, owner: ofPair},
			{name: "user+client-default", user: byName, clientID: byDefault, owner: ofPair},
			{name: "user", user: byName, owner: ofUser},
			{name: "user-default+client-id", user: byDefault, clientID: byName, owner: ofPair},
			{name: "user-default+client-default", user: byDefault, clientID: byDefault, owner: ofPair},
			{name: "user-default", user: byDefault, owner: ofUser},
			{name: "client-id", clientID: byName, owner: ofClient},
			{name: "client-default", clientID: byDefault, owner: ofClient},
			{name: "ip", ip: byName, owner: ofAddress},
			{name: "ip-default", ip: byDefault, owner: ofAddress},
		},
		rules: [kinds]rule{
			Produce: {burst: burst},
			Fetch:   {burst: burst},
			// Work is repaid in steps of a window, so its debt has an end too.
			Request:  {burst: burst, longest: w.Size, deepest: time.Duration(w.Num) * w.Size},
			Mutation: {burst: time.Duration(w.MutationNum) * w.MutationSize},
			// The bucket must hold one connection: a debt is refused.
			Connection: {burst: burst, longest: w.Size},
		},
	}
}

// maxLevels is the most levels of a model.
const maxLevels = 10

func (m *Model) key(name string) (*key, bool) {
	for i := range m.keys {
		if m.keys[i].name == name {
			return &m.keys[i], true
		}
	}
	return nil, false
}

// enforced calls f for each key whose quotas are held.
func (m *Model) enforced(f func(k *key)) {
	for i := range m.keys {
		if m.keys[i].enforced {
			f(&m.keys[i])
		}
	}
}
