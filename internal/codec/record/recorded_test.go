package record

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
)

// recorded is one line of testdata/record-batches.jsonl: a batch that went
// between a real client and Apache Kafka 4.4.0, and what an independent decoder
// read in it.
type recorded struct {
	Client, Job, Source, Codec, Note string
	Magic                            int8
	Base                             int64  `json:"base_offset"`
	Length                           int64  `json:"batch_length"`
	Epoch                            int32  `json:"partition_leader_epoch"`
	CRC                              uint32 `json:"crc"`
	CRCOK                            bool   `json:"crc_ok"`
	Attributes                       int16
	Transactional, Control           bool
	LastDelta                        int32 `json:"last_offset_delta"`
	BaseTime                         int64 `json:"base_timestamp"`
	MaxTime                          int64 `json:"max_timestamp"`
	ID                               int64 `json:"producer_id"`
	ProducerEpoch                    int16 `json:"producer_epoch"`
	Sequence                         int32 `json:"base_sequence"`
	Count                            int32
	Uncompressed                     *int   `json:"uncompressed_length"`
	DecodeError                      string `json:"decode_error"`
	First, Last                      *recordedRecord
	Hex                              string `json:"batch_hex"`
}

type recordedRecord struct {
	Offset     int64 `json:"offset_delta"`
	Time       int64 `json:"timestamp_delta"`
	Key, Value *string
	Headers    [][]*string
}

func loadRecorded(t testing.TB) []recorded {
	t.Helper()
	f, err := os.Open("testdata/record-batches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func (r recorded) bytes(t testing.TB) Batch {
	t.Helper()
	b, err := hex.DecodeString(r.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordedBatches(t *testing.T) {
	for i, r := range loadRecorded(t) {
		if r.Magic != Magic2 {
			continue
		}
		b := r.bytes(t)
		got := recorded{
			Client: r.Client, Job: r.Job, Source: r.Source, Codec: r.Codec, Note: r.Note, Hex: r.Hex,
			Uncompressed: r.Uncompressed, DecodeError: r.DecodeError, First: r.First, Last: r.Last,
			Magic: b.Magic(), Base: b.BaseOffset(), Length: b.Size() - LogOverhead, Epoch: b.LeaderEpoch(),
			CRC: b.CRC(), CRCOK: b.CRC() == b.Sum(), Attributes: b.Attributes(), Transactional: b.Transactional(),
			Control: b.Control(), LastDelta: b.LastOffsetDelta(), BaseTime: b.BaseTimestamp(), MaxTime: b.MaxTimestamp(),
			ID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Sequence: b.BaseSequence(), Count: b.Count(),
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("line %d (%s, %s): %s", i+1, r.Client, r.Job, diff)
		}
		if r.DecodeError == "" && r.First != nil && r.CRCOK && int(r.Count) == int(r.LastDelta)+1 {
			checkRecordedRecords(t, i+1, r, b)
		}
	}
}

func checkRecordedRecords(t *testing.T, line int, r recorded, b Batch) {
	t.Helper()
	if r.Note != "" && strings.Contains(r.Note, "count 2 of 1") {
		return
	}
	all := collect(t, b)
	if raw, err := b.open(); err != nil || len(raw) != *r.Uncompressed {
		t.Errorf("line %d: %d bytes of records, want %d (%v)", line, len(raw), *r.Uncompressed, err)
	}
	for _, end := range []struct {
		want *recordedRecord
		got  Record
	}{{r.First, all[0]}, {r.Last, all[len(all)-1]}} {
		if diff := cmp.Diff(*end.want, b.spell(end.got)); diff != "" {
			t.Errorf("line %d (%s, %s): %s", line, r.Client, r.Job, diff)
		}
	}
}

// spell writes a record in the words of the recording.
func (b Batch) spell(r Record) recordedRecord {
	out := recordedRecord{Offset: r.Offset - b.BaseOffset(), Key: spellBytes(r.Key), Value: spellBytes(r.Value)}
	if !b.AppendTime() {
		out.Time = r.Timestamp - b.BaseTimestamp()
	}
	for _, h := range r.Headers {
		value := spellBytes(h.Value)
		if value == nil {
			word := "null"
			value = &word
		}
		out.Headers = append(out.Headers, []*string{&h.Key, value})
	}
	return out
}

func spellBytes(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	if !utf8.Valid(b) || bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		s = "hex:" + hex.EncodeToString(b)
	}
	return &s
}

// TestRecordedProduceIsJudgedAsByKafka replays what producers sent. Kafka's
// answer is in the note of those that it refused for the batch itself.
func TestRecordedProduceIsJudgedAsByKafka(t *testing.T) {
	refused := map[string]kafka.Code{
		"answered with error 87": kafka.InvalidRecord,
		"answered with error 2":  kafka.CorruptMessage,
		"answered with error 10": kafka.MessageTooLarge,
		"answered with error 76": kafka.UnsupportedCompressionType,
		"answered with error 32": kafka.InvalidTimestamp,
		"bad crc":                kafka.CorruptMessage,
		"answered with error -1": kafka.InvalidRecord, // records that cannot be opened
	}
	for i, r := range loadRecorded(t) {
		if !strings.HasPrefix(r.Source, "produce") {
			continue
		}
		l := Limits{MaxBytes: 1048588, Now: max(r.MaxTime, r.BaseTime), Before: -1, After: hour, ZstdAllowed: r.Source != "produce v6", WalkCompressed: true}
		l.Compacted = strings.Contains(r.Job, "compacted")
		if strings.Contains(r.Note, "max.message.bytes") {
			l.MaxBytes = 60
		}
		if strings.Contains(r.Job, "invalid timestamp") {
			l.Now -= 2 * hour
		}
		want := kafka.NoError
		for words, code := range refused {
			if strings.HasSuffix(r.Note, words) {
				want = code
			}
		}
		if strings.Contains(r.Note, "two batches") {
			continue // the line holds one of them
		}
		if _, _, err := Validate(r.bytes(t), l); kafka.CodeOf(err) != want {
			t.Errorf("line %d (%s, %s, %s): got %v, want %v", i+1, r.Client, r.Job, r.Note, err, want)
		}
	}
}
