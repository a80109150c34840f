package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"kaasd/internal/kafka"
)

// Change is one thing that a commit changes. Its JSON form is what the log
// keeps: fields may be added to a change, never renamed.
type Change interface {
	// kind is the key of the change's record.
	kind() string
	// apply makes the change on a draft, or errs, with the draft as it was,
	// when the change does not fit.
	apply(d *Draft) error
}

// TopicCreated makes a topic. Configs are in plain form (Property.Parse).
type TopicCreated struct {
	Name       string            `json:"name"`
	ID         kafka.TopicID     `json:"id"`
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs,omitempty"`
}

// TopicDeleted ends the life of a topic.
type TopicDeleted struct {
	ID kafka.TopicID `json:"id"`
}

// PartitionsAdded raises a topic's partitions to a count.
type PartitionsAdded struct {
	ID         kafka.TopicID `json:"id"`
	Partitions int32         `json:"partitions"` // the new count
}

// TopicConfigsSet replaces all overrides of a topic.
type TopicConfigsSet struct {
	ID      kafka.TopicID     `json:"id"`
	Configs map[string]string `json:"configs"`
}

// BrokerConfigsSet replaces all overrides of a broker, or with the empty name
// those of all brokers.
type BrokerConfigsSet struct {
	Broker  string            `json:"broker"`
	Configs map[string]string `json:"configs"`
}

// ProducerIDsReserved says that producer ids below Next may have been given
// out (KIP-730).
type ProducerIDsReserved struct {
	Next int64 `json:"next"`
}

func (TopicCreated) kind() string        { return "TopicCreated" }
func (TopicDeleted) kind() string        { return "TopicDeleted" }
func (PartitionsAdded) kind() string     { return "PartitionsAdded" }
func (TopicConfigsSet) kind() string     { return "TopicConfigsSet" }
func (BrokerConfigsSet) kind() string    { return "BrokerConfigsSet" }
func (ProducerIDsReserved) kind() string { return "ProducerIDsReserved" }

func (c TopicCreated) apply(d *Draft) error {
	if err := d.CheckNewTopic(c.Name); err != nil {
		return err
	}
	if _, taken := d.TopicByID(c.ID); taken || c.ID.IsZero() {
		return fmt.Errorf("topic %q cannot have the id %s: it is zero or another topic's", c.Name, c.ID)
	}
	if c.Partitions < 1 {
		return kafka.Errorf(kafka.InvalidPartitions, "topic %q cannot have %d partitions", c.Name, c.Partitions)
	}
	if err := checkKnown(TopicProperty, c.Configs); err != nil {
		return err
	}
	d.put(&Topic{Name: c.Name, ID: c.ID, Partitions: c.Partitions, Configs: maps.Clone(c.Configs)})
	return nil
}

func (c TopicDeleted) apply(d *Draft) error {
	t, err := d.known(c.ID)
	if err != nil {
		return err
	}
	d.remove(t)
	return nil
}

func (c PartitionsAdded) apply(d *Draft) error {
	t, err := d.known(c.ID)
	if err != nil {
		return err
	}
	if c.Partitions <= t.Partitions {
		return kafka.Errorf(kafka.InvalidPartitions, "topic %q has %d partitions: %d is not more", t.Name, t.Partitions, c.Partitions)
	}
	grown := *t
	grown.Partitions = c.Partitions
	d.put(&grown)
	return nil
}

func (c TopicConfigsSet) apply(d *Draft) error {
	t, err := d.known(c.ID)
	if err != nil {
		return err
	}
	if err := checkKnown(TopicProperty, c.Configs); err != nil {
		return err
	}
	altered := *t
	altered.Configs = maps.Clone(c.Configs)
	d.put(&altered)
	return nil
}

func (c BrokerConfigsSet) apply(d *Draft) error {
	if err := checkKnown(d.BrokerProperty, c.Configs); err != nil {
		return err
	}
	d.setBroker(c.Broker, maps.Clone(c.Configs))
	return nil
}

func (c ProducerIDsReserved) apply(d *Draft) error {
	if c.Next < d.NextProducerID {
		return fmt.Errorf("producer ids from %d on cannot be free: those below %d are reserved", c.Next, d.NextProducerID)
	}
	d.NextProducerID = c.Next
	return nil
}

// checkKnown checks the values of the properties that this version has. Others,
// which a newer version may have written, are kept and have no effect.
func checkKnown(find func(string) (*Property, bool), configs map[string]string) error {
	for name, value := range configs {
		if p, ok := find(name); ok {
			if _, err := p.Parse(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// known finds a topic by id, or says UnknownTopicID.
func (m *Image) known(id kafka.TopicID) (*Topic, error) {
	if t, ok := m.TopicByID(id); ok {
		return t, nil
	}
	return nil, kafka.Errorf(kafka.UnknownTopicID, "this broker has no topic with the id %s", id)
}

// kinds reads the changes of each kind back.
var kinds = map[string]func(r *reader, value []byte) (c Change, whole bool, err error){
	imageBegan{}.kind():             decodeAs[imageBegan],
	TopicCreated{}.kind():           decodeAs[TopicCreated],
	TopicDeleted{}.kind():           decodeAs[TopicDeleted],
	PartitionsAdded{}.kind():        decodeAs[PartitionsAdded],
	TopicConfigsSet{}.kind():        decodeAs[TopicConfigsSet],
	BrokerConfigsSet{}.kind():       decodeAs[BrokerConfigsSet],
	ProducerIDsReserved{}.kind():    decodeAs[ProducerIDsReserved],
	ScramCredentialSet{}.kind():     decodeAs[ScramCredentialSet],
	ScramCredentialRemoved{}.kind(): decodeAs[ScramCredentialRemoved],
	ACLCreated{}.kind():             decodeAs[ACLCreated],
	ACLDeleted{}.kind():             decodeAs[ACLDeleted],
	QuotaSet{}.kind():               decodeAs[QuotaSet],
}

// decodeAs reads a change. It is not whole when it has fields of a later
// version, which are left out.
func decodeAs[C Change](r *reader, value []byte) (c Change, whole bool, err error) {
	var exact, known C
	if r.reads(value, &exact) {
		return exact, true, nil
	}
	err = json.Unmarshal(value, &known)
	return known, false, err
}

// reader reads values that have no fields but those of their change. It is one
// decoder for all of them: a new one for each would be most of what a start with
// a hundred thousand entries allocates.
type reader struct {
	from bytes.Reader
	json *json.Decoder
}

// reads says whether value is a change of the type of c, all of it, and puts it
// there.
func (r *reader) reads(value []byte, c any) bool {
	if r.json == nil {
		r.json = json.NewDecoder(&r.from)
		r.json.DisallowUnknownFields()
	}
	r.from.Reset(value)
	before := r.json.InputOffset()
	if r.json.Decode(c) == nil && r.json.InputOffset()-before == int64(len(value)) {
		return true
	}
	r.json = nil // it may have left something of the value
	return false
}
