package group

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage/segment"
)

// fill commits 100,000 offsets: 1,000 groups with 100 partitions in 4 topics,
// each in a commit of its own or all of a group in one.
func fill(b *testing.B, c *Coordinator, single bool) {
	b.Helper()
	ctx, now := context.Background(), time.Now()
	for g := range 1000 {
		topics := make([]Topic, 4)
		for t := range topics {
			topics[t] = Topic{ID: kafka.TopicID{byte(t), 1}, Name: fmt.Sprint("a-topic-of-some-length-", t)}
			for p := range int32(25) {
				topics[t].Partitions = append(topics[t].Partitions, Partition{p, Committed{Offset: int64(g), LeaderEpoch: 3, At: now.UnixMilli(), Expires: -1}})
			}
		}
		commits := [][]Topic{topics}
		if single {
			commits = nil
			for _, t := range topics {
				for _, p := range t.Partitions {
					commits = append(commits, []Topic{{ID: t.ID, Name: t.Name, Partitions: []Partition{p}}})
				}
			}
		}
		for _, topics := range commits {
			if err := c.Commit(ctx, now, fmt.Sprint("a-group-of-some-length-", g), &Commit{Generation: -1, Topics: topics}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func openDir(b *testing.B, dir string) (*Coordinator, func()) {
	b.Helper()
	so := segment.DefaultOptions()
	so.Dir, so.DiskReserve = dir, 0
	logs, err := segment.Open(so, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	o := DefaultOptions()
	log, err := logs.Open(LogPartition, LogID, o.Log)
	if err != nil {
		b.Fatal(err)
	}
	c, err := Open(context.Background(), log, o, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	return c, func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		if err := logs.Run(done); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is a start with 100,000 committed offsets, from the shortest
// log and from the longest there may be before it is rewritten.
func BenchmarkOpen(b *testing.B) {
	for name, single := range map[string]bool{"short": false, "long": true} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			c, stop := openDir(b, dir)
			fill(b, c, single)
			for single && c.journal.size.Load() < c.weight()*spare+c.o.SpareLog {
				fill(b, c, single)
			}
			size := float64(c.journal.size.Load())
			stop()
			for b.Loop() {
				c, stop := openDir(b, dir)
				b.StopTimer()
				if len(c.groups) != 1000 {
					b.Fatal(len(c.groups))
				}
				stop()
				b.StartTimer()
			}
			b.ReportMetric(size/(1<<20), "MiB")
		})
	}
}

// BenchmarkCommit is one commit of one partition, with log.flush=interval.
func BenchmarkCommit(b *testing.B) {
	c, stop := openDir(b, b.TempDir())
	defer stop()
	ctx := context.Background()
	r := &Commit{Generation: -1, Topics: offset(1, 0, 7)}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Commit(ctx, time.Now(), "group", r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRewrite writes 100,000 offsets once more.
func BenchmarkRewrite(b *testing.B) {
	c, stop := openDir(b, b.TempDir())
	defer stop()
	fill(b, c, false)
	for b.Loop() {
		if err := c.journal.rewrite(context.Background(), time.Now(), c.rewriteAll); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(c.journal.size.Load())/(1<<20), "MiB")
}
