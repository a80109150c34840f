package record

import (
	"encoding/binary"
	"errors"

	"kaasd/internal/kafka"
)

// Limits are what a produced batch is held against.
type Limits struct {
	MaxBytes int   // max.message.bytes of the topic, the 12 bytes of overhead included
	Now      int64 // ms since the epoch
	// Before and After are message.timestamp.before.max.ms and .after.max.ms:
	// how far a record's time may lie from Now. Negative: no limit.
	Before, After  int64
	AppendTime     bool // message.timestamp.type=LogAppendTime: the records' own times do not matter
	Compacted      bool // cleanup.policy=compact: every record needs a key
	WalkCompressed bool // log.validate.records
	ZstdAllowed    bool // Produce v7 or above
}

// RecordError says what is wrong with one record of a refused batch.
type RecordError struct {
	Index   int32 // in the batch, from 0
	Message string
}

// maxRecordErrors bounds the answer to a batch in which every record is wrong.
const maxRecordErrors = 1000

// noTimestamp is the time of a record that has none.
const noTimestamp = -1

// Validate judges the records of one partition of a Produce request, which
// must be exactly one batch of magic 2, in the order in which Kafka does. The
// batch aliases records. Errors are *kafka.Error: InvalidRecord,
// UnsupportedCompressionType, MessageTooLarge, CorruptMessage,
// InvalidTimestamp.
//
// Records are walked without copying. Those of compressed batches are not
// opened, unless the limits ask for it or the header's times are outside of
// them: what is inside was made by the producer, and the consumer sees the same
// bytes either way.
//
// What the producer said of the times may be corrected in place, as Kafka does: the
// append-time bit belongs to the broker, and MaxTimestamp becomes that of the
// records where they were walked.
func Validate(records []byte, l Limits) (Batch, []RecordError, error) {
	b, err := single(records)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case b.Codec() == Zstd && !l.ZstdAllowed:
		return nil, nil, kafka.Errorf(kafka.UnsupportedCompressionType, "zstd needs Produce version 7 or above")
	case len(b) > l.MaxBytes:
		return nil, nil, kafka.Errorf(kafka.MessageTooLarge, "a batch of %d bytes is larger than max.message.bytes of the topic, %d", len(b), l.MaxBytes)
	case b.CRC() != b.Sum():
		return nil, nil, kafka.Errorf(kafka.CorruptMessage, "the checksum of the batch is %08x, its bytes give %08x", b.CRC(), b.Sum())
	}
	if err := b.checkProduced(); err != nil {
		return nil, nil, err
	}
	in := inspection{Limits: l, b: b, code: kafka.InvalidRecord, newest: noTimestamp}
	if err := in.inspect(); err != nil {
		return nil, in.errs, err
	}
	return b, nil, nil
}

// single makes sure that there is one batch, whole and by a producer.
func single(records []byte) (Batch, error) {
	if len(records) > 16 && Batch(records).Magic() != Magic2 {
		return nil, kafka.Errorf(kafka.InvalidRecord, "magic %d is not supported: record batches of magic 2 are expected", Batch(records).Magic())
	}
	b, rest, err := Next(records)
	switch {
	case errors.Is(err, ErrIncomplete):
		return nil, kafka.Errorf(kafka.InvalidRecord, "no complete record batch in %d bytes", len(records))
	case err != nil:
		return nil, kafka.Errorf(kafka.CorruptMessage, "%w", err)
	case len(rest) > 0:
		return nil, kafka.Errorf(kafka.InvalidRecord, "%d bytes follow the batch: exactly one batch per partition is expected", len(rest))
	case b.BaseOffset() != 0:
		return nil, kafka.Errorf(kafka.InvalidRecord, "base offset is %d: a producer's batch begins at 0", b.BaseOffset())
	}
	return b, nil
}

// checkProduced judges the header of a batch with a right checksum.
func (b Batch) checkProduced() error {
	if err := b.checkHeader(); err != nil {
		return kafka.Errorf(kafka.InvalidRecord, "%w", err)
	}
	switch {
	case b.Control():
		return kafka.Errorf(kafka.InvalidRecord, "control batches are the broker's to write")
	case b.ProducerID() < -1:
		return kafka.Errorf(kafka.InvalidRecord, "producer id %d is not valid", b.ProducerID())
	case b.ProducerID() >= 0 && (b.BaseSequence() < 0 || b.ProducerEpoch() < 0):
		return kafka.Errorf(kafka.InvalidRecord, "producer id %d needs a sequence and an epoch: they are %d and %d", b.ProducerID(), b.BaseSequence(), b.ProducerEpoch())
	}
	return nil
}

// inspection looks at the records of one batch.
type inspection struct {
	Limits
	b      Batch
	newest int64 // largest timestamp seen
	errs   []RecordError
	code   kafka.Code // of the errors, taken together
}

func (in *inspection) inspect() error {
	if !in.mustWalk() {
		in.correct(in.b.MaxTimestamp())
		return nil
	}
	if err := in.look(); err != nil {
		return err
	}
	in.correct(in.newest)
	return nil
}

// look walks the records, those of a compressed batch as they come out of it.
func (in *inspection) look() error {
	if in.b.Codec() == None {
		return in.walk(in.b[HeaderSize:])
	}
	return opening(func(most int) error {
		s, err := skim(in.b, most)
		if err != nil {
			return in.broken(0, err)
		}
		defer s.close()
		return in.skim(s)
	})
}

func (in *inspection) mustWalk() bool {
	return in.b.Codec() == None || in.WalkCompressed || in.Compacted ||
		!in.timely(in.b.BaseTimestamp()) || !in.timely(in.b.MaxTimestamp())
}

// timely says whether a record may have that time.
func (in *inspection) timely(ts int64) bool {
	switch {
	case in.AppendTime || ts == noTimestamp:
		return true
	case ts > in.Now: // the differences are at most 2^64-1
		return in.After < 0 || uint64(ts)-uint64(in.Now) <= uint64(in.After)
	}
	return in.Before < 0 || uint64(in.Now)-uint64(ts) <= uint64(in.Before)
}

func (in *inspection) walk(raw []byte) error {
	w, v := walker{rest: raw}, view{}
	for i := range in.b.Count() {
		if err := w.step(&v); err != nil {
			return in.broken(i, err)
		}
		in.judge(i, &v)
	}
	if len(w.rest) > 0 {
		return in.broken(in.b.Count(), errTooMany)
	}
	return in.verdict()
}

// skim is walk for a compressed batch. It may be the second time, with more
// memory than the first.
func (in *inspection) skim(s *skimmer) error {
	in.errs, in.code, in.newest = nil, kafka.InvalidRecord, noTimestamp
	var v view
	for i := range in.b.Count() {
		if err := s.step(&v); err != nil {
			return in.broken(i, err)
		}
		in.judge(i, &v)
	}
	if err := s.end(); err != nil {
		return in.broken(in.b.Count(), err)
	}
	return in.verdict()
}

// broken is the error of a batch whose records cannot be read on from i.
func (in *inspection) broken(i int32, err error) error {
	var no *unreadable
	switch {
	case errors.As(err, &no):
		return kafka.Errorf(kafka.InvalidRecord, "the records do not decompress with %s: %w", in.b.Codec(), err)
	case errors.Is(err, errTooMany):
		return kafka.Errorf(kafka.InvalidRecord, "%w", err)
	}
	in.refuse(i, err.Error())
	return kafka.Errorf(kafka.InvalidRecord, "record %d of the batch: %w", i, err)
}

// judge holds one record against the limits.
func (in *inspection) judge(i int32, v *view) {
	ts := in.b.BaseTimestamp() + v.timeDelta
	in.newest = max(in.newest, ts)
	switch {
	case v.offsetDelta != int64(i):
		in.refuse(i, errOffsetDelta.Error())
	case in.Compacted && v.key == nil:
		in.refuse(i, "a record of a compacted topic needs a key")
	case !in.timely(ts):
		in.code = kafka.InvalidTimestamp
		in.refuse(i, "the timestamp is outside the limits of the topic")
	}
}

func (in *inspection) refuse(i int32, message string) {
	if len(in.errs) < maxRecordErrors {
		in.errs = append(in.errs, RecordError{Index: i, Message: message})
	}
}

func (in *inspection) verdict() error {
	if len(in.errs) == 0 {
		return nil
	}
	first := in.errs[0]
	return kafka.Errorf(in.code, "the batch is refused for its records, the first of them record %d: %s", first.Index, first.Message)
}

// correct writes what a batch of a topic with create times must say.
func (in *inspection) correct(newest int64) {
	b := in.b
	if in.AppendTime || !b.AppendTime() && b.MaxTimestamp() == newest {
		return
	}
	b[22] &^= attrAppendTime
	binary.BigEndian.PutUint64(b[35:], uint64(newest))
	b.seal()
}
