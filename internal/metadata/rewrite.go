package metadata

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"
)

// The log is rewritten when what a start must read weighs more than spare times
// the last image and spareWeight. The first makes a rewrite cost no more than
// what was committed since the last, so that a large image is written seldom. The
// second is some 2,000 alterations of a quota, which a start reads in 10 to 20 ms,
// so that a small image is not written all the time, with a handful of syncs each.
const (
	spare       = 2
	spareWeight = 512 << 10
)

// around is what a record weighs besides its key and value: the header of its
// batch, where it is alone in it, and as much again for the work of reading it.
const around = 128

func weigh(key, value []byte) int64 { return int64(around + len(key) + len(value)) }

// imageBegan says that what came before in the log does not count any more: the
// changes that follow it, in the same batch, lead to the image as it was then.
type imageBegan struct {
	Changes int `json:"changes"` // so many follow
}

func (imageBegan) kind() string { return "ImageBegan" }

// apply begins again at nothing.
func (imageBegan) apply(d *Draft) error {
	*d = *newImage(d.env).edit()
	return nil
}

// whole is the image as changes, in an order in which they fit.
func (m *Image) whole() []Change {
	changes := []Change{imageBegan{}, ProducerIDsReserved{Next: m.NextProducerID}}
	for _, name := range slices.Sorted(maps.Keys(m.brokers)) { // before the topics, which depend on them
		changes = append(changes, BrokerConfigsSet{Broker: name, Configs: m.brokers[name]})
	}
	for _, t := range m.topics {
		changes = append(changes, TopicCreated{Name: t.Name, ID: t.ID, Partitions: t.Partitions, Configs: t.Configs})
	}
	for key, c := range m.scrams.all() {
		changes = append(changes, NewScramCredentialSet(key.user, *c))
	}
	for a := range m.acls.all() {
		changes = append(changes, NewACLCreated(a))
	}
	for q := range m.Quotas() {
		changes = append(changes, NewQuotaSet(q.Entity, q.Values, q.Address))
	}
	changes[0] = imageBegan{Changes: len(changes) - 1}
	return changes
}

// shrink rewrites the log if that is worth it. It needs the turn.
func (s *Store) shrink(ctx context.Context) {
	if s.weight <= s.limit || s.foreign > 0 {
		return
	}
	before := s.weight
	err := s.rewrite(ctx)
	s.limit = limitFor(s.weight)
	if err != nil {
		s.logger.Warn("the metadata log grows, it could not be rewritten", zap.Error(err))
		return
	}
	s.logger.Debug("metadata log rewritten", zap.Int64("weight_before", before), zap.Int64("weight_after", s.weight))
}

// limitFor is the weight to rewrite a log at that had this weight when it was
// rewritten, or could not be.
func limitFor(weight int64) int64 { return spare*weight + spareWeight }

// rewrite writes the whole image behind the log's end, as one batch, and lets go
// of what lies before it once that is synced. It needs the turn. With the batch
// or without it the log says the same, so that an error leaves nothing in doubt; a
// failed sync is final for the log, whoever asked for it.
func (s *Store) rewrite(ctx context.Context) error {
	before := s.weight
	at, err := s.append(ctx, s.Image().whole())
	if err != nil {
		return err
	}
	if err := s.log.Wait(context.WithoutCancel(ctx), at.NextOffset); err != nil {
		return fmt.Errorf("sync the metadata log: %w", err)
	}
	if _, err := s.log.DeleteRecords(at.BaseOffset); err != nil {
		return fmt.Errorf("shorten the metadata log: %w", err)
	}
	s.weight -= before
	return nil
}
