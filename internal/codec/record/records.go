package record

import "iter"

// Record is one record of a batch.
type Record struct {
	Offset    int64
	Timestamp int64 // ms since the epoch, the broker's when the batch says so
	Key       []byte
	Value     []byte // nil is null, as for Key
	Headers   []Header
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil is null
}

// Records opens the batch and gives its records in order. The slices alias
// the batch, or the decompressed bytes when it is compressed. An error ends the
// walk; batches that Validate has passed can still fail here when they are
// compressed.
func (b Batch) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		raw, err := b.open()
		if err != nil {
			yield(Record{}, err)
			return
		}
		w, v := walker{rest: raw}, view{}
		for range b.Count() {
			if err := w.step(&v); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(b.record(&v), nil) {
				return
			}
		}
		if len(w.rest) > 0 {
			yield(Record{}, errTooMany)
		}
	}
}

// step is next, for a batch that says there is one.
func (w *walker) step(v *view) error {
	if len(w.rest) == 0 {
		return errTooFew
	}
	return w.next(v)
}

func (b Batch) record(v *view) Record {
	r := Record{
		Offset:    b.BaseOffset() + v.offsetDelta,
		Timestamp: b.BaseTimestamp() + v.timeDelta,
		Key:       v.key,
		Value:     v.value,
		Headers:   v.headerList(),
	}
	if b.AppendTime() {
		r.Timestamp = b.MaxTimestamp()
	}
	return r
}

func (v *view) headerList() []Header {
	if v.headerCount == 0 {
		return nil
	}
	list := make([]Header, v.headerCount)
	c := cursor{b: v.headers}
	for i := range list {
		list[i] = Header{Key: string(c.bytes()), Value: c.bytes()}
	}
	return list
}
