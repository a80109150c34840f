package broker_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// Quotas of every kind of entity are there after a restart, and in force.
func TestQuotasOutliveTheBroker(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		want := map[string]map[string]float64{}
		admin := dial(t, b.Plain)
		admin.clientID = "admin"
		admin.newTopic("t")
		for i, l := range append(levels(), level{entity: entityOf(named(kafka.EntityUser, "\xff\x00<default>"))}) {
			values := map[string]float64{kafka.ProducerByteRate: float64(100 + i), kafka.RequestPercentage: 12.5, kafka.ConsumerByteRate: 1 << 63, kafka.ControllerMutationRate: 1e-7}
			var all []message.AlterClientQuotasOp
			for key, v := range values {
				all = append(all, set(key, v))
			}
			admin.alterEntity(l.entity, all...)
			want[nameOf(l.entity)] = values
		}
		ip := entityOf(named(kafka.EntityIP, "::1"))
		admin.alterEntity(ip, set(kafka.ConnectionCreationRate, 20))
		want[nameOf(ip)] = map[string]float64{kafka.ConnectionCreationRate: 20}
		for _, entity := range [][]message.AlterClientQuotasEntity{entityOf(byDefault(kafka.EntityUser)), entityOf(named(kafka.EntityUser, anonymous), named(kafka.EntityClientID, "peer"))} {
			admin.alterEntity(entity, unset(kafka.ProducerByteRate))
			delete(want[nameOf(entity)], kafka.ProducerByteRate)
		}
		for range 2 {
			if diff := cmp.Diff(want, dial(t, b.Plain).everything()); diff != "" {
				t.Error(diff)
			}
			b = again()
		}
		if got := dial(t, b.Plain).mustProduce("t", batch(100_000)); got < longThrottle/2 {
			t.Errorf("after the restart throttled for %v", got)
		}
	}, kafkaModel)
}

// The user model keeps what it finds, says how much it is, and adds nothing to
// it.
func TestUserModelOnAFolderWithQuotas(t *testing.T) {
	folder := withFolder(t)
	b := brokertest.Start(t, folder, kafkaModel)
	admin := dial(t, b.Plain)
	for _, l := range levels()[:3] {
		admin.alterEntity(l.entity, set(kafka.ProducerByteRate, 100))
	}
	want := admin.everything()
	b.Stop()

	core, lines := observer.New(zapcore.WarnLevel)
	b = brokertest.StartLogged(t, zap.New(core), folder, userModel)
	admin = dial(t, b.Plain)
	if got := admin.everything(); len(got) != 0 {
		t.Errorf("the user model has %v in force", got)
	}
	told := lines.FilterMessageSnippet("quota.model=kafka").All()
	if len(told) != 1 || told[0].ContextMap()["entities"] != int64(3) {
		t.Errorf("told: %+v", told)
	}
	for _, user := range []string{"alice", "bob"} {
		admin.alter(user, set(kafka.ProducerByteRate, 7))
	}
	if told := lines.FilterMessageSnippet("end with this process").Len(); told != 1 {
		t.Errorf("two alterations that will be gone are warned of %d times", told)
	}
	b.Stop()

	if got := dial(t, brokertest.Start(t, folder, kafkaModel).Plain).everything(); !cmp.Equal(want, got) {
		t.Errorf("back in the kafka model: %v, want %v", got, want)
	}
}

// A disk that takes nothing refuses an alteration and keeps the limit that was;
// when it does again, so does the broker.
func TestAlterOnAFullDisk(t *testing.T) {
	disk := vfs.NewCrash("/data")
	b := brokertest.Start(t, kafkaModel, func(c *broker.Config) { c.DataDir, c.Storage.FS = "/data", disk })
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	limited := entityOf(named(kafka.EntityClientID, "peer"))
	admin.alterEntity(limited, set(kafka.ProducerByteRate, 100))
	want := admin.everything()
	disk.Fail(func(call string) error {
		if strings.HasPrefix(call, "write") {
			return fmt.Errorf("%s: %w", call, vfs.ErrFull)
		}
		return nil
	})
	for _, op := range []message.AlterClientQuotasOp{set(kafka.ProducerByteRate, 1e9), unset(kafka.ProducerByteRate)} {
		answers := admin.alterAll(1, false, message.AlterClientQuotasEntry{Entity: limited, Ops: ops(op)}, entry("other", set(kafka.ProducerByteRate, 5)), entry("bad", set(kafka.ProducerByteRate, -5)))
		codes := map[string]kafka.Code{}
		for _, a := range answers {
			codes[deref(a.Entity[0].EntityName)] = a.ErrorCode
			if deref(a.ErrorMessage) == "" {
				t.Errorf("%s has no text", a.ErrorCode)
			}
		}
		if diff := cmp.Diff(map[string]kafka.Code{"peer": kafka.KafkaStorageError, "other": kafka.KafkaStorageError, "bad": kafka.InvalidRequest}, codes); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, admin.everything()); diff != "" {
			t.Errorf("described: %s", diff)
		}
	}
	checked := admin.alterAll(1, true, message.AlterClientQuotasEntry{Entity: limited, Ops: ops(set(kafka.ProducerByteRate, 7))})
	if checked[0].ErrorCode != kafka.NoError {
		t.Errorf("to check only: %s", checked[0].ErrorCode)
	}
	disk.Fail(func(string) error { return nil })
	dial(t, b.Plain).overdraw("t") // at the old limit
	admin.alterEntity(limited, set(kafka.ProducerByteRate, 200))
	b.Stop()
	again := dial(t, brokertest.Start(t, kafkaModel, func(c *broker.Config) { c.DataDir, c.Storage.FS = "/data", disk.AfterKill() }).Plain)
	if got := again.everything()[nameOf(limited)][kafka.ProducerByteRate]; got != 200 || len(again.everything()) != 1 {
		t.Errorf("after a restart: %v", again.everything())
	}
}

// A disk whose sync fails leaves open what it holds: nothing more is altered
// until the restart, and the old limit stays.
func TestAlterOnADiskThatFails(t *testing.T) {
	disk := vfs.NewCrash("/data")
	onDisk := func(c *broker.Config) { c.DataDir, c.Storage.FS = "/data", disk }
	admin := dial(t, startDoomed(t, kafkaModel, onDisk))
	admin.alter("a", set(kafka.ProducerByteRate, 100))
	disk.Fail(func(call string) error {
		if strings.HasPrefix(call, "sync") && strings.Contains(call, "metadata") {
			return errors.New("the disk is gone")
		}
		return nil
	})
	for range 2 {
		if got := admin.alterAll(1, false, entry("a", set(kafka.ProducerByteRate, 5)))[0].ErrorCode; got != kafka.KafkaStorageError {
			t.Errorf("got %s", got)
		}
		disk.Fail(func(string) error { return nil })
	}
	if got := admin.everything()[`user="a"`][kafka.ProducerByteRate]; got != 100 {
		t.Errorf("the limit is %v", got)
	}
}

// Ten thousand values in one request are taken, and are there after a restart;
// one more is not, nor is any other of that request.
func TestTenThousandQuotasAtOnce(t *testing.T) {
	folder := withFolder(t)
	b := brokertest.Start(t, kafkaModel, folder)
	admin := dial(t, b.Plain)
	var entries []message.AlterClientQuotasEntry
	want := map[string]map[string]float64{}
	for i := range 10_001 {
		e := message.AlterClientQuotasEntry{
			Entity: entityOf(named(kafka.EntityUser, fmt.Sprintf("user-%05d", i)), named(kafka.EntityClientID, "c")), Ops: ops(set(kafka.ProducerByteRate, float64(i+1))),
		}
		entries = append(entries, e)
		if i < 10_000 {
			want[nameOf(e.Entity)] = map[string]float64{kafka.ProducerByteRate: float64(i + 1)}
		}
	}
	for _, validateOnly := range []bool{true, false} {
		for i, e := range admin.alterAll(1, validateOnly, entries...) {
			if e.ErrorCode != kafka.PolicyViolation {
				t.Fatalf("entry %d of 10001: %s", i, e.ErrorCode)
			}
		}
	}
	for i, e := range admin.alterAll(1, false, entries[:10_000]...) {
		if e.ErrorCode != kafka.NoError {
			t.Fatalf("entry %d of 10000: %s", i, e.ErrorCode)
		}
	}
	if got := admin.everything(); !maps.EqualFunc(want, got, maps.Equal) {
		t.Errorf("%d entities are described", len(got))
	}
	b.Stop()
	if got := dial(t, brokertest.Start(t, kafkaModel, folder).Plain).everything(); !maps.EqualFunc(want, got, maps.Equal) {
		t.Errorf("%d entities are there after a restart", len(got))
	}
}

// A request of nearly the size that is read, of names without meaning, is
// taken whole and kept.
func TestQuotasOfAHugeRequest(t *testing.T) {
	const limit = 8 << 20
	folder := withFolder(t)
	small := func(c *broker.Config) { c.Network.MaxRequest = limit }
	b := brokertest.Start(t, kafkaModel, folder, small)
	admin := dial(t, b.Plain)
	var entries []message.AlterClientQuotasEntry
	size := func() int { return len(admin.frame(1, &message.AlterClientQuotasRequest{Entries: entries})) - 4 }
	const name = 4096
	for i := range limit / (name + 100) {
		odd := make([]byte, name)
		for j := range odd {
			odd[j] = byte(i * j)
		}
		odd[0], odd[1] = byte(i), byte(i>>8)
		entries = append(entries, message.AlterClientQuotasEntry{Entity: entityOf(named(kafka.EntityUser, string(odd))), Ops: ops(set(kafka.ProducerByteRate, float64(i+1)))})
	}
	for rest := limit - size(); rest > 200; rest = limit - size() {
		last := fmt.Sprint(rest, strings.Repeat("r", min(rest, name)))
		entries = append(entries, entry(last[:min(rest-100, name)], set(kafka.ProducerByteRate, 1)))
	}
	if got := size(); got > limit || got < limit-100 {
		t.Fatalf("the request has %d bytes", got)
	}
	for i, e := range admin.alterAll(1, false, entries...) {
		if e.ErrorCode != kafka.NoError {
			t.Fatalf("entry %d: %s %.200s", i, e.ErrorCode, deref(e.ErrorMessage))
		}
	}
	want := admin.everything()
	if len(want) != len(entries) {
		t.Errorf("%d of %d entities are described", len(want), len(entries))
	}
	b.Stop()
	b = brokertest.Start(t, kafkaModel, folder, small)
	if got := dial(t, b.Plain).everything(); !maps.EqualFunc(want, got, maps.Equal) {
		t.Errorf("%d of %d entities are there after a restart", len(got), len(want))
	}
	entries[len(entries)-1] = entry(strings.Repeat("r", 2*name), set(kafka.ProducerByteRate, 1))
	larger := dial(t, b.Plain)
	larger.raw(larger.frame(1, &message.AlterClientQuotasRequest{Entries: entries})[:1000]) // the size is enough
	larger.mustEnd()
}

// Base and override stand key by key at one user, over a reload of the file;
// what only the file gives cannot be removed over the API.
func TestBaseAndOverridePerKey(t *testing.T) {
	file := func(produce, fetch int) string {
		return fileQuota(fmt.Sprintf(`"producerMaxByteRatePerBroker":%d,"consumerMaxByteRatePerBroker":%d`, produce, fetch))
	}
	b, path := startWithFile(t, file(1000, 2000), kafkaModel)
	p := dial(t, b.Plain)
	alice := func(step string, produce, fetch float64) {
		t.Helper()
		want := map[string]float64{kafka.ProducerByteRate: produce, kafka.ConsumerByteRate: fetch}
		if diff := cmp.Diff(want, p.describe(match(kafka.EntityUser, exact, "alice"))["alice"]); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		all := scrape(t, b)
		for quota, limit := range map[string]float64{"produce": produce, "fetch": fetch} {
			if got := all.sum("kaasd_quota_entity_limit_bytes_per_second", "quota", quota, "user", "alice"); got != limit {
				t.Errorf("%s: %s is limited to %v, want %v", step, quota, got, limit)
			}
		}
	}
	alice("from the file", 1000, 2000)
	p.alter("alice", set(kafka.ConsumerByteRate, 5))
	alice("one key altered", 1000, 5)
	newFile(t, b, path, file(3000, 4000))
	alice("a new file", 3000, 5)
	refused := p.alterAll(1, false, entry("alice", unset(kafka.ProducerByteRate), set(kafka.ConsumerByteRate, 6)))[0]
	if text := deref(refused.ErrorMessage); refused.ErrorCode != kafka.InvalidRequest || !strings.Contains(text, "producer_byte_rate of user alice comes from the credentials file") {
		t.Errorf("removing the file's key: %s %q", refused.ErrorCode, text)
	}
	alice("a refused removal", 3000, 5)
	p.alter("alice", unset(kafka.ConsumerByteRate))
	alice("the altered key removed", 3000, 4000)
	newFile(t, b, path, fileQuota(""))
	if got := p.everything(); len(got) != 0 {
		t.Errorf("without quotas in the file: %v", got)
	}
}

// BenchmarkStartWithTenThousandQuotas is a start on a folder that holds as
// many, until clients are served.
func BenchmarkStartWithTenThousandQuotas(b *testing.B) {
	for _, entities := range []int{0, 10_000} {
		b.Run(fmt.Sprint(entities), func(b *testing.B) {
			dir := folderWithQuotas(b, entities)
			for b.Loop() {
				started := brokertest.Start(b, kafkaModel, inFolder(dir))
				b.StopTimer()
				started.Stop()
				b.StartTimer()
			}
		})
	}
}

func folderWithQuotas(b *testing.B, entities int) string {
	b.Helper()
	dir, err := os.MkdirTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	started := brokertest.Start(b, kafkaModel, inFolder(dir))
	defer started.Stop()
	var entries []message.AlterClientQuotasEntry
	for i := range entities {
		entries = append(entries, entry(fmt.Sprintf("user-%05d", i), set(kafka.ProducerByteRate, 1<<20)))
	}
	if len(entries) == 0 {
		return dir
	}
	p := dial(b, started.Plain)
	for _, e := range p.alterAll(1, false, entries...) {
		if e.ErrorCode != kafka.NoError {
			b.Fatal(e.ErrorCode)
		}
	}
	return dir
}
