package broker_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"kaasd/internal/broker"
	"kaasd/internal/server"
	"kaasd/internal/storage"
)

// TestMain lets the test's own binary stand in for the daemon, as the process
// that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KAASD_TEST_BROKER_DIR"); dir != "" {
		runChild(dir, os.Getenv("KAASD_TEST_BROKER_ADDRESS"), os.Getenv("KAASD_FLUSH"))
		return
	}
	time.Local = time.FixedZone("elsewhere", 5*60*60+30*60) // what is told in UTC is so on machines of other zones
	os.Exit(m.Run())
}

func runChild(dir, address, flush string) {
	cfg := broker.Default()
	cfg.DataDir = dir
	cfg.Listeners = []server.Listener{{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: address, Host: "127.0.0.1"}}
	cfg.HTTP.Listen = ""
	cfg.Storage.DiskReserve = 0
	cfg.Quota.Model = os.Getenv("KAASD_TEST_BROKER_MODEL")
	cfg.Properties = map[string]string{"num.partitions": strconv.Itoa(killPartitions)}
	cfg.Storage.Flush = map[string]storage.Flush{"os": storage.FlushOS, "always": storage.FlushAlways}[flush]
	if flush == "" || flush == "interval" {
		cfg.Storage.Flush = storage.FlushInterval
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := broker.New(cfg, zap.NewNop())
	if err == nil {
		err = b.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killed is a broker process that is killed and started again on the same
// folder and address.
type killed struct {
	dir, address string
	model        string // quota.model
	cmd          *exec.Cmd
}

func (k *killed) start(t *testing.T) {
	t.Helper()
	binary := os.Getenv("KAASD_BINARY")
	if binary == "" {
		k.cmd = exec.Command(os.Args[0])
		k.cmd.Env = append(os.Environ(), "KAASD_TEST_BROKER_DIR="+k.dir, "KAASD_TEST_BROKER_ADDRESS="+k.address, "KAASD_TEST_BROKER_MODEL="+k.model)
	} else {
		flush := os.Getenv("KAASD_FLUSH")
		if flush == "" {
			flush = "interval"
		}
		k.cmd = exec.Command(binary, "start", "--listeners", "PLAINTEXT://"+k.address, "--http-listen", "",
			"--data-dir", k.dir, "--log-flush", flush, "--log-level", "error", "--log-disk-reserve", "0",
			"--num-partitions", strconv.Itoa(killPartitions), "--quota-model", k.model)
		k.cmd.Env = withoutSettings(os.Environ())
	}
	k.cmd.Stderr = os.Stderr
	if err := k.cmd.Start(); err != nil {
		t.Fatalf("start the broker: %v", err)
	}
}

// withoutSettings drops what would be taken for a setting of the daemon.
func withoutSettings(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "KAASD_") && !strings.HasPrefix(e, "KAFKA_") {
			out = append(out, e)
		}
	}
	return out
}

func (k *killed) kill(t *testing.T) {
	t.Helper()
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill the broker: %v", err)
	}
	_ = k.cmd.Wait()
}

// ledger is what one producer sent, and what was acknowledged of it.
type ledger struct {
	sent  atomic.Uint64
	mu    sync.Mutex
	acked []uint64
}

func (l *ledger) ack(n uint64) {
	l.mu.Lock()
	l.acked = append(l.acked, n)
	l.mu.Unlock()
}

const killTopic, killPartitions = "killed", 4

// killCount is how often the broker is killed in a test.
func killCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv("KAASD_KILLS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KAASD_KILLS=%q: %v", text, err)
	}
	return n
}

func TestKill(t *testing.T) {
	kills := killCount(t)
	k := &killed{dir: t.TempDir(), address: freeAddress(t), model: "user"}
	k.start(t)
	defer func() { k.kill(t) }()

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ledgers := make([]*ledger, killPartitions)
	stop := make(chan struct{})
	var producers sync.WaitGroup
	defer producers.Wait() // after a failure too: they report to t
	defer cancel()
	for p := range ledgers {
		ledgers[p] = &ledger{}
		producers.Go(func() { produceUntil(ctx, t, k.address, int32(p), ledgers[p], stop) })
	}
	for range kills {
		waitForAcks(ctx, t, ledgers)
		<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond)
		k.kill(t)
		k.start(t)
	}
	waitForAcks(ctx, t, ledgers)
	close(stop)
	producers.Wait()

	total := 0
	for p, l := range ledgers {
		checkLedger(t, p, l, consumeAll(ctx, t, k.address, int32(p), l.acked[len(l.acked)-1]))
		total += len(l.acked)
	}
	t.Logf("%d kills, %d acknowledged records, none lost, doubled or out of order", kills, total)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// produceUntil sends numbered records, as many in flight as an idempotent
// producer may have, until stop is closed and all are answered.
func produceUntil(ctx context.Context, t *testing.T, address string, partition int32, l *ledger, stop <-chan struct{}) {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.AllowAutoTopicCreation(),
		kgo.RecordRetries(1<<30), kgo.UnknownTopicRetries(-1), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.ProducerLinger(0), kgo.MetadataMinAge(50*time.Millisecond), kgo.MaxBufferedRecords(500), kgo.RetryTimeout(4*time.Minute), kgo.ConnIdleTimeout(time.Minute),
		kgo.AlwaysRetryEOF()) // a kill right after a connection was made is no sign of a missing log-in
	if err != nil {
		t.Errorf("producer: %v", err)
		return
	}
	defer client.Close()
	for {
		select {
		case <-stop:
			if err := client.Flush(ctx); err != nil {
				t.Errorf("flush: %v", err)
			}
			return
		case <-ctx.Done():
			return
		default:
		}
		n := l.sent.Add(1)
		client.Produce(ctx, numbered(partition, n), func(_ *kgo.Record, err error) {
			switch {
			case err == nil:
				l.ack(n)
			case ctx.Err() == nil:
				t.Errorf("partition %d: record %d: %v", partition, n, err)
			}
		})
	}
}

func numbered(partition int32, n uint64) *kgo.Record {
	value := binary.BigEndian.AppendUint64(nil, n)
	return &kgo.Record{Topic: killTopic, Partition: partition, Value: append(value, make([]byte, 200)...)}
}

// waitForAcks waits until every producer has had an answer since the call.
func waitForAcks(ctx context.Context, t *testing.T, ledgers []*ledger) {
	t.Helper()
	for _, l := range ledgers {
		had := l.count()
		for tick := time.NewTicker(5 * time.Millisecond); l.count() < had+50; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatal("a producer gets no more answers")
			}
		}
	}
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// consumeAll reads a partition from its start until record last is seen.
func consumeAll(ctx context.Context, t *testing.T, address string, partition int32, last uint64) []uint64 {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		killTopic: {partition: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatalf("consumer: %v", err)
	}
	defer client.Close()
	var got []uint64
	for len(got) == 0 || got[len(got)-1] < last {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("partition %d: read %d records, not up to %d: %v", partition, len(got), last, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, binary.BigEndian.Uint64(r.Value)) })
	}
	return got
}

func checkLedger(t *testing.T, partition int, l *ledger, got []uint64) {
	t.Helper()
	there := make(map[uint64]bool, len(got))
	for i, n := range got {
		if there[n] {
			t.Fatalf("partition %d: record %d is there twice", partition, n)
		}
		if i > 0 && n < got[i-1] {
			t.Fatalf("partition %d: record %d stands behind %d", partition, n, got[i-1])
		}
		there[n] = true
	}
	for _, n := range l.acked {
		if !there[n] {
			t.Fatalf("partition %d: record %d was acknowledged and is lost", partition, n)
		}
	}
}
