package broker_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

func TestQuotaLife(t *testing.T) { bothModels(t, quotaLife) }

func quotaLife(t *testing.T, model func(*broker.Config)) {
	for version := range int16(2) {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			p := dial(t, brokertest.Start(t, model).Plain)
			step := func(want values, ops ...message.AlterClientQuotasOp) {
				t.Helper()
				answers := p.alterAll(version, false, entry("alice", ops...))
				if diff := cmp.Diff([]message.AlterClientQuotasResponseEntry{{
					Entity: []message.AlterClientQuotasResponseEntity{{EntityType: "user", EntityName: ptr("alice")}},
				}}, answers); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(want, p.valuesOf(p.describeAll(version, false))); diff != "" {
					t.Error(diff)
				}
			}
			step(values{"alice": {"producer_byte_rate": 10000, "consumer_byte_rate": 20000}},
				set(kafka.ProducerByteRate, 10000), set(kafka.ConsumerByteRate, 20000))
			step(values{"alice": {"producer_byte_rate": 15000, "consumer_byte_rate": 20000}}, set(kafka.ProducerByteRate, 15000))
			step(values{"alice": {"consumer_byte_rate": 20000}}, unset(kafka.ProducerByteRate))
			step(values{"alice": {"consumer_byte_rate": 20000}}, unset(kafka.RequestPercentage))
			step(values{"alice": {"consumer_byte_rate": 20000}})
			step(values{"alice": {"producer_byte_rate": 20000, "request_percentage": 12.3}},
				set(kafka.ProducerByteRate, 20000), unset(kafka.ConsumerByteRate), set(kafka.RequestPercentage, 12.3))
			step(values{}, unset(kafka.ProducerByteRate), unset(kafka.RequestPercentage))
			step(values{}, unset(kafka.ProducerByteRate))
		})
	}
}

// One fault refuses the entry as a whole, names itself, and leaves the other
// entries of the request alone.
func TestAlterRefuses(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	alice := entityOf(named("user", "alice"))
	for _, c := range []struct {
		name   string
		entity []message.AlterClientQuotasEntity
		ops    []message.AlterClientQuotasOp
		code   kafka.Code
		says   string // in the message
	}{
		{"client id", entityOf(named("client-id", "c")), nil, kafka.InvalidRequest, "quota.model"},
		{"ip", entityOf(named("ip", "127.0.0.1")), nil, kafka.InvalidRequest, "quota.model"},
		{"default user", entityOf(byDefault("user")), nil, kafka.InvalidRequest, "quota.model"},
		{"default client id", entityOf(byDefault("client-id")), nil, kafka.InvalidRequest, "quota.model"},
		{"user and client id", entityOf(named("user", "a"), named("client-id", "c")), nil, kafka.InvalidRequest, "quota.model"},
		{"no component", entityOf(), nil, kafka.InvalidRequest, ""},
		{"unknown type", entityOf(named("group", "g")), nil, kafka.InvalidRequest, "group"},
		{"type in capitals", entityOf(named("User", "a")), nil, kafka.InvalidRequest, "User"},
		{"empty type", entityOf(named("", "a")), nil, kafka.InvalidRequest, ""},
		{"empty name", entityOf(named("user", "")), nil, kafka.InvalidRequest, ""},
		{"zero", alice, ops(set(kafka.ProducerByteRate, 0)), kafka.InvalidRequest, "producer_byte_rate"},
		{"minus zero", alice, ops(set(kafka.ProducerByteRate, math.Copysign(0, -1))), kafka.InvalidRequest, "producer_byte_rate"},
		{"negative", alice, ops(set(kafka.ConsumerByteRate, -1)), kafka.InvalidRequest, "consumer_byte_rate"},
		{"fraction", alice, ops(set(kafka.ProducerByteRate, 1024.5)), kafka.InvalidRequest, "producer_byte_rate"},
		{"fraction below a whole number", alice, ops(set(kafka.ProducerByteRate, 999.9999995)), kafka.InvalidRequest, "producer_byte_rate"},
		{"too large", alice, ops(set(kafka.ProducerByteRate, 1e300)), kafka.InvalidRequest, "producer_byte_rate"},
		{"not a number", alice, ops(set(kafka.ProducerByteRate, math.NaN())), kafka.InvalidRequest, "producer_byte_rate"},
		{"infinite", alice, ops(set(kafka.RequestPercentage, math.Inf(1))), kafka.InvalidRequest, "request_percentage"},
		{"minus infinite", alice, ops(set(kafka.RequestPercentage, math.Inf(-1))), kafka.InvalidRequest, "request_percentage"},
		{"unknown key", alice, ops(set("bogus", 1)), kafka.InvalidConfig, "bogus"},
		{"unknown key removed", alice, ops(unset("bogus")), kafka.InvalidConfig, "bogus"},
		{"a SCRAM mechanism", alice, ops(set("SCRAM-SHA-256", 1)), kafka.InvalidConfig, "SCRAM-SHA-256"},
		{"a key of addresses", alice, ops(set(kafka.ConnectionCreationRate, 5)), kafka.InvalidConfig, kafka.ConnectionCreationRate},
		{"a key of the other model", alice, ops(set(kafka.ControllerMutationRate, 2.5)), kafka.InvalidConfig, kafka.ControllerMutationRate},
		{"key twice", alice, ops(set(kafka.ProducerByteRate, 1), unset(kafka.ProducerByteRate)), kafka.InvalidRequest, ""},
		{"a good op before a bad one", alice, ops(set(kafka.ProducerByteRate, 5), set("bogus", 1)), kafka.InvalidConfig, "bogus"},
		{"a good op behind a bad one", alice, ops(set("bogus", 1), set(kafka.ProducerByteRate, 5)), kafka.InvalidConfig, "bogus"},
		{"the entity before its ops", entityOf(named("client-id", "c")), ops(set("bogus", 1)), kafka.InvalidRequest, "quota.model"},
		{"key before value", alice, ops(set("bogus", -1)), kafka.InvalidConfig, "bogus"},
		{"the first op before the second", alice, ops(set(kafka.ProducerByteRate, -1), set("bogus", 1)), kafka.InvalidRequest, "producer_byte_rate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, validateOnly := range []bool{true, false} {
				p.t = t
				answers := p.alterAll(1, validateOnly, entry("before", set(kafka.ProducerByteRate, 7)),
					message.AlterClientQuotasEntry{Entity: c.entity, Ops: c.ops}, entry("behind", set(kafka.ConsumerByteRate, 9)))
				if len(answers) != 3 || answers[0].ErrorCode != 0 || answers[2].ErrorCode != 0 {
					t.Fatalf("answers %+v", answers)
				}
				got := answers[1]
				if got.ErrorCode != c.code || got.ErrorMessage == nil || !strings.Contains(*got.ErrorMessage, c.says) {
					t.Errorf("got %s, %v; want %s and the message to name %q", got.ErrorCode, deref(got.ErrorMessage), c.code, c.says)
				}
				if diff := cmp.Diff(echo(c.entity), got.Entity); diff != "" {
					t.Errorf("entity: %s", diff)
				}
			}
			want := values{"before": {"producer_byte_rate": 7}, "behind": {"consumer_byte_rate": 9}}
			if diff := cmp.Diff(want, p.describe()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAlterAcceptsOddValues(t *testing.T) { bothModels(t, alterAcceptsOddValues) }

func alterAcceptsOddValues(t *testing.T, model func(*broker.Config)) {
	p := dial(t, brokertest.Start(t, model).Plain)
	for _, c := range []struct {
		key   string
		value float64
	}{
		{kafka.ProducerByteRate, 1}, {kafka.ProducerByteRate, 1000.0000005}, {kafka.ProducerByteRate, 1 << 53}, {kafka.ProducerByteRate, 1e18},
		{kafka.RequestPercentage, 0.5}, {kafka.RequestPercentage, 1e-7}, {kafka.RequestPercentage, 12345.678},
	} {
		p.alter("alice", set(c.key, c.value))
		if got := p.describe(match("user", exact, "alice"))["alice"][c.key]; got != c.value {
			t.Errorf("%s: got %v back, want %v", c.key, got, c.value)
		}
	}
}

// An entity named twice has one answer, and none of its entries applies; its
// components may come in any order.
func TestAlterNamesAnEntityTwice(t *testing.T) { bothModels(t, alterNamesAnEntityTwice) }

func alterNamesAnEntityTwice(t *testing.T, model func(*broker.Config)) {
	p := dial(t, brokertest.Start(t, model).Plain)
	answers := p.alterAll(1, false, entry("twice", set(kafka.ProducerByteRate, 1)), entry("once", set(kafka.ProducerByteRate, 2)),
		entry("twice", set(kafka.ConsumerByteRate, 3)))
	if len(answers) != 2 {
		t.Fatalf("got %d answers for two entities", len(answers))
	}
	codes := map[string]kafka.Code{}
	for _, a := range answers {
		codes[*a.Entity[0].EntityName] = a.ErrorCode
	}
	if diff := cmp.Diff(map[string]kafka.Code{"twice": kafka.InvalidRequest, "once": kafka.NoError}, codes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(values{"once": {"producer_byte_rate": 2}}, p.describe()); diff != "" {
		t.Error(diff)
	}
	answers = p.alterAll(1, false,
		message.AlterClientQuotasEntry{Entity: entityOf(named("user", "a"), named("client-id", "b")), Ops: ops(set(kafka.ProducerByteRate, 1))},
		message.AlterClientQuotasEntry{Entity: entityOf(named("client-id", "b"), named("user", "a")), Ops: ops(set(kafka.ProducerByteRate, 1))})
	if len(answers) != 1 || answers[0].ErrorCode != kafka.InvalidRequest {
		t.Errorf("one entity in two orders: %+v", answers)
	}
}

func TestValidateOnlyChangesNothing(t *testing.T) { bothModels(t, validateOnlyChangesNothing) }

func validateOnlyChangesNothing(t *testing.T, model func(*broker.Config)) {
	p := dial(t, brokertest.Start(t, model).Plain)
	p.alter("alice", set(kafka.ProducerByteRate, 1))
	for _, o := range [][]message.AlterClientQuotasOp{
		ops(set(kafka.ConsumerByteRate, 2)), ops(set(kafka.ProducerByteRate, 2)), ops(unset(kafka.ProducerByteRate)),
	} {
		if got := p.alterAll(1, true, entry("alice", o...)); got[0].ErrorCode != 0 {
			t.Errorf("%+v: %s", o, got[0].ErrorCode)
		}
	}
	if got := p.alterAll(1, false); len(got) != 0 {
		t.Errorf("no entries: %d answers", len(got))
	}
	if diff := cmp.Diff(values{"alice": {"producer_byte_rate": 1}}, p.describe()); diff != "" {
		t.Error(diff)
	}
}

func TestDescribeFilters(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.alter("a", set(kafka.ProducerByteRate, 1))
	p.alter("b", set(kafka.RequestPercentage, 2))
	a, both := values{"a": {"producer_byte_rate": 1}}, values{"a": {"producer_byte_rate": 1}, "b": {"request_percentage": 2}}
	for _, c := range []struct {
		name   string
		filter []message.DescribeClientQuotasComponent
		want   values // nil: an error
		code   kafka.Code
	}{
		{"nothing", nil, both, 0},
		{"one user", filter(match("user", exact, "a")), a, 0},
		{"an unknown user", filter(match("user", exact, "c")), values{}, 0},
		{"an empty name", filter(match("user", exact, "")), values{}, 0},
		{"another letter case", filter(match("user", exact, "A")), values{}, 0},
		{"any user", filter(match("user", anyone)), both, 0},
		{"the default user", filter(match("user", normal)), values{}, 0},
		{"a client id", filter(match("client-id", exact, "a")), values{}, 0},
		{"any client id", filter(match("client-id", anyone)), values{}, 0},
		{"any address", filter(match("ip", anyone)), values{}, 0},
		{"user and client id", filter(match("user", exact, "a"), match("client-id", anyone)), values{}, 0},
		{"user and address", filter(match("user", exact, "a"), match("ip", anyone)), values{}, 0},
		{"empty type", filter(match("", exact, "a")), nil, kafka.InvalidRequest},
		{"unknown type", filter(match("group", exact, "a")), nil, kafka.UnsupportedVersion},
		{"type twice", filter(match("user", exact, "a"), match("user", exact, "b")), nil, kafka.InvalidRequest},
		{"exact without a name", filter(match("user", exact)), nil, kafka.InvalidRequest},
		{"default with a name", filter(match("user", normal, "a")), nil, kafka.InvalidRequest},
		{"default with an empty name", filter(match("client-id", normal, "")), nil, kafka.InvalidRequest},
		{"any with a name", filter(match("user", anyone, "a")), nil, kafka.InvalidRequest},
		{"unknown match", filter(match("user", 3)), nil, kafka.InvalidRequest},
		{"negative match", filter(match("user", -1)), nil, kafka.InvalidRequest},
		{"the first fault wins", filter(match("group", 9), match("", 0)), nil, kafka.UnsupportedVersion},
	} {
		for version := range int16(2) {
			for _, strict := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, version %d, strict %v", c.name, version, strict), func(t *testing.T) {
					p.t = t
					resp := p.describeAll(version, strict, c.filter...)
					if resp.ErrorCode != c.code {
						t.Fatalf("got %s %s, want %s", resp.ErrorCode, deref(resp.ErrorMessage), c.code)
					}
					if c.want == nil {
						if resp.Entries != nil || deref(resp.ErrorMessage) == "" {
							t.Errorf("entries %+v, message %q with an error", resp.Entries, deref(resp.ErrorMessage))
						}
						return
					}
					if diff := cmp.Diff(c.want, p.valuesOf(resp)); diff != "" || resp.Entries == nil {
						t.Error(diff)
					}
				})
			}
		}
	}
}

// Names come back byte for byte.
func TestQuotaNamesAreKept(t *testing.T) { bothModels(t, quotaNamesAreKept) }

func quotaNamesAreKept(t *testing.T, model func(*broker.Config)) {
	p := dial(t, brokertest.Start(t, model).Plain)
	names := []string{"CN=app1", "CN=app1,O=x", "a/b", "a%2Fb", "a b", "\u00fc", "*", "<default>", "../x", "a\x00b", " ", strings.Repeat("n", 4096)}
	want := values{}
	for i, name := range names {
		p.alter(name, set(kafka.ProducerByteRate, float64(i+1)))
		want[name] = map[string]float64{"producer_byte_rate": float64(i + 1)}
	}
	if diff := cmp.Diff(want, p.describe()); diff != "" {
		t.Error(diff)
	}
	for i, name := range names {
		if got := p.describe(match("user", exact, name)); len(got) != 1 || got[name]["producer_byte_rate"] != float64(i+1) {
			t.Errorf("%.20q: got %v", name, got)
		}
	}
}

func TestQuotasOfManyWriters(t *testing.T) { bothModels(t, quotasOfManyWriters) }

func quotasOfManyWriters(t *testing.T, model func(*broker.Config)) {
	b := brokertest.Start(t, model)
	var writers sync.WaitGroup
	for w := range 20 {
		p := dial(t, b.Plain)
		writers.Go(func() {
			key := []string{kafka.ProducerByteRate, kafka.ConsumerByteRate}[w%2]
			for range 20 {
				resp := call[message.AlterClientQuotasResponse](p, 1, &message.AlterClientQuotasRequest{
					Entries: []message.AlterClientQuotasEntry{entry(fmt.Sprint("user-", w/2), set(key, float64(w+1)))},
				})
				if resp.Entries[0].ErrorCode != 0 {
					t.Errorf("writer %d: %s", w, resp.Entries[0].ErrorCode)
				}
			}
		})
	}
	writers.Wait()
	got := dial(t, b.Plain).describe()
	for u := range 10 {
		want := map[string]float64{kafka.ProducerByteRate: float64(2*u + 1), kafka.ConsumerByteRate: float64(2*u + 2)}
		if diff := cmp.Diff(want, got[fmt.Sprint("user-", u)]); diff != "" {
			t.Errorf("user-%d lost an update: %s", u, diff)
		}
	}
}

// A merge of the file's values and what is altered becomes the override; with
// its last key the file's values show again.
func TestOverrideAndFile(t *testing.T) {
	b := brokertest.Start(t, withFile(t, `{"version":1,"users":[`+
		`{"username":"alice","authType":"plain","plainPassword":"a","quotas":{"producerMaxByteRatePerBroker":1000,"consumerMaxByteRatePerBroker":2000}}]}`))
	p := dial(t, b.Plain)
	alice := func(step string, want map[string]float64) {
		t.Helper()
		if diff := cmp.Diff(want, p.describe(match("user", exact, "alice"))["alice"]); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	alice("at first", map[string]float64{"producer_byte_rate": 1000, "consumer_byte_rate": 2000})
	p.alter("alice", set(kafka.ProducerByteRate, 5))
	alice("one key altered", map[string]float64{"producer_byte_rate": 5, "consumer_byte_rate": 2000})
	p.alter("alice", unset(kafka.ProducerByteRate))
	alice("one key removed", map[string]float64{"consumer_byte_rate": 2000})
	p.alter("alice", unset(kafka.ConsumerByteRate))
	alice("the last key removed", map[string]float64{"producer_byte_rate": 1000, "consumer_byte_rate": 2000})
	p.alter("alice", unset(kafka.ConsumerByteRate))
	alice("one of the file's keys removed", map[string]float64{"producer_byte_rate": 1000})
}

func TestQuotasEndWithTheBroker(t *testing.T) {
	onDisk := withFolder(t)
	b := brokertest.Start(t, onDisk)
	dial(t, b.Plain).alter("alice", set(kafka.ProducerByteRate, 5))
	b.Stop()
	if got := dial(t, brokertest.Start(t, onDisk).Plain).describe(); len(got) != 0 {
		t.Errorf("quotas of the user model are kept in memory, got %v", got)
	}
}

// With an authorizer only super users may look and alter; every entry is
// refused, whatever it says.
func TestQuotasNeedAuthorization(t *testing.T) {
	b := brokertest.Start(t, withFile(t, `{"users":[{"username":"root","authType":"plain","plainPassword":"r"}]}`), func(c *broker.Config) {
		c.Access = broker.Access{Enabled: true, SuperUsers: []string{"User:root"}}
	})
	p := dial(t, b.Plain)
	for version := range int16(2) {
		answers := p.alterAll(version, false, entry("a", set("bogus", -1)), entry("a"), entry("", set(kafka.ProducerByteRate, 1)))
		if len(answers) != 3 {
			t.Fatalf("%d answers to 3 entries", len(answers))
		}
		for i, a := range answers {
			if a.ErrorCode != kafka.ClusterAuthorizationFailed || deref(a.ErrorMessage) == "" {
				t.Errorf("entry %d: got %s", i, a.ErrorCode)
			}
		}
		resp := p.describeAll(version, false, match("", 9))
		if resp.ErrorCode != kafka.ClusterAuthorizationFailed || resp.ErrorMessage != nil || resp.Entries != nil {
			t.Errorf("describe: %+v", resp)
		}
	}
	root := dialAs(t, b.SASL, "root", "r")
	root.alter("a", set(kafka.ProducerByteRate, 1))
	if got := root.describe(); len(got) != 1 {
		t.Errorf("root sees %v", got)
	}
}
