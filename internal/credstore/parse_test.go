package credstore

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"kaasd/internal/kafka"
)

// keyed is a scram object with keys of n bytes.
func keyed(n int) string {
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n))
	return fmt.Sprintf(`{"salt":"c2FsdA==","storedKey":%q,"serverKey":%q,"iterations":8192}`, key, key)
}

// user is a file with one user a of type plain and more fields.
func user(fields string) string {
	return `{"users":[{"username":"a","authType":"plain","plainPassword":"pw"` + fields + `}]}`
}

// files is the table of what is good and bad. want is the first error, or ""
// for a good file; beyond says that a schema cannot say it.
var files = []struct {
	name, text, want string
	beyond           bool
}{
	{name: "no users", text: `{"users":[]}`},
	{name: "byte order mark", text: "\xef\xbb\xbf" + `{"users":[]}`, beyond: true},
	{name: "space around", text: " \r\n{\"users\":[]}\n\n"},
	{name: "version 0", text: `{"version":0,"users":[]}`},
	{name: "version 1", text: `{"version":1,"users":[]}`},
	{name: "version 2", text: `{"version":2,"users":[]}`},
	{name: "version 1.0", text: `{"version":1.0,"users":[]}`},
	{name: "version -1", text: `{"version":-1,"users":[]}`, want: `line 1: version must not be below 0: it is -1`},
	{name: "version 1.5", text: `{"version":1.5,"users":[]}`, want: `line 1: version must be a whole number, not 1.5`},
	{name: "version null", text: `{"version":null,"users":[]}`, want: `line 1: version must be a whole number, not null`},
	{name: "version text", text: `{"version":"1","users":[]}`, want: `line 1: version must be a whole number, not a string`},
	{name: "empty object", text: `{}`, want: `line 1: users is missing`},
	{name: "empty file", text: ``, want: `line 1: the file is empty`, beyond: true},
	{name: "only space", text: ` `, want: `line 1: the file is not JSON: unexpected end of JSON input`, beyond: true},
	{name: "array", text: `[]`, want: `line 1: the document must be an object, not an array`},
	{name: "null", text: `null`, want: `line 1: the document must be an object, not null`},
	{name: "users null", text: `{"users":null}`, want: `line 1: users must be an array, not null`},
	{name: "users object", text: `{"users":{"a":1}}`, want: `line 1: users must be an array, not an object`},
	{name: "cut", text: "{\n\"users\":[", want: `line 2: the file is not JSON: unexpected end of JSON input`, beyond: true},
	{name: "syntax", text: "{\n\"users\":\n[,]}", want: `line 3: the file is not JSON: invalid character ',' looking for beginning of value`, beyond: true},
	{name: "trailing bytes", text: "{\"users\":[]}\nx", want: `line 2: the file is not JSON: invalid character 'x' after top-level value`, beyond: true},
	{name: "two documents", text: `{"users":[]}{"users":[]}`, want: `line 1: the file is not JSON: invalid character '{' after top-level value`, beyond: true},
	{name: "not UTF-8", text: "{\"users\":[],\n\"x\":\"\xff\"}", want: `line 2: the file is not UTF-8`, beyond: true},
	{name: "users twice", text: `{"users":[],"users":[]}`, want: `line 1: the document has the key "users" twice`, beyond: true},
	{name: "key twice in an entry", text: user(`,"authType":"plain"`), want: `line 1: users[0] "a": has the key "authType" twice`, beyond: true},
	{name: "key twice in an unknown field", text: user(`,"x":{"y":[{"z":1,"z":2}]}`), want: `line 1: users[0] "a": x has the key "z" twice`, beyond: true},
	{name: "key twice by escape", text: `{"users":[],"\u0075sers":[]}`, want: `line 1: the document has the key "users" twice`, beyond: true},

	{name: "plain", text: user(``)},
	{name: "unknown field", text: user(`,"x":{"y":[1,2,{"z":null}]}`)},
	{name: "entry not an object", text: `{"users":[1]}`, want: `line 1: users[0]: must be an object, not a number`},
	{name: "entry null", text: `{"users":[null]}`, want: `line 1: users[0]: must be an object, not null`},
	{name: "username missing", text: "{\"users\":[\n{\"authType\":\"tls\"}]}", want: `line 2: users[0]: username is missing`},
	{name: "username empty", text: `{"users":[{"username":"","authType":"tls"}]}`, want: `line 1: users[0]: username is empty`},
	{name: "username null", text: `{"users":[{"username":null,"authType":"tls"}]}`, want: `line 1: users[0]: username must be a string, not null`},
	{name: "username in capitals", text: `{"users":[{"Username":"a","authType":"tls"}]}`, want: `line 1: users[0]: username is missing`},
	{name: "authType missing", text: `{"users":[{"username":"a"}]}`, want: `line 1: users[0] "a": authType is missing`},
	{name: "authType number", text: `{"users":[{"username":"a","authType":1}]}`, want: `line 1: users[0] "a": authType must be a string, not a number`},
	{name: "authType unknown", text: `{"users":[{"username":"a","authType":"oauth"}]}`},
	{name: "odd names", text: `{"users":[{"username":"CN=app,O=x","authType":"tls"},{"username":" ","authType":"tls"},{"username":"a/b*\u0000","authType":"tls"}]}`},
	{name: "password number", text: `{"users":[{"username":"a","authType":"plain","plainPassword":12345}]}`, want: `line 1: users[0] "a": plainPassword must be a string, not a number`},
	{name: "password null", text: `{"users":[{"username":"a","authType":"plain","plainPassword":null}]}`},
	{name: "tlsCN null", text: `{"users":[{"username":"a","authType":"tls","tlsCN":null}]}`},
	{name: "tlsCN list", text: user(`,"tlsCN":["a"]`), want: `line 1: users[0] "a": tlsCN must be a string, not an array`},

	{name: "scram", text: user(`,"scram":` + keyed(64))},
	{name: "scram of another length", text: user(`,"scram":` + keyed(32))},
	{name: "scram null", text: user(`,"scram":null`)},
	{name: "scram text", text: user(`,"scram":"x"`), want: `line 1: users[0] "a": scram must be an object, not a string`},
	{name: "scram empty", text: user(`,"scram":{}`), want: `line 1: users[0] "a": scram.salt is missing`},
	{name: "scram without a key", text: user(`,"scram":{"salt":"","storedKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.serverKey is missing`},
	{name: "scram of nothing", text: user(`,"scram":{"salt":"","storedKey":"","serverKey":"","iterations":1}`)},
	{name: "salt null", text: user(`,"scram":{"salt":null,"storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt must be a string, not null`},
	{name: "salt not base64", text: user(`,"scram":{"salt":"ab!d","storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt is not base64 (character 3 is '!')`},
	{name: "salt without padding", text: user(`,"scram":{"salt":"YQ","storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt is not base64 (the padding is wrong)`},
	{name: "salt all padding", text: user(`,"scram":{"salt":"====","storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt is not base64 (the padding is wrong)`},
	{name: "salt padded amid", text: user(`,"scram":{"salt":"YQ==YQ==","storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt is not base64 (character 3 is '=')`},
	{name: "salt with line feed", text: user(`,"scram":{"salt":"YWJj\n","storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt is not base64 (character 5 is '\n')`},
	{name: "salt in URL letters", text: user(`,"scram":{"salt":"a-_d","storedKey":"","serverKey":"","iterations":1}`), want: `line 1: users[0] "a": scram.salt is not base64 (character 2 is '-')`},
	{name: "salt with loose bits", text: user(`,"scram":{"salt":"YR==","storedKey":"","serverKey":"","iterations":1}`)},
	{name: "iterations 0", text: user(`,"scram":{"salt":"","storedKey":"","serverKey":"","iterations":0}`), want: `line 1: users[0] "a": scram.iterations must not be below 1: it is 0`},
	{name: "iterations 2^31", text: user(`,"scram":{"salt":"","storedKey":"","serverKey":"","iterations":2147483648}`), want: `line 1: users[0] "a": scram.iterations must not be above 2147483647: it is 2147483648`},
	{name: "iterations 2^31-1", text: user(`,"scram":{"salt":"","storedKey":"","serverKey":"","iterations":2147483647}`)},
	{name: "iterations null", text: user(`,"scram":{"salt":"","storedKey":"","serverKey":"","iterations":null}`), want: `line 1: users[0] "a": scram.iterations must be a whole number, not null`},

	{name: "service account", text: user(`,"serviceAccount":{"name":"n","namespace":"s"}`)},
	{name: "service account null", text: user(`,"serviceAccount":null`)},
	{name: "service account cut", text: user(`,"serviceAccount":{"name":"n"}`), want: `line 1: users[0] "a": serviceAccount.namespace is missing`},
	{name: "service account name null", text: user(`,"serviceAccount":{"name":null,"namespace":"s"}`), want: `line 1: users[0] "a": serviceAccount.name must be a string, not null`},

	{name: "quotas", text: user(`,"quotas":{"producerMaxByteRatePerBroker":1,"consumerMaxByteRatePerBroker":0,"requestPercentage":250}`)},
	{name: "quotas null", text: user(`,"quotas":null`)},
	{name: "quota null", text: user(`,"quotas":{"producerMaxByteRatePerBroker":null}`)},
	{name: "quota in another notation", text: user(`,"quotas":{"producerMaxByteRatePerBroker":1.5e6}`)},
	{name: "quota -0", text: user(`,"quotas":{"producerMaxByteRatePerBroker":-0}`)},
	{name: "quota negative", text: user(`,"quotas":{"producerMaxByteRatePerBroker":-1}`), want: `line 1: users[0] "a": quotas.producerMaxByteRatePerBroker must not be below 0: it is -1`},
	{name: "quota fraction", text: user(`,"quotas":{"consumerMaxByteRatePerBroker":0.5}`), want: `line 1: users[0] "a": quotas.consumerMaxByteRatePerBroker must be a whole number, not 0.5`},
	{name: "quota tiny", text: user(`,"quotas":{"consumerMaxByteRatePerBroker":1e-400}`), want: `line 1: users[0] "a": quotas.consumerMaxByteRatePerBroker must be a whole number, not 1e-400`},
	{name: "quota 2^63-1", text: user(`,"quotas":{"consumerMaxByteRatePerBroker":9223372036854775807}`)},
	{name: "quota 2^63", text: user(`,"quotas":{"consumerMaxByteRatePerBroker":9223372036854775808}`), want: `line 1: users[0] "a": quotas.consumerMaxByteRatePerBroker must not be above 9223372036854775807: it is 9223372036854775808`},
	{name: "quota huge", text: user(`,"quotas":{"consumerMaxByteRatePerBroker":1e400}`), want: `line 1: users[0] "a": quotas.consumerMaxByteRatePerBroker must not be above 9223372036854775807: it is 1e400`},
	{name: "percentage 2^31", text: user(`,"quotas":{"requestPercentage":2147483648}`), want: `line 1: users[0] "a": quotas.requestPercentage must not be above 2147483647: it is 2147483648`},
	{name: "quota text", text: user(`,"quotas":{"requestPercentage":"5"}`), want: `line 1: users[0] "a": quotas.requestPercentage must be a whole number, not a string`},
	{name: "quotas list", text: user(`,"quotas":[]`), want: `line 1: users[0] "a": quotas must be an object, not an array`},
}

func TestParseTable(t *testing.T) {
	for _, c := range files {
		t.Run(c.name, func(t *testing.T) {
			s, _, err := Parse([]byte(c.text))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if (s != nil) != (err == nil) {
				t.Errorf("snapshot %v and error %v", s, err)
			}
		})
	}
}

// The schema and the loader agree on every file of the table.
func TestSchemaAgrees(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("urn:kaasd:credentials:1", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("urn:kaasd:credentials:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range files {
		if c.beyond {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
			if err == nil {
				err = schema.Validate(value)
			}
			if (err == nil) != (c.want == "") {
				t.Errorf("the schema says %v, the loader %q", err, c.want)
			}
		})
	}
}

const sample = `{
  "version": 1,
  "users": [
    {
      "username": "alice",
      "authType": "scram-sha-512",
      "scram": %s,
      "quotas": {
        "producerMaxByteRatePerBroker": 1048576,
        "consumerMaxByteRatePerBroker": 0,
        "requestPercentage": 25
      }
    },
    { "username": "carol", "authType": "tls", "tlsCN": "carol.example" },
    { "username": "job", "authType": "kubernetes-serviceaccount",
      "serviceAccount": { "name": "job", "namespace": "default" } },
    { "username": "dev", "authType": "scram-sha-256", "plainPassword": "dev" },
    { "username": "old", "authType": "kerberos", "quotas": {"consumerMaxByteRatePerBroker": 7}, "plainPassword": "x" },
    { "username": "short", "authType": "scram-sha-512", "scram": %s }
  ]
}
`

func parseSample(t *testing.T) (*Snapshot, []Finding) {
	t.Helper()
	s, warnings, err := Parse(fmt.Appendf(nil, sample, keyed(64), keyed(32)))
	if err != nil {
		t.Fatal(err)
	}
	return s, warnings
}

func TestParseSample(t *testing.T) {
	s, warnings := parseSample(t)
	type seen struct {
		AuthType, CN string
		Quotas       map[string]float64
		Scram, Plain bool
		Why          string
	}
	got := map[string]seen{}
	for name, u := range s.Users {
		_, why := u.CanLogin()
		got[name] = seen{u.AuthType, u.TLSCN, u.Quotas, u.Scram != nil, u.HasPlainPassword(), why}
	}
	none := map[string]float64{}
	want := map[string]seen{
		"alice": {AuthScramSHA512, "", map[string]float64{kafka.ProducerByteRate: 1048576, kafka.RequestPercentage: 25}, true, false, ""},
		"carol": {AuthTLS, "carol.example", none, false, false, ""},
		"job":   {AuthServiceAccount, "", none, false, false, "there is no log-in through service accounts yet"},
		"dev":   {AuthScramSHA256, "", none, false, true, ""},
		"old":   {"kerberos", "", map[string]float64{kafka.ConsumerByteRate: 7}, false, false, `authType "kerberos" is not known`},
		"short": {AuthScramSHA512, "", none, false, false, "scram.storedKey has 32 bytes, SCRAM-SHA-512 has 64"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.Error())
	}
	if diff := cmp.Diff([]string{
		`line 15: users[2] "job": cannot log in: there is no log-in through service accounts yet`,
		`line 17: users[3] "dev": plainPassword holds a readable password`,
		`line 18: users[4] "old": plainPassword holds a readable password`,
		`line 18: users[4] "old": cannot log in: authType "kerberos" is not known`,
		`line 18: users[4] "old": plainPassword is not used: it needs authType plain or a SCRAM one`,
		`line 19: users[5] "short": cannot log in: scram.storedKey has 32 bytes, SCRAM-SHA-512 has 64`,
	}, lines); diff != "" {
		t.Error(diff)
	}
	if a := s.Users["job"].ServiceAccount; a == nil || *a != (ServiceAccount{"job", "default"}) {
		t.Errorf("service account %v", a)
	}
}

func TestLastEntryWins(t *testing.T) {
	s, warnings, err := Parse([]byte(`{"users":[
{"username":"a","authType":"tls","tlsCN":"x","quotas":{"requestPercentage":1}},
{"username":"b","authType":"tls","tlsCN":"y"},
{"username":"c","authType":"tls","tlsCN":"y"},
{"username":"a","authType":"tls","tlsCN":"z","quotas":{"requestPercentage":2}},
{"username":"d","authType":"tls","tlsCN":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, u := range s.Users {
		got[name] = u.TLSCN
	}
	if diff := cmp.Diff(map[string]string{"a": "z", "b": "", "c": "y", "d": "x"}, got); diff != "" {
		t.Error(diff)
	}
	if got := s.Users["a"].Quotas[kafka.RequestPercentage]; got != 2 {
		t.Errorf("a has %v", got)
	}
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.Error())
	}
	if diff := cmp.Diff([]string{
		`line 3: users[1] "b": cannot log in: tlsCN is missing`,
		`line 4: users[2] "c": tlsCN belonged to user "b" before: this later entry wins`,
		`line 5: users[3] "a": username was there before: this later entry wins`,
	}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestCheckTellsAllAtOnce(t *testing.T) {
	var lines []string
	for _, f := range Check([]byte(`{
 "version": "x", "extra": 1,
 "users": [
  {"authType": 5,
   "scram": {"salt": "a!", "iterations": 0, "more": true},
   "username": "bob"},
  {"authType": "tls", "tlsCN": "c", "hint": {}},
  7
 ]
}`)) {
		lines = append(lines, f.Error())
	}
	if diff := cmp.Diff([]string{
		`line 2: version must be a whole number, not a string`,
		`line 2: field "extra" is not known and ignored`,
		`line 4: users[0] "bob": authType must be a string, not a number`,
		`line 5: users[0] "bob": scram.salt is not base64 (character 2 is '!')`,
		`line 5: users[0] "bob": scram.iterations must not be below 1: it is 0`,
		`line 5: users[0] "bob": field "scram.more" is not known and ignored`,
		`line 5: users[0] "bob": scram.storedKey is missing`,
		`line 5: users[0] "bob": scram.serverKey is missing`,
		`line 7: users[1]: field "hint" is not known and ignored`,
		`line 7: users[1]: username is missing`,
		`line 8: users[2]: must be an object, not a number`,
	}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestTooLargeFile(t *testing.T) {
	data := bytes.Repeat([]byte{' '}, MaxSize+1)
	copy(data, `{"users":[]}`)
	if _, _, err := Parse(data); err == nil || err.Error() != "line 1: more than 67108864 bytes" {
		t.Errorf("got %v", err)
	}
	if _, _, err := Parse(data[:MaxSize]); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// TestReadTooLargeFile: it is told as Parse tells it, without being read to its end.
func TestReadTooLargeFile(t *testing.T) {
	path := file(t)
	write(t, path, "")
	if err := os.Truncate(path, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || err.Error() != path+": more than 67108864 bytes" {
		t.Errorf("got %v", err)
	}
}

func TestParseErrorIsAFinding(t *testing.T) {
	_, _, err := Parse([]byte("{\"users\":[\n{\"username\":\"bob\",\"authType\":\"tls\",\"tlsCN\":1}]}"))
	var f Finding
	if !errors.As(err, &f) {
		t.Fatalf("got %T", err)
	}
	if diff := cmp.Diff(Finding{Kind: Bad, Line: 2, Index: 0, Name: "bob", Field: "tlsCN", Text: "must be a string, not a number"}, f); diff != "" {
		t.Error(diff)
	}
}

func TestParseWhole(t *testing.T) {
	for text, want := range map[string]struct {
		n   int64
		fit fit
	}{
		"0": {0, fits}, "-0": {0, fits}, "0.000": {0, fits}, "0e99999999999999999999": {0, fits},
		"1.0": {1, fits}, "1E3": {1000, fits}, "1.5e+1": {15, fits}, "100e-2": {1, fits}, "0.001e3": {1, fits},
		"1e-1": {0, notWhole}, "1.5": {0, notWhole}, "15e-99999999999999999999": {0, notWhole},
		"9223372036854775807": {9223372036854775807, fits}, "9223372036854775808": {0, tooLarge}, "-7": {-7, fits},
		"1e99999999999999999999": {0, tooLarge}, "-1e30": {0, tooSmall}, "1e999999999": {0, tooLarge}, "1e19": {0, tooLarge}, "1e18": {1e18, fits},
	} {
		if n, f := parseWhole(text); n != want.n || f != want.fit {
			t.Errorf("%s: got %d %d, want %d %d", text, n, f, want.n, want.fit)
		}
	}
}

func TestSecretsOfASnapshot(t *testing.T) {
	s, _ := parseSample(t)
	if c, ok := s.Scram("alice", kafka.ScramSHA512); !ok || c.Iterations != 8192 || len(c.StoredKey) != 64 || c.Mechanism != kafka.ScramSHA512 {
		t.Errorf("alice: %v %v", c, ok)
	}
	for _, c := range []struct {
		user string
		m    kafka.ScramMechanism
	}{{"alice", kafka.ScramSHA256}, {"dev", kafka.ScramSHA256}, {"short", kafka.ScramSHA512}, {"nobody", kafka.ScramSHA512}, {"job", kafka.ScramUnknown}} {
		if _, ok := s.Scram(c.user, c.m); ok {
			t.Errorf("%s has keys for %s", c.user, c.m)
		}
	}
	check, ok := s.Plain("dev")
	if !ok || !check("dev") || check("de") || check("devs") || check("") {
		t.Errorf("dev: %v", ok)
	}
	for _, user := range []string{"alice", "old", "job", "nobody"} {
		if _, ok := s.Plain(user); ok {
			t.Errorf("%s has a password", user)
		}
	}
}

func TestExpelled(t *testing.T) {
	of := func(text string) *Snapshot {
		s, _, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := of(`{"users":[{"username":"gone","authType":"tls"},{"username":"other","authType":"tls"},{"username":"same","authType":"scram-sha-512","scram":` + keyed(64) + `}]}`)
	next := of(`{"users":[{"username":"new","authType":"tls"},{"username":"other","authType":"plain"},{"username":"same","authType":"scram-sha-512"}]}`)
	if diff := cmp.Diff([]string{"gone", "other"}, Expelled(old, next)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range files {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := Parse(data)
		if (s == nil) != (err != nil) {
			t.Fatalf("snapshot %v and error %v", s, err)
		}
		for _, finding := range Check(data) {
			if finding.Line < 1 || finding.Line > 1+bytes.Count(data, []byte{'\n'}) {
				t.Fatalf("line %d of %q", finding.Line, data)
			}
		}
	})
}

// A reload is one Parse; what it must stay far below is the 200 ms of quiet.
func BenchmarkParse1000Users(b *testing.B) {
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf(`{"username":"user-%d","authType":"scram-sha-512","scram":%s,"quotas":{"producerMaxByteRatePerBroker":%d}}`, i, keyed(64), i))
	}
	data := []byte(`{"users":[` + strings.Join(entries, ",\n") + `]}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
