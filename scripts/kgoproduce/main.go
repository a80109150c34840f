// Command kgoproduce produces with franz-go as one user and client-id, and
// prints the longest throttle that the client was told of, in milliseconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

const timeout = 30 * time.Second

// longest is the longest throttle so far.
type longest struct{ atomic.Int64 }

// OnBrokerThrottle is called for each throttled answer.
func (l *longest) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) {
	for old := l.Load(); int64(d) > old && !l.CompareAndSwap(old, int64(d)); old = l.Load() {
	}
}

var _ kgo.HookBrokerThrottle = (*longest)(nil)

func main() {
	address := flag.String("bootstrap-server", "localhost:9092", "`host:port` of the broker")
	user := flag.String("user", "", "user to log in with PLAIN")
	password := flag.String("password", "", "its password")
	clientID := flag.String("client-id", "kgoproduce", "client-id")
	topic := flag.String("topic", "kgoproduce", "topic")
	records := flag.Int("records", 200, "how many")
	size := flag.Int("bytes", 1000, "bytes of each")
	flag.Parse()
	var told longest
	client, err := kgo.NewClient(kgo.SeedBrokers(*address), kgo.ClientID(*clientID), kgo.DefaultProduceTopic(*topic), kgo.AllowAutoTopicCreation(),
		kgo.SASL(plain.Auth{User: *user, Pass: *password}.AsMechanism()), kgo.WithHooks(&told),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(32<<10), kgo.ProducerLinger(5*time.Millisecond))
	if err == nil {
		err = produce(client, *records, *size)
		client.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kgoproduce:", err)
		os.Exit(1)
	}
	fmt.Println(time.Duration(told.Load()).Milliseconds())
}

func produce(client *kgo.Client, records, size int) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	all := make([]*kgo.Record, records)
	for i := range all {
		all[i] = kgo.SliceRecord(make([]byte, size))
	}
	return client.ProduceSync(ctx, all...).FirstErr()
}
