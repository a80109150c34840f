package metadata

import (
	"maps"
	"slices"
	"strconv"
)

// Source says where the value of a config comes from, by its number in
// DescribeConfigs (KIP-226).
type Source int8

// The sources.
const (
	FromTopic         Source = 1 // altered for the topic
	FromBroker        Source = 2 // altered for this broker
	FromBrokerDefault Source = 3 // altered for all brokers
	FromStart         Source = 4 // given when the broker was started
	FromDefault       Source = 5
	FromLogger        Source = 6 // the level of a logger
)

// Value is a value of one config with where it comes from.
type Value struct {
	Name   string
	Text   string
	Null   bool // there is none; only of a property without default
	Source Source
}

// Entry is one config of a resource as it is in force. Synonyms are the
// values it could have, strongest first.
type Entry struct {
	Value
	*Property
	Alterable bool
	Synonyms  []Value
}

// TopicConfigs are all configs of a topic.
func (m *Image) TopicConfigs(t *Topic) []Entry {
	entries := make([]Entry, 0, len(TopicProperties))
	for _, p := range TopicProperties {
		entries = append(entries, m.topicEntry(p, t.Configs))
	}
	return entries
}

func (m *Image) topicEntry(p *Property, overrides map[string]string) Entry {
	e := Entry{Property: p, Value: m.topicDefault(p), Alterable: true}
	if text, ok := overrides[p.Name]; ok {
		e.Value = Value{Name: p.Name, Text: text, Source: FromTopic}
		e.Synonyms = append(e.Synonyms, e.Value)
	}
	for _, s := range p.sources {
		broker, _ := BrokerProperty(s.property)
		if s.scale == 1 {
			e.Synonyms = append(e.Synonyms, m.brokerValues(broker)...)
		}
	}
	return e
}

// BrokerProperty finds a property of this broker, those of its listeners too.
func (m *Image) BrokerProperty(name string) (*Property, bool) { return find(m.env.table, name) }

// BrokerValue is what is in force of one property of this broker; empty for
// none.
func (m *Image) BrokerValue(name string) string {
	p, ok := m.BrokerProperty(name)
	if !ok {
		return ""
	}
	return m.brokerValue(p).Text
}

// TopicValue is what is in force of one property of a topic with these
// overrides.
func (m *Image) TopicValue(name string, overrides map[string]string) string {
	if text, ok := overrides[name]; ok {
		return text
	}
	p, _ := TopicProperty(name)
	return m.topicDefault(p).Text
}

// topicDefault is the value of a topic property that the topic does not
// override: the broker's, converted to the topic's unit.
func (m *Image) topicDefault(p *Property) Value {
	for _, s := range p.sources {
		broker, _ := BrokerProperty(s.property)
		v := m.brokerValue(broker)
		if v.Null || v.Source == FromDefault {
			continue
		}
		v.Name = p.Name
		if s.scale != 1 {
			v.Text = scaled(v.Text, s.scale)
		}
		return v
	}
	return Value{Name: p.Name, Text: p.Default, Source: FromDefault}
}

// scaled converts a number to a smaller unit. Negative means no limit in
// every unit.
func scaled(text string, scale int64) string {
	if n := parseLong(text); n > 0 {
		return strconv.FormatInt(n*scale, 10)
	}
	return text
}

// BrokerConfigs are all configs of this broker.
func (m *Image) BrokerConfigs() []Entry {
	entries := make([]Entry, 0, len(m.env.table))
	for _, p := range m.env.table {
		entries = append(entries, Entry{Property: p, Value: m.brokerValue(p), Alterable: p.Dynamic, Synonyms: m.brokerValues(p)})
	}
	return entries
}

// ClusterConfigs are the configs altered for all brokers.
func (m *Image) ClusterConfigs() []Entry {
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(m.brokers[""])) {
		if p, ok := m.BrokerProperty(name); ok {
			v := Value{Name: name, Text: m.brokers[""][name], Source: FromBrokerDefault}
			entries = append(entries, Entry{Property: p, Value: v, Alterable: true, Synonyms: []Value{v}})
		}
	}
	return entries
}

// brokerValue is what is in force of one broker property.
func (m *Image) brokerValue(p *Property) Value {
	if values := m.brokerValues(p); len(values) > 0 {
		return values[0]
	}
	return Value{Name: p.Name, Null: true, Source: FromDefault}
}

// brokerValues are the values a broker property has, strongest first.
func (m *Image) brokerValues(p *Property) []Value {
	var values []Value
	for _, layer := range []struct {
		texts  map[string]string
		source Source
	}{{m.brokers[m.env.brokerName()], FromBroker}, {m.brokers[""], FromBrokerDefault}, {m.env.Properties, FromStart}} {
		if text, ok := layer.texts[p.Name]; ok {
			values = append(values, Value{Name: p.Name, Text: text, Source: layer.source})
		}
	}
	if !p.NoDefault {
		values = append(values, Value{Name: p.Name, Text: p.Default, Source: FromDefault})
	}
	return values
}
