package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// strictVersion is the first of CreateTopics that refuses what is too much;
// older ones take it and throttle.
const strictVersion = 6

// changes is what became of topics that were created as fast as it went.
type changes struct {
	report
	Refused int `json:"refused"` // with THROTTLING_QUOTA_EXCEEDED, and tried again
}

// mutations creates one topic after the other. What is charged are partitions.
func mutations(o options) (any, error) {
	p, err := o.dial(o.buckets[0].clients[0])
	if err != nil {
		return nil, err
	}
	defer p.nc.Close()
	began := time.Now()
	p.nc.SetDeadline(began.Add(o.duration + grace))
	var got changes
	var entries []entry
	unbooked := 0 // a change that is taken announces no throttle: the next refusal tells when it is paid
	for n := 0; time.Since(began) < o.duration; {
		sent := time.Since(began)
		throttle, refused, err := o.create(p, fmt.Sprintf("%s-%d", o.topic, n))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break // muted until after the end
		}
		if err != nil {
			return nil, err
		}
		if refused {
			got.Refused++
		} else {
			n++
			unbooked += o.partitions
		}
		if throttle > 0 || len(entries) == 0 {
			entries = append(entries, entry{sent: sent, at: time.Since(began), throttle: throttle, owed: throttle, charged: unbooked})
			unbooked = 0
		}
	}
	got.report, err = settle(entries, 1, o.limit, o.burst)
	err = errors.Join(err, muted(entries, 1))
	got.Bucket = o.buckets[0].name
	if strict := o.version >= strictVersion; strict != (got.Refused > 0) {
		err = errors.Join(err, fmt.Errorf("version %d: %d changes were refused", o.version, got.Refused))
	}
	return got, errors.Join(err, o.judge(got.report))
}

// create makes one topic, and says whether the quota refused it.
func (o options) create(p *peer, topic string) (throttle time.Duration, refused bool, err error) {
	var got message.CreateTopicsResponse
	err = p.call(kafka.KeyCreateTopics, int16(o.version), &message.CreateTopicsRequest{
		Topics:    []message.CreateTopicsTopic{{Name: topic, NumPartitions: int32(o.partitions), ReplicationFactor: 1}},
		TimeoutMs: 30_000,
	}, &got)
	if err != nil {
		return 0, false, err
	}
	throttle = millis(got.ThrottleTimeMs)
	switch code := got.Topics[0].ErrorCode; {
	case code == kafka.ThrottlingQuotaExceeded && throttle > 0:
		return throttle, true, nil
	case code != kafka.NoError:
		return 0, false, fmt.Errorf("create topic %s: %v, throttle %v", topic, code, throttle)
	}
	return throttle, false, nil
}
