// Command sarama is the client program of sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"
	"github.com/xdg-go/scram"

	"kaasd/clients/program"
)

func main() {
	program.Main(program.Client{
		About: program.About{Name: "sarama", Codecs: []string{"none", "gzip", "snappy", "lz4", "zstd"},
			Lacks: map[string]string{"protocol": "classic groups only"}},
		Module:  "github.com/IBM/sarama",
		Produce: produce, Consume: consume, Transact: transact,
	})
}

func config(o *program.Options) *sarama.Config {
	c := sarama.NewConfig()
	c.ClientID = "sarama-program"
	c.Version = sarama.V2_8_0_0
	if o.User != "" {
		c.Net.SASL.Enable, c.Net.SASL.User, c.Net.SASL.Password = true, o.User, o.Password
		c.Net.SASL.Mechanism = sarama.SASLMechanism(o.Mechanism)
		c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &login{hash: hashes[o.Mechanism]} }
	}
	return c
}

// login is the log-in that sarama leaves to its users.
type login struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

var hashes = map[string]scram.HashGeneratorFcn{"SCRAM-SHA-256": scram.SHA256, "SCRAM-SHA-512": scram.SHA512}

var _ sarama.SCRAMClient = (*login)(nil)

// Begin starts a conversation.
func (l *login) Begin(user, password, authorization string) error {
	client, err := l.hash.NewClient(user, password, authorization)
	if err == nil {
		l.ClientConversation = client.NewConversation()
	}
	return err
}

var codecs = map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}

var acks = map[string]sarama.RequiredAcks{"all": sarama.WaitForAll, "1": sarama.WaitForLocal, "0": sarama.NoResponse}

func produce(_ context.Context, o *program.Options) (time.Duration, error) {
	c := config(o)
	c.Producer.Compression, c.Producer.RequiredAcks = codecs[o.Codec], acks[o.Acks]
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Flush.Frequency, c.Producer.Flush.MaxMessages = 5*time.Millisecond, 100
	c.Producer.Return.Successes = true
	producer, err := sarama.NewAsyncProducer([]string{o.Bootstrap}, c)
	if err != nil {
		return 0, err
	}
	go func() {
		for i := range o.Numbers {
			producer.Input() <- &sarama.ProducerMessage{Topic: o.Topic, Partition: int32(i % o.Partitions),
				Key: sarama.ByteEncoder(program.Key(i)), Value: sarama.ByteEncoder(program.Value(i))}
		}
	}()
	for range o.Records {
		select {
		case <-producer.Successes():
		case failed := <-producer.Errors():
			err = failed
		}
	}
	told := longest(c) // closing takes the metrics away
	return told, errors.Join(err, producer.Close())
}

// longest is the longest throttle by sarama's own metrics, one of each broker.
func longest(c *sarama.Config) time.Duration {
	var longest int64
	c.MetricRegistry.Each(func(name string, metric any) {
		if told, ok := metric.(metrics.Histogram); ok && strings.HasPrefix(name, "throttle-time-in-ms") {
			longest = max(longest, told.Max())
		}
	})
	return time.Duration(longest) * time.Millisecond
}

func strategy(name string) sarama.BalanceStrategy {
	switch name {
	case "roundrobin":
		return sarama.NewBalanceStrategyRoundRobin()
	case "sticky":
		return sarama.NewBalanceStrategySticky()
	case "cooperative":
		return sarama.NewBalanceStrategyCooperativeSticky()
	}
	return sarama.NewBalanceStrategyRange()
}

func consume(ctx context.Context, o *program.Options, events *program.Events) error {
	c := config(o)
	c.Consumer.Offsets.Initial, c.Consumer.Offsets.AutoCommit.Enable = sarama.OffsetOldest, false
	c.Consumer.Group.Session.Timeout, c.Consumer.Group.Heartbeat.Interval = o.Session, time.Second
	c.Consumer.Group.InstanceId = o.Static
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy(o.Assignor)}
	group, err := sarama.NewConsumerGroup([]string{o.Bootstrap}, o.Group, c)
	if err != nil {
		return err
	}
	for ctx.Err() == nil && err == nil {
		err = group.Consume(ctx, []string{o.Topic}, &member{events: events})
	}
	if closing := group.Close(); err == nil || program.Ended(err) {
		err = closing
	}
	return err
}

// member reads the partitions that it is given, each in a goroutine of its own.
type member struct{ events *program.Events }

// Setup is called before the first partition is read.
func (m *member) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup is called when no partition is read any longer.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim reads a partition for as long as the member has it.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	name := program.Partition(claim.Topic(), claim.Partition())
	m.events.Assigned(name)
	defer m.events.Revoked(name)
	for {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			if !m.events.Record(int(message.Partition), message.Offset, message.Value) {
				return nil
			}
			session.MarkMessage(message, "")
			if len(claim.Messages()) == 0 {
				session.Commit()
				m.events.Committed()
			}
		case <-session.Context().Done():
			session.Commit()
			return nil
		}
	}
}

func transact(_ context.Context, o *program.Options) error {
	c := config(o)
	c.Producer.Idempotent, c.Producer.RequiredAcks, c.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
	c.Producer.Return.Successes = true
	c.Producer.Transaction.ID, c.Producer.Transaction.Timeout = "tx-"+o.Topic, o.Timeout
	producer, err := sarama.NewSyncProducer([]string{o.Bootstrap}, c)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: o.Topic, Value: sarama.ByteEncoder(program.Value(0))}); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return producer.CommitTxn()
}
