package main

import (
	"errors"
	"fmt"
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
	produceVersion = 8
	fetchVersion   = 11
	createVersion  = 4

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

// load runs all connections and gathers their answers.
func load(o options) ([]entry, error) {
	if err := prepare(o); err != nil {
		return nil, err
	}
	peers := make([]*peer, o.connections)
	for i := range peers {
		p, err := dial(o)
		if err != nil {
			return nil, err
		}
		defer p.nc.Close()
		peers[i] = p
	}
	books := make([][]entry, o.connections)
	began := time.Now()
	var all errgroup.Group
	for i, p := range peers {
		all.Go(func() error {
			w, err := o.work(int32(i % o.partitions))
			if err == nil {
				books[i], err = o.run(i, p, w, began)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	var entries []entry
	for _, b := range books {
		entries = append(entries, b...)
	}
	return entries, nil
}

// run sends and receives until the time is over.
func (o options) run(connection int, p *peer, w work, began time.Time) ([]entry, error) {
	var entries []entry
	end := began.Add(o.duration)
	p.nc.SetDeadline(end.Add(o.grace()))
	for time.Now().Before(end) {
		if err := p.send(w.frame); err != nil {
			return entries, unlessOver(err)
		}
		answer, err := p.receive()
		if err != nil {
			return entries, unlessOver(err)
		}
		at := time.Since(began)
		charged, throttle, err := w.charge(answer)
		if err != nil {
			return nil, err
		}
		e := entry{connection: connection, at: at, throttle: throttle, charged: charged}
		if o.mode == "produce" {
			e.owed = throttle
		}
		entries = append(entries, e)
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

func (o options) work(partition int32) (work, error) {
	if o.mode == "fetch" {
		return o.fetch(partition)
	}
	return o.produce(partition, o.bytes)
}

// produce is a request with one batch, charged by its own size.
func (o options) produce(partition int32, size int) (work, error) {
	frame, err := encode(kafka.KeyProduce, produceVersion, &message.ProduceRequest{
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
func (o options) fetch(partition int32) (work, error) {
	frame, err := encode(kafka.KeyFetch, fetchVersion, &message.FetchRequest{
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

// prepare creates the topic, and fills it when it is to be fetched from.
func prepare(o options) error {
	p, err := dial(o)
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
	if o.mode != "fetch" {
		return nil
	}
	for partition := range min(o.partitions, o.connections) {
		if err := o.fill(p, int32(partition)); err != nil {
			return err
		}
	}
	return nil
}

// fill writes what one answer can hold to a partition.
func (o options) fill(p *peer, partition int32) error {
	w, err := o.produce(partition, min(fillBatch, o.bytes))
	for have := 0; err == nil && have < o.bytes; have += fillBatch {
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
