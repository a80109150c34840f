package broker_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// Whatever a crash has made of the end of a log, the broker starts, keeps every
// batch before it, and goes on behind the last good one.
func TestDamagedTails(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.Start(t, inFolder(dir))
	p := dial(t, b.Plain)
	p.newTopic("t")
	appendMany(t, p, "t", 5, 1000)
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b.Stop()
	segment := filepath.Join("t-0", "00000000000000000000.log")
	whole, err := os.ReadFile(filepath.Join(killed, segment))
	if err != nil {
		t.Fatal(err)
	}
	one := len(whole) / 5
	last := len(whole) - one // where the last batch begins
	inLast := func(at int, value ...byte) []byte {
		damaged := slices.Clone(whole)
		copy(damaged[last+at:], value)
		return damaged
	}
	length := func(n int32) []byte { return inLast(8, binary.BigEndian.AppendUint32(nil, uint32(n))...) }
	for name, c := range map[string]struct {
		log  []byte
		left int64 // batches that are good
	}{
		"cut by 1":                {whole[:len(whole)-1], 4},
		"cut by 7":                {whole[:len(whole)-7], 4},
		"cut by 60":               {whole[:len(whole)-60], 4},
		"cut in the header":       {whole[:last+20], 4},
		"zeros behind":            {append(slices.Clone(whole), make([]byte, 100)...), 5},
		"half a batch behind":     {append(slices.Clone(whole), whole[:one/2]...), 5},
		"an old batch behind":     {append(slices.Clone(whole), whole[:one]...), 5},
		"a flipped byte":          {inLast(one-1, ^whole[len(whole)-1]), 4},
		"length 0":                {length(0), 4},
		"length -1":               {length(-1), 4},
		"length 2 GiB":            {length(1<<31 - 1), 4},
		"length 10":               {length(10), 4},
		"magic 9":                 {inLast(16, 9), 4},
		"a negative offset delta": {inLast(23, 0xff, 0xff, 0xff, 0xfb), 4},
		"everything":              {make([]byte, len(whole)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(killed)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(copied, segment), c.log, 0o600); err != nil {
				t.Fatal(err)
			}
			p := dial(t, brokertest.Start(t, inFolder(copied)).Plain)
			if got := endOffset(p, "t"); got != c.left {
				t.Errorf("the log ends at %d, want %d", got, c.left)
			}
			if answer, _ := p.produce("t", batch(10)); answer.BaseOffset != c.left || answer.ErrorCode != kafka.NoError {
				t.Errorf("the next batch is at %d, %s", answer.BaseOffset, answer.ErrorCode)
			}
			if got := batches(t, p.fetchOne(12, fetchRequest("t", 0)).Records.Bytes); len(got) != int(c.left)+1 {
				t.Errorf("%d batches are read, want %d", len(got), c.left+1)
			}
		})
	}
}

// Indexes are hints: with zeros at their end, or gone, nothing is lost, found
// at another offset or deleted early.
func TestDamagedIndexes(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.Start(t, inFolder(dir))
	p := dial(t, b.Plain)
	p.newTopic("t", config("segment.bytes", "1048576"), config("retention.ms", "3600000"), config("index.interval.bytes", "1024"))
	base := time.Now().UnixMilli() - 60_000
	const n = 40
	for i := range int64(n) {
		p.mustProduce("t", record.NewBuilder(record.None).Add(base+i, nil, make([]byte, 100_000)).Batch())
	}
	b.Stop()
	for _, c := range []struct {
		name string
		harm func(path string) error
	}{
		{"12 zeros", func(path string) error { return appendTo(path, make([]byte, 12)) }},
		{"1200 zeros", func(path string) error { return appendTo(path, make([]byte, 1200)) }},
		{"garbage", func(path string) error { return appendTo(path, []byte(strings.Repeat("kaasd", 24))) }},
		{"emptied", func(path string) error { return os.Truncate(path, 0) }},
		{"gone", os.Remove},
	} {
		t.Run(c.name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			harmed := 0
			for _, file := range filesOf(t, copied) {
				if strings.HasSuffix(file, "index") && strings.HasPrefix(file, "t-0") {
					harmed++
					if err := c.harm(filepath.Join(copied, file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if harmed < 4 {
				t.Fatalf("%d index files", harmed)
			}
			p := dial(t, brokertest.Start(t, inFolder(copied)).Plain)
			if start, end := offsetAt(p, "t", -2).Offset, endOffset(p, "t"); start != 0 || end != n {
				t.Errorf("the log goes from %d to %d", start, end)
			}
			for i := range int64(n) {
				if got := offsetAt(p, "t", base+i).Offset; got != i {
					t.Errorf("time %d is found at %d", i, got)
				}
				req := fetchRequest("t", i)
				req.MaxBytes = 1
				if got := batches(t, p.fetchOne(12, req).Records.Bytes); len(got) != 1 || got[0].BaseOffset() != i {
					t.Errorf("offset %d: %d batches", i, len(got))
				}
			}
		})
	}
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// With log.flush=always answers wait for the disk, many at a time and in order.
func TestAnswersThatWaitForTheDisk(t *testing.T) {
	dir := t.TempDir()
	always := func(c *broker.Config) { inFolder(dir)(c); c.Storage.Flush = storage.FlushAlways }
	b := brokertest.Start(t, always)
	p := dial(t, b.Plain)
	p.newTopic("t")
	const n = 50
	for range n {
		p.send(9, produceRequest("t", -1, batch(100)))
	}
	p.send(0, &message.ApiVersionsRequest{})
	for i := range int64(n) {
		var resp message.ProduceResponse
		p.read(&resp)
		if got := resp.Responses[0].PartitionResponses[0]; got.ErrorCode != kafka.NoError || got.BaseOffset != i {
			t.Fatalf("answer %d: offset %d, %s", i, got.BaseOffset, got.ErrorCode)
		}
	}
	p.read(&message.ApiVersionsResponse{})
	if got := endOffset(p, "t"); got != n {
		t.Errorf("the topic ends at %d", got)
	}
	b.Stop()
	if got := endOffset(dial(t, brokertest.Start(t, always).Plain), "t"); got != n {
		t.Errorf("after a restart the topic ends at %d", got)
	}
}
