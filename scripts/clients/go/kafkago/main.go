// Command kafkago is the client program of segmentio's kafka-go.
package main

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	protocol "github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"kaasd/clients/program"
)

func main() {
	program.Main(program.Client{
		About: program.About{Name: "kafka-go", Codecs: []string{"none", "gzip", "snappy", "lz4", "zstd"},
			Lacks: map[string]string{
				"static":       "no instance ids",
				"sticky":       "range, roundrobin and rack affinity only",
				"cooperative":  "range, roundrobin and rack affinity only",
				"transactions": "requests without a producer on top",
				"protocol":     "classic groups only",
			}},
		Module:  "github.com/segmentio/kafka-go",
		Produce: produce, Consume: consume,
	})
}

func mechanism(o *program.Options) (sasl.Mechanism, error) {
	switch o.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: o.User, Password: o.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, o.User, o.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, o.User, o.Password)
	}
	return nil, nil
}

// listener passes requests on and keeps the longest throttle of the answers:
// kafka.Writer tells of none.
type listener struct {
	kafka.Transport
	longest atomic.Int64
}

// RoundTrip is called for each request.
func (l *listener) RoundTrip(ctx context.Context, address net.Addr, request kafka.Request) (kafka.Response, error) {
	response, err := l.Transport.RoundTrip(ctx, address, request)
	if answer, ok := response.(*protocol.Response); ok {
		for old := l.longest.Load(); int64(answer.ThrottleTimeMs) > old && !l.longest.CompareAndSwap(old, int64(answer.ThrottleTimeMs)); old = l.longest.Load() {
		}
	}
	return response, err
}

var codecs = map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}

var acks = map[string]kafka.RequiredAcks{"all": kafka.RequireAll, "1": kafka.RequireOne, "0": kafka.RequireNone}

func produce(ctx context.Context, o *program.Options) (time.Duration, error) {
	login, err := mechanism(o)
	if err != nil {
		return 0, err
	}
	transport := &listener{Transport: kafka.Transport{ClientID: "kafka-go-program", SASL: login}}
	writer := &kafka.Writer{Addr: kafka.TCP(o.Bootstrap), Topic: o.Topic, Transport: transport, Compression: codecs[o.Codec], RequiredAcks: acks[o.Acks],
		BatchTimeout: 5 * time.Millisecond, BatchSize: 100, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, Async: true}
	// Numbers decide the partition; the balancer is asked for each message in order.
	writer.Balancer = kafka.BalancerFunc(func(m kafka.Message, partitions ...int) int { return program.Number(m.Value) % o.Partitions })
	var mu sync.Mutex
	var first error
	writer.Completion = func(_ []kafka.Message, err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
	}
	for i := range o.Numbers {
		if err := writer.WriteMessages(ctx, kafka.Message{Key: program.Key(i), Value: program.Value(i)}); err != nil {
			return 0, err
		}
	}
	if err := writer.Close(); err != nil {
		return 0, err
	}
	mu.Lock()
	defer mu.Unlock()
	return time.Duration(transport.longest.Load()) * time.Millisecond, first
}

var balancers = map[string]kafka.GroupBalancer{"": kafka.RangeGroupBalancer{}, "range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}

func consume(ctx context.Context, o *program.Options, events *program.Events) error {
	login, err := mechanism(o)
	if err != nil {
		return err
	}
	dialer := &kafka.Dialer{ClientID: "kafka-go-program", SASLMechanism: login, Timeout: o.Timeout, DualStack: true}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: o.Group, Brokers: []string{o.Bootstrap}, Topics: []string{o.Topic}, Dialer: dialer,
		GroupBalancers: []kafka.GroupBalancer{balancers[o.Assignor]}, HeartbeatInterval: time.Second, SessionTimeout: o.Session,
		JoinGroupBackoff: time.Second, Timeout: o.Timeout})
	if err != nil {
		return err
	}
	defer group.Close()
	for {
		generation, err := group.Next(ctx)
		if program.Ended(err) {
			return nil
		}
		if err != nil {
			return err
		}
		member{o, dialer, events, generation}.begin(ctx)
	}
}

// member is what this program is in one generation.
type member struct {
	options    *program.Options
	dialer     *kafka.Dialer
	events     *program.Events
	generation *kafka.Generation
}

func (m member) begin(end context.Context) {
	var names []string
	partitions := m.generation.Assignments[m.options.Topic]
	for _, p := range partitions {
		names = append(names, program.Partition(m.options.Topic, p.ID))
	}
	m.events.Assigned(names...)
	for _, p := range partitions {
		m.generation.Start(func(ctx context.Context) { m.read(ctx, end, p) })
	}
}

// read reads a partition until the generation or the program ends. The library
// waits for it before it joins the next generation.
func (m member) read(generation, end context.Context, p kafka.PartitionAssignment) {
	defer m.events.Revoked(program.Partition(m.options.Topic, p.ID))
	ctx, cancel := context.WithCancel(generation)
	defer cancel()
	defer context.AfterFunc(end, cancel)()
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{m.options.Bootstrap}, Dialer: m.dialer, Topic: m.options.Topic, Partition: p.ID, MaxWait: time.Second})
	defer reader.Close()
	if err := reader.SetOffset(p.Offset); err != nil {
		m.events.Complain(err)
		return
	}
	next := p.Offset
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			if ctx.Err() == nil && err != io.EOF {
				m.events.Complain(err)
			}
			break
		}
		if !m.events.Record(p.ID, message.Offset, message.Value) {
			break
		}
		next = message.Offset + 1
		if reader.Lag() == 0 || next%100 == 0 {
			m.commit(p.ID, next)
		}
	}
	m.commit(p.ID, next)
}

func (m member) commit(partition int, next int64) {
	if next < 0 {
		return
	}
	if err := m.generation.CommitOffsets(map[string]map[int]int64{m.options.Topic: {partition: next}}); err != nil {
		m.events.Complain(err)
		return
	}
	m.events.Committed()
}
