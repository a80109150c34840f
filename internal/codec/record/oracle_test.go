package record

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOtherClientReadsBatches gives batches to franz-go, which knows nothing
// of this package.
func TestOtherClientReadsBatches(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		t.Run(c.String(), func(t *testing.T) {
			b := sample(c).Batch()
			b.Stamp(500, 1)
			part := kmsg.NewFetchResponseTopicPartition()
			part.RecordBatches = b
			got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: 500}, &part, kgo.DefaultDecompressor(), nil)
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			var theirs []Record
			for _, r := range got.Records {
				rec := Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
				for _, h := range r.Headers {
					rec.Headers = append(rec.Headers, Header{Key: h.Key, Value: h.Value})
				}
				theirs = append(theirs, rec)
			}
			if diff := cmp.Diff(theirs, collect(t, b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestHeaderAgainstOtherDecoder compares named header fields on random bytes.
func TestHeaderAgainstOtherDecoder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := Batch(make([]byte, HeaderSize))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		b.seal()
		var k kmsg.RecordBatch
		if err := k.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		got := kmsg.RecordBatch{
			FirstOffset: b.BaseOffset(), Length: int32(b.Size() - LogOverhead), PartitionLeaderEpoch: b.LeaderEpoch(),
			Magic: b.Magic(), CRC: int32(b.CRC()), Attributes: b.Attributes(), LastOffsetDelta: b.LastOffsetDelta(),
			FirstTimestamp: b.BaseTimestamp(), MaxTimestamp: b.MaxTimestamp(), ProducerID: b.ProducerID(),
			ProducerEpoch: b.ProducerEpoch(), FirstSequence: b.BaseSequence(), NumRecords: b.Count(), Records: k.Records,
		}
		if diff := cmp.Diff(k, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// texts are what the codecs are tried on: little, much of the same,
// and what does not compress.
func texts() map[string][]byte {
	noise := make([]byte, 300_000)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"short": []byte("a"), "same": bytes.Repeat([]byte("kafka "), 100_000), "noise": noise,
	}
}

// codecsOfOther are franz-go's, in the order of ours.
var codecsOfOther = map[Codec]kgo.CompressionCodec{
	Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression(),
}

func TestCompressionAgainstOtherClient(t *testing.T) {
	for c, other := range codecsOfOther {
		compressor, err := kgo.DefaultCompressor(other)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range texts() {
			t.Run(c.String()+"/"+name, func(t *testing.T) {
				got, err := kgo.DefaultDecompressor().Decompress(compress(nil, c, text), kgo.CompressionCodecType(c))
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("theirs gives %d bytes of ours, want %d (%v)", len(got), len(text), err)
				}
				theirs, _ := compressor.Compress(new(bytes.Buffer), text)
				got, err = Decompress(c, theirs, maxOpened)
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("ours gives %d bytes of theirs, want %d (%v)", len(got), len(text), err)
				}
			})
		}
	}
}

func TestSnappyForms(t *testing.T) {
	text := bytes.Repeat([]byte("snappy!"), 20_000)
	for name, src := range map[string][]byte{
		"framed": compress(nil, Snappy, text),
		"raw":    snappy.Encode(nil, text),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decompress(Snappy, src, len(text))
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("got %d bytes, want %d (%v)", len(got), len(text), err)
			}
			for cut := range len(src) {
				if got, err := Decompress(Snappy, src[:cut], len(text)); err == nil && len(got) == len(text) {
					t.Fatalf("cut after %d bytes it still gives everything", cut)
				}
			}
		})
	}
}

func TestDecompressIsBounded(t *testing.T) {
	text := make([]byte, 1<<20)
	for c := None; c <= Zstd; c++ {
		t.Run(c.String(), func(t *testing.T) {
			src := compress(nil, c, text)
			if got, err := Decompress(c, src, len(text)); err != nil || len(got) != len(text) {
				t.Errorf("at the limit: %d bytes, %v", len(got), err)
			}
			if _, err := Decompress(c, src, len(text)-1); err == nil {
				t.Error("above the limit: no error")
			}
		})
	}
}

func TestRecompress(t *testing.T) {
	for from := None; from <= Zstd; from++ {
		for to := None; to <= Zstd; to++ {
			b := sample(from).Producer(1, 2, 3).Batch()
			got, err := Recompress(b, to)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Check(); err != nil || got.Codec() != to || got.BaseSequence() != 3 {
				t.Errorf("%s to %s: codec %s, %v", from, to, got.Codec(), err)
			}
			if diff := cmp.Diff(collect(t, b), collect(t, got)); diff != "" {
				t.Errorf("%s to %s: %s", from, to, diff)
			}
		}
	}
}

func TestCodecNames(t *testing.T) {
	for name, want := range map[string]Codec{"none": None, "uncompressed": None, "gzip": Gzip, "snappy": Snappy, "lz4": LZ4, "zstd": Zstd} {
		if got, ok := CodecOf(name); !ok || got != want {
			t.Errorf("%s: got %v, %v", name, got, ok)
		}
	}
	if _, ok := CodecOf("brotli"); ok {
		t.Error("brotli is a codec")
	}
	if got := Codec(7).String(); got != "unknown" || Codec(7).known() {
		t.Errorf("codec 7 is %q", got)
	}
}
