// Command kgoproduce produces with franz-go as one user and client-id, over TLS
// where it is told an authority, and prints the longest throttle that the client
// was told of, in milliseconds.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
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
	user := flag.String("user", "", "user to log in; empty: no log-in")
	password := flag.String("password", "", "its password")
	mechanism := flag.String("mechanism", "PLAIN", "how: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512")
	authority := flag.String("tls-ca", "", "`file` of the authority of the broker's certificate; empty: no TLS")
	cert := flag.String("tls-cert", "", "`file` of a certificate to show")
	key := flag.String("tls-key", "", "`file` of its key")
	clientID := flag.String("client-id", "kgoproduce", "client-id")
	topic := flag.String("topic", "kgoproduce", "topic")
	records := flag.Int("records", 200, "how many")
	size := flag.Int("bytes", 1000, "bytes of each")
	flag.Parse()
	var told longest
	opts := []kgo.Opt{kgo.SeedBrokers(*address), kgo.ClientID(*clientID), kgo.DefaultProduceTopic(*topic), kgo.AllowAutoTopicCreation(), kgo.WithHooks(&told),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(32 << 10), kgo.ProducerLinger(5 * time.Millisecond)}
	if *user != "" {
		opts = append(opts, kgo.SASL(logIn(*mechanism, *user, *password)))
	}
	config, err := encryption(*authority, *cert, *key)
	if config != nil {
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	if err == nil {
		err = produce(opts, *records, *size)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kgoproduce:", err)
		os.Exit(1)
	}
	fmt.Println(time.Duration(told.Load()).Milliseconds())
}

func logIn(mechanism, user, password string) sasl.Mechanism {
	switch mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}

// encryption is nil without an authority.
func encryption(authority, cert, key string) (*tls.Config, error) {
	if authority == "" {
		return nil, nil
	}
	bundle, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(bundle)
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func produce(opts []kgo.Opt, records, size int) error {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	all := make([]*kgo.Record, records)
	for i := range all {
		all[i] = kgo.SliceRecord(make([]byte, size))
	}
	return client.ProduceSync(ctx, all...).FirstErr()
}
