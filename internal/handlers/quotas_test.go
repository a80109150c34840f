package handlers

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// entry is one entity of AlterClientQuotas in short: components are
// "user=alice", "client-id" for the default, operations "producer_byte_rate=5"
// or "-producer_byte_rate".
func entry(components string, ops ...any) message.AlterClientQuotasEntry {
	var e message.AlterClientQuotasEntry
	for part := range strings.FieldsSeq(components) {
		kind, name, named := strings.Cut(part, "=")
		c := message.AlterClientQuotasEntity{EntityType: kind}
		if named {
			c.EntityName = &name
		}
		e.Entity = append(e.Entity, c)
	}
	for i := 0; i < len(ops); i++ {
		key := ops[i].(string)
		if name, removal := strings.CutPrefix(key, "-"); removal {
			e.Ops = append(e.Ops, message.AlterClientQuotasOp{Key: name, Remove: true, Value: math.NaN()})
			continue
		}
		i++
		e.Ops = append(e.Ops, message.AlterClientQuotasOp{Key: key, Value: ops[i].(float64)})
	}
	return e
}

// alter sends entries and gives one line for each answer: entity and code.
func alter(c *peer, validateOnly bool, entries ...message.AlterClientQuotasEntry) []string {
	c.t.Helper()
	var resp message.AlterClientQuotasResponse
	c.get(kafka.KeyAlterClientQuotas, 1, &message.AlterClientQuotasRequest{Entries: entries, ValidateOnly: validateOnly}, &resp)
	var lines []string
	for _, e := range resp.Entries {
		var parts []string
		for _, p := range e.Entity {
			parts = append(parts, p.EntityType+"="+deref(p.EntityName))
		}
		lines = append(lines, strings.Join(parts, " ")+" "+fmt.Sprint(int16(e.ErrorCode)))
		if (e.ErrorMessage == nil) != (e.ErrorCode == 0) {
			c.t.Errorf("%v has the message %s", parts, deref(e.ErrorMessage))
		}
	}
	if resp.ThrottleTimeMs != 0 {
		c.t.Errorf("a throttle of %d ms", resp.ThrottleTimeMs)
	}
	return lines
}

// component is one filter component: "user=alice" exact, "user:default",
// "user:any", or with a number the match type itself.
func component(s string) message.DescribeClientQuotasComponent {
	if kind, match, ok := strings.Cut(s, ":"); ok {
		types := map[string]int8{"exact": 0, "default": 1, "any": 2, "seven": 7, "below": -1}
		match, name, named := strings.Cut(match, "=")
		c := message.DescribeClientQuotasComponent{EntityType: kind, MatchType: types[match]}
		if named {
			c.Match = &name
		}
		return c
	}
	kind, name, _ := strings.Cut(s, "=")
	return message.DescribeClientQuotasComponent{EntityType: kind, Match: &name}
}

func describe(c *peer, strict bool, components ...string) *message.DescribeClientQuotasResponse {
	c.t.Helper()
	req := &message.DescribeClientQuotasRequest{Strict: strict, Components: []message.DescribeClientQuotasComponent{}}
	for _, s := range components {
		req.Components = append(req.Components, component(s))
	}
	resp := new(message.DescribeClientQuotasResponse)
	c.get(kafka.KeyDescribeClientQuotas, 1, req, resp)
	return resp
}

// described is one line per entry of an answer.
func described(resp *message.DescribeClientQuotasResponse) []string {
	lines := []string{}
	for _, e := range resp.Entries {
		line := ""
		for _, p := range e.Entity {
			line += p.EntityType + "=" + deref(p.EntityName)
		}
		for _, v := range e.Values {
			line += fmt.Sprintf(" %s=%v", v.Key, v.Value)
		}
		lines = append(lines, line)
	}
	return lines
}

// withBase is a rig whose credentials file gives alice and bob quotas.
func withBase(t *testing.T, choose ...func(*setup)) (*rig, *peer) {
	r := newRig(t, choose...)
	r.Quotas.SetBase(map[string]quota.Limits{
		"alice": {kafka.ProducerByteRate: 1000, kafka.ConsumerByteRate: 2000},
		"bob":   {kafka.RequestPercentage: 50},
	})
	return r, r.connect(plainListener)
}

const aliceBase, bobBase = "user=alice consumer_byte_rate=2000 producer_byte_rate=1000", "user=bob request_percentage=50"

func TestUserModelDescribes(t *testing.T) {
	_, c := withBase(t)
	for _, f := range []struct {
		name       string
		components []string
		strict     bool
		want       []string
	}{
		{"exact", []string{"user=alice"}, false, []string{aliceBase}},
		{"exact and strict", []string{"user=alice"}, true, []string{aliceBase}},
		{"exact, case counts", []string{"user=Alice"}, false, []string{}},
		{"exact, empty name", []string{"user="}, false, []string{}},
		{"any", []string{"user:any"}, false, []string{aliceBase, bobBase}},
		{"any and strict", []string{"user:any"}, true, []string{aliceBase, bobBase}},
		{"no component", nil, false, []string{aliceBase, bobBase}},
		{"no component, strict", nil, true, []string{aliceBase, bobBase}},
		{"default user", []string{"user:default"}, false, []string{}},
		{"client", []string{"client-id=alice"}, false, []string{}},
		{"any client", []string{"client-id:any"}, false, []string{}},
		{"default client", []string{"client-id:default"}, false, []string{}},
		{"ip", []string{"ip=1.2.3.4"}, false, []string{}},
		{"user and client", []string{"user=alice", "client-id=c"}, false, []string{}},
		{"user and any client", []string{"user=alice", "client-id:any"}, true, []string{}},
	} {
		t.Run(f.name, func(t *testing.T) {
			resp := describe(c, f.strict, f.components...)
			if resp.ErrorCode != 0 || deref(resp.ErrorMessage) != "" || resp.Entries == nil {
				t.Errorf("got %d %q, entries %v", resp.ErrorCode, deref(resp.ErrorMessage), resp.Entries)
			}
			if diff := cmp.Diff(f.want, described(resp)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMalformedFilters(t *testing.T) {
	_, c := withBase(t)
	for _, f := range []struct {
		name       string
		components []string
		code       kafka.Code
	}{
		{"empty type", []string{"=alice"}, 42},
		{"unknown type", []string{"group=alice"}, 35},
		{"exact without a name", []string{"user:exact"}, 42},
		{"default with a name", []string{"user:default="}, 42},
		{"any with a name", []string{"user:any=alice"}, 42},
		{"a type twice", []string{"user=alice", "user=bob"}, 42},
		{"unknown match type", []string{"user:seven"}, 42},
		{"negative match type", []string{"user:below=alice"}, 42},
		{"the first fault decides", []string{"user=alice", "group=a", "user=bob"}, 35},
	} {
		t.Run(f.name, func(t *testing.T) {
			resp := describe(c, false, f.components...)
			if resp.ErrorCode != f.code || resp.ErrorMessage == nil || *resp.ErrorMessage == "" || resp.Entries != nil {
				t.Errorf("got %d %q, entries %v", resp.ErrorCode, deref(resp.ErrorMessage), resp.Entries)
			}
		})
	}
}

func TestUserModelAlters(t *testing.T) {
	type entries = []message.AlterClientQuotasEntry
	const key = kafka.ProducerByteRate
	for _, a := range []struct {
		name    string
		entries entries
		want    []string
		after   []string
	}{
		{"a named user", entries{entry("user=carol", key, 5.0)}, []string{"user=carol 0"}, []string{aliceBase, bobBase, "user=carol producer_byte_rate=5"}},
		{"other entities", entries{entry("user", key, 5.0), entry("client-id=c", key, 5.0), entry("client-id", key, 5.0), entry("ip=1.2.3.4", key, 5.0),
			entry("user=a client-id=c", key, 5.0), entry("", key, 5.0), entry("group=g", key, 5.0), entry("user=", key, 5.0)},
			[]string{"user=(null) 42", "client-id=c 42", "client-id=(null) 42", "ip=1.2.3.4 42", "user=a client-id=c 42", " 42", "group=g 42", "user= 42"}, []string{aliceBase, bobBase}},
		{"all keys", entries{entry("user=c", key, 5.0, kafka.ConsumerByteRate, 6.0, kafka.RequestPercentage, 12.5)}, []string{"user=c 0"},
			[]string{aliceBase, bobBase, "user=c consumer_byte_rate=6 producer_byte_rate=5 request_percentage=12.5"}},
		{"unknown keys", entries{entry("user=a", "bogus", 1.0), entry("user=b", "-bogus"), entry("user=c", kafka.ControllerMutationRate, 1.0), entry("user=d", kafka.ConnectionCreationRate, 1.0)},
			[]string{"user=a 40", "user=b 40", "user=c 40", "user=d 40"}, []string{aliceBase, bobBase}},
		{"bad values", entries{entry("user=a", key, 0.0), entry("user=b", key, -1.0), entry("user=c", key, 1.5), entry("user=d", key, math.NaN()), entry("user=e", key, math.Inf(1)),
			entry("user=f", key, 1e300), entry("user=g", kafka.RequestPercentage, -0.5), entry("user=h", kafka.RequestPercentage, math.NaN())},
			[]string{"user=a 42", "user=b 42", "user=c 42", "user=d 42", "user=e 42", "user=f 42", "user=g 42", "user=h 42"}, []string{aliceBase, bobBase}},
		{"values at the edge", entries{entry("user=c", key, 1000.0000005), entry("user=d", kafka.RequestPercentage, 250.0)}, []string{"user=c 0", "user=d 0"},
			[]string{aliceBase, bobBase, "user=c producer_byte_rate=1000.0000005", "user=d request_percentage=250"}},
		{"an entry is all or nothing", entries{entry("user=c", key, 5.0, "bogus", 1.0), entry("user=d", key, 5.0)}, []string{"user=c 40", "user=d 0"},
			[]string{aliceBase, bobBase, "user=d producer_byte_rate=5"}},
		{"the entity before the operations", entries{entry("client-id=c", "bogus", 0.0)}, []string{"client-id=c 42"}, []string{aliceBase, bobBase}},
		{"the key before the value", entries{entry("user=c", "bogus", -1.0)}, []string{"user=c 40"}, []string{aliceBase, bobBase}},
		{"merged with the file", entries{entry("user=alice", key, 5.0)}, []string{"user=alice 0"}, []string{"user=alice consumer_byte_rate=2000 producer_byte_rate=5", bobBase}},
		{"one key of the file removed", entries{entry("user=alice", "-"+key)}, []string{"user=alice 0"}, []string{"user=alice consumer_byte_rate=2000", bobBase}},
		{"the last key removed shows the file", entries{entry("user=bob", "-"+kafka.RequestPercentage)}, []string{"user=bob 0"}, []string{aliceBase, bobBase}},
		{"an unset key removed", entries{entry("user=c", "-"+key)}, []string{"user=c 0"}, []string{aliceBase, bobBase}},
		{"an entity twice", entries{entry("user=c", key, 5.0), entry("user=d", key, 5.0), entry("user=c", key, 6.0)}, []string{"user=c 42", "user=d 0"},
			[]string{aliceBase, bobBase, "user=d producer_byte_rate=5"}},
		{"a key twice", entries{entry("user=c", key, 5.0, "-"+key)}, []string{"user=c 42"}, []string{aliceBase, bobBase}},
		{"nothing", nil, nil, []string{aliceBase, bobBase}},
	} {
		t.Run(a.name, func(t *testing.T) {
			_, c := withBase(t)
			before := described(describe(c, false))
			if diff := cmp.Diff(a.want, alter(c, true, a.entries...)); diff != "" {
				t.Error("validate only: ", diff)
			}
			if diff := cmp.Diff(before, described(describe(c, false))); diff != "" {
				t.Error("validate only changed something: ", diff)
			}
			if diff := cmp.Diff(a.want, alter(c, false, a.entries...)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(a.after, described(describe(c, false))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The override stands for the user as a whole until its last key goes; a file
// that changes meanwhile changes nothing.
func TestOverrideOverFile(t *testing.T) {
	r, c := withBase(t)
	alter(c, false, entry("user=alice", kafka.ProducerByteRate, 5.0))
	r.Quotas.SetBase(map[string]quota.Limits{"alice": {kafka.ConsumerByteRate: 7}})
	if diff := cmp.Diff([]string{"user=alice consumer_byte_rate=2000 producer_byte_rate=5"}, described(describe(c, false, "user=alice"))); diff != "" {
		t.Error(diff)
	}
	alter(c, false, entry("user=alice", "-"+kafka.ProducerByteRate, "-"+kafka.ConsumerByteRate))
	if diff := cmp.Diff([]string{"user=alice consumer_byte_rate=7"}, described(describe(c, false, "user=alice"))); diff != "" {
		t.Error(diff)
	}
}

// A changed quota is in force on the bucket of a connection that is already
// there, before the answer.
func TestAlterReachesLiveBuckets(t *testing.T) {
	r := newRig(t)
	c := r.connect(plainListener)
	payer := c.session.(*session).quotaClient("tester")
	if throttle := payer.Charge(quota.Produce, 1<<20, time.Now()); throttle.Muted() {
		t.Fatal("throttled without a quota")
	}
	alter(c, false, entry("user=ANONYMOUS", kafka.ProducerByteRate, 1000.0))
	if throttle := payer.Charge(quota.Produce, 11000, time.Now()); throttle.Millis() < 9000 || throttle.Millis() > 10000 {
		t.Errorf("throttled for %d ms, about 10000 are right", throttle.Millis())
	}
	alter(c, false, entry("user=ANONYMOUS", "-"+kafka.ProducerByteRate))
	if throttle := payer.Charge(quota.Produce, 1<<20, time.Now()); throttle.Muted() {
		t.Error("throttled by a quota that is gone")
	}
}

func TestQuotasNeedPermission(t *testing.T) {
	r := newRig(t, withAuthorizer())
	c := r.connect(plainListener)
	// The filter is malformed: permission is asked for first. No message, null
	// entries.
	resp := describe(c, false, "group=x")
	if resp.ErrorCode != kafka.ClusterAuthorizationFailed || resp.ErrorMessage != nil || resp.Entries != nil {
		t.Errorf("got %+v", resp)
	}
	got := alter(c, false, entry("user=a", "bogus", 1.0), entry("client-id"), entry("user=a", "bogus", 1.0))
	if diff := cmp.Diff([]string{"user=a 31", "client-id=(null) 31", "user=a 31"}, got); diff != "" {
		t.Error(diff)
	}
	if got := alter(c, false); got != nil {
		t.Errorf("got %v", got)
	}
	if n := r.lines.FilterMessage("quota change refused").Len(); n != 2 { // one of the two that are the same
		t.Errorf("%d lines in the audit log, want 2", n)
	}
	half := newRig(t, withAuthorizer("DESCRIBE_CONFIGS CLUSTER:kafka-cluster")).connect(plainListener)
	if resp := describe(half, false); resp.ErrorCode != 0 {
		t.Errorf("got %d", resp.ErrorCode)
	}
	if got := alter(half, false, entry("user=a", kafka.ProducerByteRate, 1.0)); got[0] != "user=a 31" {
		t.Errorf("got %v", got)
	}
}

func TestDescribeUserScramCredentials(t *testing.T) {
	const key64 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
	const key32 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	file := fmt.Sprintf(`{"users":[
		{"username":"sha512","authType":"scram-sha-512","scram":{"salt":"c2FsdA==","storedKey":%q,"serverKey":%q,"iterations":8192}},
		{"username":"sha256","authType":"scram-sha-256","scram":{"salt":"c2FsdA==","storedKey":%q,"serverKey":%q,"iterations":4096}},
		{"username":"plain","authType":"plain","plainPassword":"secret"}]}`, key64, key64, key32, key32)
	ask := func(c *peer, names ...string) []string {
		req := &message.DescribeUserScramCredentialsRequest{}
		for _, name := range names {
			req.Users = append(req.Users, message.DescribeUserScramCredentialsUser{Name: name})
		}
		var resp message.DescribeUserScramCredentialsResponse
		c.get(kafka.KeyDescribeUserScramCredentials, 0, req, &resp)
		lines := []string{fmt.Sprintf("%d %s", resp.ErrorCode, deref(resp.ErrorMessage))}
		for _, r := range resp.Results {
			lines = append(lines, fmt.Sprint(r.User, " ", int16(r.ErrorCode), " ", r.CredentialInfos))
		}
		return lines
	}
	c := newRig(t, func(s *setup) { s.credentials = file }).connect(plainListener)
	for _, d := range []struct {
		name  string
		users []string
		want  []string
	}{
		{"all", nil, []string{"0 ", "sha256 0 [{1 4096}]", "sha512 0 [{2 8192}]"}},
		{"some", []string{"sha512", "nobody", "plain", ""}, []string{"0 ", "sha512 0 [{2 8192}]", "nobody 91 []", "plain 91 []", " 91 []"}},
		{"twice", []string{"sha512", "sha256", "sha512"}, []string{"0 ", "sha512 92 []", "sha256 0 [{1 4096}]"}},
	} {
		t.Run(d.name, func(t *testing.T) {
			if diff := cmp.Diff(d.want, ask(c, d.users...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("not allowed", func(t *testing.T) {
		if diff := cmp.Diff([]string{"31 (null)"}, ask(newRig(t, withAuthorizer()).connect(plainListener), "x")); diff != "" {
			t.Error(diff)
		}
	})
}
