package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
)

// told is one line for each value: where, whose, which, how much.
func told(all []statedQuota) string {
	var b strings.Builder
	for _, q := range all {
		fmt.Fprintf(&b, "%s %s: %s=%v\n", q.where, entityText(q.entity), q.key, q.value)
	}
	return b.String()
}

// TestReadQuotaFile reads what four tools print. The lines of kafka-configs.sh
// were recorded from Apache Kafka 4.4.0.
func TestReadQuotaFile(t *testing.T) {
	for _, name := range []string{"kaasd.json", "rpk.json", "kcl.json", "kafka-configs.txt"} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", "quotas", name))
			if err != nil {
				t.Fatal(err)
			}
			stated, err := readQuotaFile(name, raw)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "quotas", name+".read")
			if *rewrite {
				if err := os.WriteFile(golden, []byte(told(stated)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), told(stated)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadQuotaFileBad(t *testing.T) {
	const alice = `{"quotas":[{"entity":[{"type":"user","name":"alice"}],"values":`
	tests := []struct{ name, text, fault string }{
		{"empty", " \n", "f: is empty"},
		{"another document", `{"users":[]}`, `f:1: no list of "quotas" (is it what kaasd quota export, rpk or kcl has printed?)`},
		{"quotas are no list", `{"quotas":{}}`, `f:1: "quotas" is no list`},
		{"cut off in the list", `{"quotas":[`, "f:1: the document is cut off"},
		{"cut off in an element", "{\"quotas\":[\n{\"entity\":", "f:2: the document is cut off"},
		{"not JSON", "{\"quotas\":\n[x]}", "f:2: invalid character 'x' looking for beginning of value"},
		{"text behind it", `{"quotas":[]} {}`, "f:1: more text stands behind the document"},
		{"no values", `{"quotas":[{"entity":[{"type":"user","name":"alice"}]}]}`, `f:1: "values" are missing`},
		{"no entity", `{"quotas":[{"values":{"producer_byte_rate":1}}]}`, `f:1: "entity" is no list of types and names`},
		{"nobody", `{"quotas":[{"entity":[],"values":{}}]}`, "f:1: the entity is missing"},
		{"a name is left out", `{"quotas":[{"entity":[{"type":"user"}],"values":{}}]}`, `f:1: the name of type "user" is missing or no text`},
		{"an empty name", `{"quotas":[{"entity":[{"type":"user","name":""}],"values":{}}]}`, "f:1: the name of the user is empty"},
		{"a type twice", `{"quotas":[{"entity":[{"type":"user","name":"a"},{"type":"user","name":null}],"values":{}}]}`, "f:1: entity type user stands twice"},
		{"a text for a value", alice + `{"producer_byte_rate":"1"}}]}`, "f:1: user alice: a value is no number"},
		{"null for a value", alice + `{"producer_byte_rate":null}}]}`, "f:1: user alice: producer_byte_rate is null"},
		{"zero", alice + `{"producer_byte_rate":0}}]}`, "f:1: user alice: producer_byte_rate=0 is not a quota: it must be a number above zero"},
		{"a number in rpk's shape", alice + `[{"key":"k","values":1}]}]}`, `f:1: user alice: a value is not a "key" with its "values" as texts`},
		{"words in rpk's shape", alice + `[{"key":"k","values":"fast"}]}]}`, `f:1: user alice: k: "fast" is not a number`},
		{"kcl without braces", `{"quotas":[{"entity":"user=a","key":"k","value":1}]}`, `f:1: entity "user=a" is not {type=name}`},
		{"kcl without a type", `{"quotas":[{"entity":"{alice}","key":"k","value":1}]}`, `f:1: entity "{alice}" is not {type=name}`},
		{"kcl without a value", `{"quotas":[{"entity":"{user=a}","key":"k"}]}`, `f:1: {user=a}: "key" or "value" is missing`},
		{"another text", "\nhello\n", `f:2: "hello" is no line of kafka-configs.sh --describe, and no JSON`},
		{"an unknown part", "Quota configs for group 'g' are a=1", `f:1: "group 'g'" is no entity of kafka-configs.sh`},
		{"no value", "Quota configs for ip '::1' are connection_creation_rate", `f:1: ip ::1: "connection_creation_rate" is not key=value`},
		{"infinite", "Quota configs for ip '::1' are connection_creation_rate=Infinity", "f:1: ip ::1: connection_creation_rate=+Inf is not a quota: it must be a number above zero"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readQuotaFile("f", []byte(tt.text))
			a := &app{err: new(strings.Builder)}
			if code := a.report(err); code != exitInput {
				t.Errorf("exit %d, want %d", code, exitInput)
			}
			if err == nil || err.Error() != tt.fault {
				t.Errorf("fault = %v\nwant    %s", err, tt.fault)
			}
		})
	}
}

func FuzzQuotaFile(f *testing.F) {
	for _, name := range []string{"kaasd.json", "rpk.json", "kcl.json", "kafka-configs.txt"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "quotas", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		stated, err := readQuotaFile("f", raw)
		if err != nil {
			return
		}
		// What was read and is known can be written and read again.
		quotas, _, err := gather(stated)
		if err != nil {
			return
		}
		var out strings.Builder
		if err := (&app{out: &out}).export(quotas); err != nil {
			return // a name that is not UTF-8
		}
		again, err := readQuotaFile("f", []byte(out.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		back, unknown, err := gather(again)
		if err != nil || len(unknown) > 0 || len(quotaChanges(back, quotas, true)) > 0 {
			t.Errorf("%v %v\n%v\n%v", err, unknown, quotas, back)
		}
	})
}

func TestGather(t *testing.T) {
	name := func(s string) *string { return &s }
	alice := kadm.ClientQuotaEntity{{Type: "user", Name: name("alice")}}
	pair := kadm.ClientQuotaEntity{{Type: "user", Name: name("alice")}, {Type: "client-id"}}
	riap := kadm.ClientQuotaEntity{{Type: "client-id"}, {Type: "user", Name: name("alice")}}
	prefix := kadm.ClientQuotaEntity{{Type: "client-id-prefix", Name: name("app.")}}
	quotas, unknown, err := gather([]statedQuota{
		{"f:1", pair, "producer_byte_rate", 2},
		{"f:2", alice, "producer_byte_rate", 1},
		{"f:3", alice, "follower_rate", 1},
		{"f:4", prefix, "producer_byte_rate", 1},
		{"f:5", riap, "consumer_byte_rate", 3},
		{"f:6", alice, "producer_byte_rate", 1},
		{"f:7", riap, "producer_byte_rate", 1 << 20},
	})
	if got, want := fmt.Sprint(err), "f:7: user alice, client-default: producer_byte_rate is 1 MiB/s here and 2 B/s before"; got != want {
		t.Errorf("error = %s, want %s", got, want)
	}
	want := "[{[{user alice}] [{producer_byte_rate 1}]} {[{user alice} {client-id default}] [{producer_byte_rate 2} {consumer_byte_rate 3}]}]"
	if got := quotaWords(quotas); got != want {
		t.Errorf("quotas = %s\nwant     %s", got, want)
	}
	if diff := cmp.Diff([]string{"f:3: quota key follower_rate (user alice)", "f:4: entity type client-id-prefix (client-id-prefix app.)"}, unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func quotaWords(quotas kadm.DescribedClientQuotas) string {
	var all []string
	for _, q := range quotas {
		var parts, values []string
		for _, c := range q.Entity {
			word := "default"
			if c.Name != nil {
				word = *c.Name
			}
			parts = append(parts, "{"+c.Type+" "+word+"}")
		}
		for _, v := range q.Values {
			values = append(values, fmt.Sprintf("{%s %v}", v.Key, v.Value))
		}
		all = append(all, "{["+strings.Join(parts, " ")+"] ["+strings.Join(values, " ")+"]}")
	}
	return "[" + strings.Join(all, " ") + "]"
}

func TestQuotaChanges(t *testing.T) {
	quotas := func(words ...string) kadm.DescribedClientQuotas {
		var all kadm.DescribedClientQuotas
		for _, word := range words {
			user, value, _ := strings.Cut(word, ":")
			q := kadm.DescribedClientQuota{Entity: kadm.ClientQuotaEntity{{Type: "user", Name: &user}}}
			for pair := range strings.SplitSeq(value, " ") {
				var v kadm.ClientQuotaValue
				key, number, _ := strings.Cut(pair, "=")
				v.Key = key
				fmt.Sscan(number, &v.Value)
				q.Values = append(q.Values, v)
			}
			all = append(all, q)
		}
		return all
	}
	words := func(changes []alteration) string {
		var all []string
		for _, c := range changes {
			text := entityText(c.entity)
			for _, ch := range c.changes() {
				text += fmt.Sprintf(" %s %s->%s", ch.Key, quotaOrNone("", ch.Old), quotaOrNone("", ch.New))
			}
			all = append(all, text)
		}
		return strings.Join(all, "; ")
	}
	hold := quotas("bob:producer_byte_rate=1 request_percentage=2", "carol:producer_byte_rate=5")
	tests := []struct {
		name    string
		wanted  kadm.DescribedClientQuotas
		replace bool
		want    string
	}{
		{"nothing", nil, false, ""},
		{"the same", hold, true, ""},
		{"merge", quotas("alice:producer_byte_rate=7", "bob:producer_byte_rate=3"), false,
			"user alice producer_byte_rate none->7; user bob producer_byte_rate 1->3"},
		{"replace", quotas("bob:consumer_byte_rate=9 producer_byte_rate=1"), true,
			"user bob consumer_byte_rate none->9 request_percentage 2->none; user carol producer_byte_rate 5->none"},
		{"replace by nothing", nil, true,
			"user bob producer_byte_rate 1->none request_percentage 2->none; user carol producer_byte_rate 5->none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := words(quotaChanges(hold, tt.wanted, tt.replace)); got != tt.want {
				t.Errorf("changes = %s\nwant      %s", got, tt.want)
			}
		})
	}
}
