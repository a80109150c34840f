package metadata

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
)

// replay is the reading of the log at a start.
type replay struct {
	s     *Store
	draft *Draft
	start int64 // of the log
	image int64 // what the last image weighs, as far as it was read
	left  int   // so many changes of that image are to come

	reader reader
}

// replay applies the whole log to an image.
func (s *Store) replay(ctx context.Context, empty *Image) (*Image, error) {
	r := replay{s: s, draft: empty.edit(), start: s.log.Offsets().Start}
	next, err := storage.Replay(ctx, s.log, r.record)
	if err == nil {
		err = r.ends(next)
	}
	if err != nil {
		return nil, err
	}
	s.limit = limitFor(r.image)
	if s.foreign > 0 {
		s.logger.Warn("the metadata log has changes of a newer version in it: it is not made smaller until that version runs again", zap.Int("changes", s.foreign))
	}
	return r.draft.done(), nil
}

// ends looks whether the log ends where it should.
func (r *replay) ends(next int64) error {
	switch end := r.s.log.Offsets().End; {
	case next < end:
		return fmt.Errorf("offset %d: the log ends before its end", next)
	case r.left > 0:
		return fmt.Errorf("offset %d: the log ends within an image, %d of its changes are missing", next, r.left)
	case r.start > 0 && r.start == end:
		return fmt.Errorf("offset %d: the log is empty, and there is no image of what was before (put the data folder back from a backup)", next)
	}
	return nil
}

func (r *replay) record(rec record.Record) error {
	kind := string(rec.Key)
	if rec.Offset == r.start && r.start > 0 && kind != (imageBegan{}).kind() {
		return fmt.Errorf("%s: the log begins here, and not with an image of what was before (put the data folder back from a backup)", kind)
	}
	decode, known := kinds[kind]
	if !known {
		r.s.logger.Warn("metadata change of an unknown kind is skipped", zap.String("kind", kind), zap.Int64("offset", rec.Offset))
		r.count(nil, false, rec)
		return nil
	}
	c, whole, err := decode(&r.reader, rec.Value)
	if err == nil {
		err = c.apply(r.draft)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	r.count(c, whole, rec)
	return nil
}

// count notes what a rewrite depends on. An image begins it anew.
func (r *replay) count(c Change, whole bool, rec record.Record) {
	weight := weigh(rec.Key, rec.Value)
	if began, ok := c.(imageBegan); ok {
		r.s.weight, r.s.foreign, r.image, r.left = 0, 0, 0, began.Changes+1
	}
	if r.left > 0 {
		r.left--
		r.image += weight
	}
	r.s.weight += weight
	if !whole {
		r.s.foreign++
	}
}
