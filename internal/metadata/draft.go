package metadata

import (
	"maps"
	"slices"
	"strings"
)

// Draft is an image in the making: what it finds are the topics and configs as
// they are with the changes added so far. It starts as a copy that shares
// everything with the image it was made from, and copies what it is about to
// write to.
type Draft struct {
	Image
	changes   []Change
	ownTopics bool // the list of topics is this draft's own
}

func (m *Image) edit() *Draft {
	d := &Draft{Image: *m}
	d.byName, d.byID, d.byFolded = m.byName.edit(), m.byID.edit(), m.byFolded.edit()
	d.scrams, d.acls, d.quotas = m.scrams.edit(), m.acls.edit(), m.quotas.edit()
	return d
}

// Add makes changes part of the draft, one after the other. Where there is no room
// for all of them it makes none (PolicyViolation). A change that does not fit is an
// error and ends it, with the changes before it made.
func (d *Draft) Add(changes ...Change) error {
	if err := d.checkRoom(changes); err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.apply(d); err != nil {
			return err
		}
		d.changes = append(d.changes, c)
	}
	return nil
}

// done makes the image that the draft has become.
func (d *Draft) done() *Image {
	m := d.Image
	return &m
}

// place finds where a topic is, or belongs, in the list, which may then be
// written to.
func (d *Draft) place(name string) (int, bool) {
	if !d.ownTopics {
		d.topics, d.ownTopics = slices.Clone(d.topics), true
	}
	return slices.BinarySearchFunc(d.topics, name, func(t *Topic, name string) int { return strings.Compare(t.Name, name) })
}

func (d *Draft) put(t *Topic) {
	t.Settings = d.plain
	if len(t.Configs) > 0 {
		t.Settings = d.topicSettings(t.Configs)
	}
	if i, ok := d.place(t.Name); ok {
		d.partitions -= int(d.topics[i].Partitions)
		d.topics[i] = t
	} else {
		d.topics = slices.Insert(d.topics, i, t)
	}
	d.partitions += int(t.Partitions)
	d.byName.put(t.Name, t)
	d.byID.put(t.ID, t)
	d.byFolded.put(folded(t.Name), t)
}

func (d *Draft) remove(t *Topic) {
	if i, ok := d.place(t.Name); ok {
		d.topics = slices.Delete(d.topics, i, i+1)
	}
	d.partitions -= int(t.Partitions)
	d.byName.remove(t.Name)
	d.byID.remove(t.ID)
	d.byFolded.remove(folded(t.Name))
}

// setBroker replaces the overrides of a broker, or of all, and resolves anew
// what depends on them.
func (d *Draft) setBroker(name string, configs map[string]string) {
	brokers := maps.Clone(d.brokers)
	if brokers == nil {
		brokers = map[string]map[string]string{}
	}
	brokers[name] = configs
	d.brokers = brokers
	d.resolve()
	for _, t := range slices.Clone(d.topics) {
		fresh := *t
		d.put(&fresh)
	}
}
