package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"

	"golang.org/x/sync/errgroup"
)

const (
	// The versions before the flexible ones: topics by name.
	produceVersion  = 8
	fetchVersion    = 11
	createVersion   = 4
	metadataVersion = 7

	minBytes  = 128
	fillBatch = 16 << 10 // bytes of a batch that is there to be fetched

	// grace is how long answers to produce requests that were sent in time are
	// still taken: they are charged already. Fetches are charged when answered,
	// and one that gets several answers in its turn would stop after the first.
	grace = 200 * time.Millisecond
)

// work is what one connection does again and again.
type work struct {
	frame []byte
	// charge reads an answer: what it was charged and its throttle.
	charge func(answer []byte) (charged int, throttle time.Duration, err error)
}

// load is what was measured of each bucket.
type load struct {
	Buckets []report `json:"buckets"`
}

// loads loads the broker with all clients at once, and judges each bucket.
func loads(o options) (any, error) {
	entries, err := o.gather()
	if err != nil {
		return nil, err
	}
	var got load
	for i, b := range o.buckets {
		r, e := settle(entries[i], len(b.clients)*o.connections, o.limit, o.burst)
		if !o.reconnect {
			e = errors.Join(e, muted(entries[i], len(b.clients)*o.connections))
		}
		r.Bucket = b.name
		got.Buckets = append(got.Buckets, r)
		if e = errors.Join(e, o.judge(r)); e != nil {
			err = errors.Join(err, fmt.Errorf("bucket %s: %w", b.name, e))
		}
	}
	return got, err
}

// judge holds a report against the limit.
func (o options) judge(r report) error {
	if o.limit > 0 && math.Abs(r.ErrorPercent) > o.tolerance {
		return fmt.Errorf("%.0f per second are %+.2f %% off the limit of %.0f", r.Rate, r.ErrorPercent, o.limit)
	}
	if o.burst > 0 && math.Abs(r.BooksPercent) > o.books {
		return fmt.Errorf("the books are %+.3f %% off", r.BooksPercent)
	}
	return nil
}

// seat is one connection, and the books it is written in.
type seat struct {
	*peer
	bucket, number int // number counts the connections of a bucket
	partition      int32
}

// gather runs all connections and returns the answers of each bucket.
func (o options) gather() ([][]entry, error) {
	if o.mode != "request" {
		if err := prepare(o); err != nil {
			return nil, err
		}
	}
	seats, err := o.connect()
	defer func() {
		for _, s := range seats {
			s.nc.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	books := make([][]entry, len(seats))
	began := time.Now()
	var all errgroup.Group
	for i, s := range seats {
		all.Go(func() error {
			w, err := o.work(s)
			if err == nil {
				books[i], err = o.run(s, w, began)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	entries := make([][]entry, len(o.buckets))
	for i, s := range seats {
		entries[s.bucket] = append(entries[s.bucket], books[i]...)
	}
	return entries, nil
}

// connect opens the connections of all clients.
func (o options) connect() ([]seat, error) {
	var seats []seat
	for i, b := range o.buckets {
		for n := range len(b.clients) * o.connections {
			p, err := o.dial(b.clients[n%len(b.clients)].one(n))
			if err != nil {
				return seats, err
			}
			seats = append(seats, seat{peer: p, bucket: i, number: n, partition: int32(len(seats) % o.partitions)})
		}
	}
	return seats, nil
}

// run sends and receives until the time is over.
func (o options) run(s seat, w work, began time.Time) ([]entry, error) {
	var entries []entry
	end := began.Add(o.duration)
	s.nc.SetDeadline(end.Add(o.grace()))
	for time.Now().Before(end) {
		sent := time.Since(began)
		if err := s.send(w.frame); err != nil {
			return entries, unlessOver(err)
		}
		answer, err := s.receive()
		if err != nil {
			return entries, unlessOver(err)
		}
		at := time.Since(began)
		charged, throttle, err := w.charge(answer)
		if err != nil {
			return nil, err
		}
		e := entry{connection: s.number, sent: sent, at: at, throttle: throttle, charged: charged}
		if o.mode == "produce" && !o.reconnect {
			e.owed = throttle
		}
		entries = append(entries, e)
		if o.reconnect {
			s.nc.Close()
			if s.peer, err = o.dial(s.client); err != nil {
				return nil, err
			}
			defer s.nc.Close()
			s.nc.SetDeadline(end.Add(o.grace()))
		}
		if o.obey {
			time.Sleep(min(throttle, time.Until(end)))
		}
	}
	return entries, nil
}

func (o options) grace() time.Duration {
	if o.mode == "fetch" {
		return 0
	}
	return grace
}

// unlessOver is nil when the time was over, as it is for a muted connection.
func unlessOver(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("the broker ended a connection: %w", err)
}

func (o options) work(s seat) (work, error) {
	switch o.mode {
	case "fetch":
		return o.fetch(s.client, s.partition)
	case "request":
		return o.request(s.client)
	}
	return o.produce(s.client, s.partition, o.bytes)
}

// request asks for the broker alone; what is charged counts answers.
func (o options) request(c client) (work, error) {
	frame, err := c.encode(kafka.KeyMetadata, metadataVersion, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{}})
	return work{frame, func(answer []byte) (int, time.Duration, error) {
		var got message.MetadataResponse
		err := decode(kafka.KeyMetadata, metadataVersion, answer, &got)
		return 1, millis(got.ThrottleTimeMs), err
	}}, err
}

// produce is a request with one batch, charged by its own size.
func (o options) produce(c client, partition int32, size int) (work, error) {
	frame, err := c.encode(kafka.KeyProduce, produceVersion, &message.ProduceRequest{
		Acks: int16(o.acks), TimeoutMs: 30_000,
		TopicData: []message.ProduceTopic{{Name: o.topic, PartitionData: []message.ProducePartition{
			{Index: partition, Records: codec.Records{Bytes: batch(size)}},
		}}},
	})
	return work{frame, func(answer []byte) (int, time.Duration, error) {
		var got message.ProduceResponse
		if err := decode(kafka.KeyProduce, produceVersion, answer, &got); err != nil {
			return 0, 0, err
		}
		for _, t := range got.Responses {
			for _, p := range t.PartitionResponses {
				if p.ErrorCode != kafka.NoError {
					return 0, 0, fmt.Errorf("produce to %s-%d: %v", o.topic, p.Index, p.ErrorCode)
				}
			}
		}
		return len(frame) - 4, millis(got.ThrottleTimeMs), nil
	}}, err
}

// batch is one batch of about so many bytes.
func batch(size int) []byte {
	const overhead = record.HeaderSize + 16 // and what a record needs
	value := make([]byte, max(size-overhead, 1))
	return record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, value).Batch()
}

// fetch reads the same records again and again, charged by the answer's size.
func (o options) fetch(c client, partition int32) (work, error) {
	frame, err := c.encode(kafka.KeyFetch, fetchVersion, &message.FetchRequest{
		ReplicaID: -1, MaxWaitMs: 500, MinBytes: 1, MaxBytes: int32(o.bytes), SessionEpoch: -1,
		Topics: []message.FetchTopic{{Topic: o.topic, Partitions: []message.FetchPartition{
			{Partition: partition, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: int32(o.bytes)},
		}}},
	})
	return work{frame, func(answer []byte) (int, time.Duration, error) {
		var got message.FetchResponse
		if err := decode(kafka.KeyFetch, fetchVersion, answer, &got); err != nil {
			return 0, 0, err
		}
		if got.ErrorCode != kafka.NoError {
			return 0, 0, fmt.Errorf("fetch: %v", got.ErrorCode)
		}
		for _, t := range got.Responses {
			for _, p := range t.Partitions {
				if p.ErrorCode != kafka.NoError {
					return 0, 0, fmt.Errorf("fetch from %s-%d: %v", o.topic, p.PartitionIndex, p.ErrorCode)
				}
			}
		}
		charged := len(answer)
		if len(got.Responses) == 0 && got.ThrottleTimeMs > 0 {
			charged = 0
		}
		return charged, millis(got.ThrottleTimeMs), nil
	}}, err
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// prepare creates the topic and writes to each partition: what is there to be
// fetched, or little, so that the first request is as quick as the next.
func prepare(o options) error {
	p, err := o.dial(o.admin)
	if err != nil {
		return err
	}
	defer p.nc.Close()
	var created message.CreateTopicsResponse
	if err := p.call(kafka.KeyCreateTopics, createVersion, &message.CreateTopicsRequest{
		Topics:    []message.CreateTopicsTopic{{Name: o.topic, NumPartitions: int32(o.partitions), ReplicationFactor: 1}},
		TimeoutMs: 30_000,
	}, &created); err != nil {
		return fmt.Errorf("create topic %s: %w", o.topic, err)
	}
	for _, t := range created.Topics {
		if t.ErrorCode != kafka.NoError && t.ErrorCode != kafka.TopicAlreadyExists {
			return fmt.Errorf("create topic %s: %v", t.Name, t.ErrorCode)
		}
	}
	for partition := range o.partitions {
		if err := o.fill(p, int32(partition)); err != nil {
			return err
		}
	}
	return nil
}

// fill writes to a partition, for fetches what one answer can hold.
func (o options) fill(p *peer, partition int32) error {
	want := o.bytes
	if o.mode != "fetch" {
		want = minBytes
	}
	w, err := o.produce(p.client, partition, min(fillBatch, want))
	for have := 0; err == nil && have < want; have += fillBatch {
		if err = p.send(w.frame); err != nil {
			break
		}
		var answer []byte
		if answer, err = p.receive(); err == nil {
			_, _, err = w.charge(answer)
		}
	}
	if err != nil {
		return fmt.Errorf("fill %s-%d: %w", o.topic, partition, err)
	}
	return nil
}
