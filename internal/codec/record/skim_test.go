package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"kaasd/internal/kafka"
)

func TestTimesAreThoseOfRecords(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		for n := range 40 {
			b := NewBuilder(c)
			for i := range n {
				key := []byte("key")
				if i%3 == 0 {
					key = nil
				}
				b.Add(int64(1000+7*i), key, bytes.Repeat([]byte{byte(i)}, i*i), Header{Key: "", Value: nil}, Header{Key: "h", Value: []byte{1}})
			}
			if n == 0 {
				b.Add(5, nil, nil)
			}
			batch := b.Batch()
			var want, got []Time
			for r, err := range batch.Records() {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, Time{r.Offset, r.Timestamp})
			}
			for at, err := range batch.Times() {
				if err != nil {
					t.Fatalf("%s, %d records: %v", c, n, err)
				}
				got = append(got, at)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", c, got, want)
			}
		}
	}
}

// What is wrong with records is the same whether they are walked where they
// lie or as they come out of a compressed batch.
func TestSkimAgreesWithWalk(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	good := batchOf(5, 40)
	edges := []byte{0, 1, 2, 0x7f, 0x80, 0xff}
	wrong := 0
	for range 1500 {
		raw := slices.Clone(good[HeaderSize:])
		for range random.IntN(3) {
			raw[random.IntN(len(raw))] = edges[random.IntN(len(edges))]
		}
		switch random.IntN(10) {
		case 0:
			raw = raw[:random.IntN(len(raw))]
		case 1:
			raw = append(raw, 0)
		}
		limits := Limits{Now: good.BaseTimestamp(), Before: -1, After: -1, Compacted: random.IntN(2) == 0, WalkCompressed: true}
		codec := Codec(1 + random.IntN(int(Zstd)))
		packed := Batch(compress(slices.Clone(good[:HeaderSize]), codec, raw))
		packed[22] = packed[22]&^codecMask | byte(codec)
		walked := inspection{Limits: limits, b: good, code: kafka.InvalidRecord, newest: noTimestamp}
		skimmed := inspection{Limits: limits, b: packed}
		want, got := walked.walk(raw), skimmed.look()
		if (want == nil) != (got == nil) || kafka.CodeOf(want) != kafka.CodeOf(got) {
			t.Fatalf("%x with %s: walked %v, skimmed %v", raw, codec, want, got)
		}
		if want == nil && walked.newest != skimmed.newest {
			t.Fatalf("newest: walked %d, skimmed %d", walked.newest, skimmed.newest)
		}
		if len(walked.errs) != len(skimmed.errs) {
			t.Fatalf("%x: walked %v, skimmed %v", raw, walked.errs, skimmed.errs)
		}
		if want != nil {
			wrong++
		}
	}
	if wrong < 400 {
		t.Errorf("only %d batches were wrong", wrong)
	}
}

// made is the memory that f makes, in bytes, garbage included.
func made(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Judging a batch, and looking for a time in it, takes no memory for what is
// inside.
func TestBombsAreSkimmed(t *testing.T) {
	for c := Gzip; c <= Zstd; c++ {
		t.Run(c.String(), func(t *testing.T) {
			value := make([]byte, 50<<20)
			if c == Snappy {
				value = value[:18<<20] // as far as a batch of 1 MiB goes
			}
			bomb := NewBuilder(c).Add(5, nil, value).Batch()
			if len(bomb) > 1<<20 {
				t.Fatalf("a batch of %d bytes", len(bomb))
			}
			limits := Limits{MaxBytes: math.MaxInt32, Now: 5, Before: -1, After: -1, Compacted: true, ZstdAllowed: true}
			var err error
			if cost := made(func() { _, _, err = Validate(bomb, limits) }); cost > 60<<20 {
				t.Errorf("judging made %d MB", cost>>20)
			}
			if kafka.CodeOf(err) != kafka.InvalidRecord {
				t.Errorf("a record without a key: %v", err)
			}
			if cost := made(func() {
				for _, err = range bomb.Times() {
				}
			}); cost > 60<<20 || err != nil {
				t.Errorf("its times made %d MB, %v", cost>>20, err)
			}
		})
	}
}

// More than there may be is refused, however it is spread over records, and
// before anything is looked for at the end.
func TestBombsEnd(t *testing.T) {
	many := batchOf(20, 1<<20)
	for name, raw := range map[string][]byte{
		"many":       many[HeaderSize:],
		"one record": append(binary.AppendVarint(nil, maxOpened+1), many[HeaderSize:]...),
	} {
		s := skimmer{r: bufio.NewReaderSize(&bounded{bytes.NewReader(raw), 10 << 20}, skimBytes)}
		read, err := 0, error(nil)
		for v := (view{}); err == nil; read++ {
			err = s.step(&v)
		}
		if !errors.Is(err, errInflated) || read > 10 {
			t.Errorf("%s: got %v after %d records, want %v", name, err, read, errInflated)
		}
	}
	exact := skimmer{r: bufio.NewReaderSize(&bounded{bytes.NewReader(many[HeaderSize:]), len(many) - HeaderSize}, skimBytes)}
	for v := (view{}); ; {
		if err := exact.step(&v); err != nil {
			if err != errTooFew {
				t.Error(err)
			}
			break
		}
	}
	if err := exact.end(); err != nil {
		t.Errorf("at the end of what there may be: %v", err)
	}
}

// A producer may compress with a window of more than is allowed to many at a
// time, also behind a frame with a small one: it waits for its turn, and no
// record is told twice.
func TestLargeWindow(t *testing.T) {
	plain := batchOf(12, 1<<20)
	packed := Batch(slices.Clone(plain[:HeaderSize]))
	cut := HeaderSize + 3<<20
	for _, part := range []struct {
		window int
		bytes  []byte
	}{{1 << 20, plain[HeaderSize:cut]}, {64 << 20, plain[cut:]}} {
		var out bytes.Buffer
		z, err := zstd.NewWriter(&out, zstd.WithWindowSize(part.window))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(z, bytes.NewReader(part.bytes)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		packed = append(packed, out.Bytes()...)
	}
	packed[22] = packed[22]&^codecMask | byte(Zstd)
	if _, err := Decompress(Zstd, packed[HeaderSize:], smallOpened); !tooSmall(err) {
		t.Fatalf("within %d bytes: %v", smallOpened, err)
	}
	var got []int64
	for at, err := range packed.Times() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, at.Offset)
	}
	if want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := Recompress(packed, Gzip); err != nil {
		t.Error(err)
	}
	if len(seats)+len(large) != 0 {
		t.Error("a seat was not given back")
	}
}
