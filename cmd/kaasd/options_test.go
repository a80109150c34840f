package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/auth"
	"kaasd/internal/broker"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests compare with")

// samples are values other than the default, for options whose kind does not
// say one.
var samples = map[string]string{
	"ssl.principal.mapping.rules":    "RULE:CN=(.*)/$1/L",
	"listeners":                      "PLAINTEXT://127.0.0.1:0",
	"advertised.listeners":           "PLAINTEXT://kafka.example:9",
	"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
	"sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256",
	"super.users":                    "User:a;User:b",
	"authorizer.class.name":          "acl",
	"http.listen":                    "127.0.0.1:0",
	"compression.type":               "zstd",
	"log.cleanup.policy":             "delete",
	"log.message.timestamp.type":     "LogAppendTime",
	"fetch.max.bytes":                "2048",
	"memory.limit":                   "64MiB",
	"log.segment.bytes":              "2097152",
}

func sample(o option) string {
	if s, ok := samples[o.key]; ok {
		return s
	}
	switch o.kind {
	case kindChoice:
		return o.choices[len(o.choices)-1]
	case kindBool:
		return map[string]string{"true": "false", "false": "true"}[o.def]
	case kindSize:
		return "8MiB"
	case kindDuration:
		return "77s"
	case kindInt, kindMs:
		return "77"
	}
	return "some-text"
}

// try runs the command with its own environment.
func try(env []string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, env: env}
	root := newRoot(a)
	root.SetArgs(args)
	code = a.report(root.Execute())
	return code, stdout.String(), stderr.String()
}

// shownAs is the line of config show about a key.
func shownAs(t *testing.T, key string, env []string, args ...string) []string {
	t.Helper()
	code, out, errs := try(env, append([]string{"config", "show"}, args...)...)
	if code != exitOK {
		t.Fatalf("config show %q with %q = %d: %s", args, env, code, errs)
	}
	for line := range strings.Lines(out) {
		if cells := strings.Fields(line); cells[0] == key {
			return []string{cells[1], strings.Join(cells[2:], " ")}
		}
	}
	t.Fatalf("config show does not know %s:\n%s", key, out)
	return nil
}

func TestEveryOption(t *testing.T) {
	for _, o := range options() {
		t.Run(o.key, func(t *testing.T) {
			value := sample(o)
			file := filepath.Join(t.TempDir(), "kaasd.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, "# a comment\n%s: %q\n", o.key, value), 0o600); err != nil {
				t.Fatal(err)
			}
			args, env := []string{"--config", file}, []string(nil)
			expect := func(source string) {
				t.Helper()
				if diff := cmp.Diff([]string{value, source}, shownAs(t, o.key, env, args...)); diff != "" {
					t.Errorf("from %s (-want +got):\n%s", source, diff)
				}
			}
			expect("file " + file + ":2")
			for _, name := range o.kafkaVariables() {
				env = []string{name + "=" + value}
				expect("variable " + name)
			}
			env = append(env, o.variable()+"="+value)
			expect("variable " + o.variable())
			args = append(args, "--"+o.flag()+"="+value)
			expect("flag --" + o.flag())
		})
	}
}

func TestEveryOptionChangesTheConfig(t *testing.T) {
	for _, o := range options() {
		t.Run(o.key, func(t *testing.T) {
			if o.key == "log.cleanup.policy" {
				return // one value only, until there are more
			}
			g := &given{table: options(), values: map[string]value{o.key: {sample(o), fromFlag, "--" + o.flag()}}}
			got, err := g.settle()
			if err != nil {
				t.Fatal(err)
			}
			plain, _ := (&given{table: options()}).settle()
			if reflect.DeepEqual(plain, got) {
				t.Errorf("%s=%s changes nothing", o.key, sample(o))
			}
		})
	}
}

// TestListenerOptions: a listener has settings of its own, in the file and as
// variables, whoever names the listener.
func TestListenerOptions(t *testing.T) {
	const key = "listener.name.in_side.max.connection.creation.rate"
	file := filepath.Join(t.TempDir(), "kaasd.yaml")
	if err := os.WriteFile(file, []byte(key+": 20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := []string{"KAFKA_LISTENERS=IN_SIDE://:9092,CONTROLLER://:9093", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=IN_SIDE:PLAINTEXT"}
	for _, tt := range []struct{ name, variable, value, source string }{
		{"file", "", "20", "file " + file + ":1"},
		{"Kafka's variable", "KAFKA_LISTENER_NAME_IN__SIDE_MAX_CONNECTION_CREATION_RATE=30", "30", "variable KAFKA_LISTENER_NAME_IN__SIDE_MAX_CONNECTION_CREATION_RATE"},
		{"own variable", "KAASD_LISTENER_NAME_IN_SIDE_MAX_CONNECTION_CREATION_RATE=40", "40", "variable KAASD_LISTENER_NAME_IN_SIDE_MAX_CONNECTION_CREATION_RATE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := inside
			if tt.variable != "" {
				env = append([]string{tt.variable}, inside...)
			}
			if diff := cmp.Diff([]string{tt.value, tt.source}, shownAs(t, key, env, "--config", file)); diff != "" {
				t.Error(diff)
			}
		})
	}
	code, _, errs := try(nil, "config", "show", "--config", file)
	if want := "kaasd: " + file + ":1: unknown key \"" + key + "\""; code != exitInput || !strings.HasPrefix(errs, want) {
		t.Errorf("a listener that is not there: %d %q, want %q", code, errs, want)
	}
}

// TestDefaults holds the defaults that the table tells to those in force.
func TestDefaults(t *testing.T) {
	g := &given{table: options(), values: map[string]value{}}
	for _, o := range g.table {
		if o.def != "" && !strings.Contains(o.doc, "altered over the Kafka API") && o.kind != "" {
			g.values[o.key] = value{o.def, fromFlag, ""}
		}
	}
	got, err := g.settle()
	if err != nil {
		t.Fatal(err)
	}
	got.Properties = nil
	want := broker.Default()
	want.Properties = nil
	rules := cmp.Comparer(func(a, b *auth.MappingRules) bool { return reflect.DeepEqual(a, b) })
	if diff := cmp.Diff(want, got.Config, rules); diff != "" {
		t.Errorf("defaults of the table (+) and of the broker (-):\n%s", diff)
	}
}

func TestReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "settings.md")
	if *rewrite {
		if err := os.WriteFile(path, []byte(settingsReference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settingsReference(), string(got)); diff != "" {
		t.Errorf("docs/settings.md is not what the table says (go test ./cmd/kaasd -run Reference -rewrite):\n%s", diff)
	}
}

func TestSettingsSyntax(t *testing.T) {
	long := strings.Repeat("a: 1\n", syntaxLines) + "b: ["
	tests := []struct{ name, text, want string }{
		{"first line", "a: b: c\n", "f.yaml:1: mapping values are not allowed in this context"},
		{"later line", "x: 1\na: b: c\n", "f.yaml:2: mapping values are not allowed in this context"},
		{"list without end", "x: 1\nlisteners: [a\nb: 2\n", "f.yaml:2: did not find expected ',' or ']'"},
		{"behind a list of several lines", "x: [a,\n  b]\ny: @z\n", "f.yaml:3: found character that cannot start any token"},
		{"text without end", "x: 1\ny: \"abc\nz: 1\n", "f.yaml:2: found unexpected end of stream"},
		{"no key", "x: 1\n- a\n", "f.yaml:2: did not find expected key"},
		{"control character", "x: 1\ny: \x01\n", "f.yaml:2: control characters are not allowed"},
		{"no UTF-8", "x: \xff\n", "f.yaml:1: invalid leading UTF-8 octet"},
		{"no map", "x\n", `f.yaml:1: lines of "key: value" are expected`},
		{"very long", long, "f.yaml: did not find expected node content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := readSettings("f.yaml", []byte(tt.text)); err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

// TestInit holds that the printed file is read back, commented out or not.
func TestInit(t *testing.T) {
	_, text, _ := try(nil, "config", "init")
	open := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAllString(text, "$1")
	for content, want := range map[string]int{text: 0, open: len(options())} {
		pairs, err := readSettings("kaasd.yaml", []byte(content))
		if err != nil || len(pairs) != want {
			t.Fatalf("%d keys are read back (%v), want %d", len(pairs), err, want)
		}
		for i, p := range pairs {
			if o := options()[i]; o.key != p.key || !slices.Equal(p.words, []string{o.def}) || p.list {
				t.Errorf("%s: %q is read back as %s: %q", o.key, o.def, p.key, p.words)
			}
		}
	}
}

func TestStrangers(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		code int
		want string
	}{
		{"own", []string{"KAASD_QUOTA_MODLE=user"}, exitUsage, "kaasd: unknown variable KAASD_QUOTA_MODLE (did you mean KAASD_QUOTA_MODEL?)\n"},
		{"own, like nothing", []string{"KAASD_XYZ=1"}, exitUsage, "kaasd: unknown variable KAASD_XYZ (kaasd config env lists them)\n"},
		{"Kafka's", []string{"KAFKA_PROCESS_ROLES=broker", "KAFKA_HEAP_OPTS=-Xmx1g"}, exitOK, "ignored: KAFKA_HEAP_OPTS, KAFKA_PROCESS_ROLES\n"},
		{"of a Kubernetes service", []string{"KAASD_SERVICE_HOST=10.0.0.1", "KAASD_SERVICE_PORT_KAFKA=9092", "KAASD_PORT=tcp://10.0.0.1:9092", "KAASD_PORT_9092_TCP_ADDR=10.0.0.1"}, exitOK, ""},
		{"of another program", []string{"HOME=/", "kaasd_x=1"}, exitOK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, errs := try(tt.env, "config", "show")
			if code != tt.code || errs != tt.want {
				t.Errorf("= %d %q, want %d %q", code, errs, tt.code, tt.want)
			}
		})
	}
}

func TestBadValues(t *testing.T) {
	tests := []struct{ flag, want string }{
		{"--listeners=PLAINTEXT:9092", `--listeners: "PLAINTEXT:9092" is not NAME://host:port`},
		{"--listeners=PLAINTEXT://:70000", `--listeners: "PLAINTEXT://:70000": "70000" is not a port`},
		{"--listeners=INTERNAL://:9092", "--listeners: INTERNAL://:9092: the name says no protocol (listener.security.protocol.map: INTERNAL:PROTOCOL says one of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL)"},
		{"--listeners=tls://:9092", "--listeners: TLS://:9092: the name says no protocol (listener.security.protocol.map: TLS:SSL says one, or TLS:SASL_SSL with log-ins)"},
		{"--listeners=MY_SSL://:9092", "--listeners: MY_SSL://:9092: the name says no protocol (listener.security.protocol.map: MY_SSL:SSL says one, or MY_SSL:SASL_SSL with log-ins)"},
		{"--listeners=SASL_SSL://:9092", "tls.cert.file: a listener with TLS needs a certificate, and tls.key.file its key"},
		{"--tls-min-version=1.1", `--tls-min-version: "1.1" is not one of 1.2, 1.3`},
		{"--ssl-client-auth=maybe", `--ssl-client-auth: "maybe" is not one of none, requested, required`},
		{"--listeners=CONTROLLER://:9093", "listeners: at least one is needed"},
		{"--listeners=PLAINTEXT://a:1,PLAINTEXT://b:2", "listeners: name PLAINTEXT stands twice"},
		{"--advertised-listeners=PLAINTEXT://:9092", "--advertised-listeners: PLAINTEXT://:9092: clients cannot be told a wildcard (a host name or address is needed)"},
		{"--advertised-listeners=OTHER://a:9092", "--advertised-listeners: OTHER://a:9092: there is no listener of that name (listeners)"},
		{"--listener-security-protocol-map=A:B", `--listener-security-protocol-map: "A:B" is not NAME:PROTOCOL (PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL)`},
		{"--super-users=alice", `--super-users: "alice" is not a principal (User:NAME, with ; between several)`},
		{"--authorizer-class-name=Mine", `--authorizer-class-name: "Mine" is no authorizer of kaasd (acl, or ` + standardAuthorizer + ")"},
		{"--sasl-enabled-mechanisms=GSSAPI", `sasl.enabled.mechanisms: "GSSAPI" is not one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512`},
		{"--quota-model=x", `--quota-model: "x" is not one of user, kafka`},
		{"--quota-window-num=0", "--quota-window-num: 0 is not between 1 and 2147483647"},
		{"--quota-window-size-seconds=1.5", `--quota-window-size-seconds: "1.5" is not a whole number`},
		{"--controller-quota-window-size-seconds=86400", "controller.quota.window.num: 11 windows of 24h0m0s are more than 24h0m0s"},
		{"--max-connection-creation-rate=0", "--max-connection-creation-rate: 0 must be between 1 and 2147483647"},
		{"--log-level=loud", `--log-level: "loud" is not one of debug, info, warn, error`},
		{"--log-flush=never", `--log-flush: "never" is not one of os, interval, always`},
		{"--log-disk-reserve=1XB", `--log-disk-reserve: "1XB" is not a size (such as 1048576, 1MiB or 10MB)`},
		{"--log-disk-reserve=-1", `--log-disk-reserve: "-1" is not a whole number of bytes between 0 and 9223372036854775807`},
		{"--memory-limit=1KiB", `--memory-limit: "1KiB" is below 32 MiB, the least to live in (0 finds out what there is)`},
		{"--max-connections=0", "--max-connections: 0 is not between 1 and 2147483647"},
		{"--http-max-connections=99999999999999999999", "--http-max-connections: 99999999999999999999 is not between 1 and 10000"},
		{"--connections-max-reauth-ms=-99999999999999999999", "--connections-max-reauth-ms: -99999999999999999999 is not between 0 and 9223372036854"},
		{"--max-connections=many", `--max-connections: "many" is not a whole number`},
		{"--shutdown-delay=5", `--shutdown-delay: "5" is not a duration (such as 500ms, 30s or 1h)`},
		{"--shutdown-delay=-5s", `--shutdown-delay: "-5s" is shorter than 0s`},
		{"--http-enable-pprof=yes", `--http-enable-pprof: "yes" is not true or false`},
		{"--data-dir=", "--data-dir: a folder is needed (:memory: keeps everything in memory)"},
		{"--data-dir=/a,/b", `--data-dir: "/a,/b" names 2 folders (kaasd keeps everything in one)`},
		{"--num-partitions=0", "--num-partitions: 0 must be between 1 and 2147483647"},
		{"--log-cleanup-policy=compact", "--log-cleanup-policy: compact: this broker does not compact logs (delete is the only cleanup policy)"},
	}
	for _, tt := range tests {
		t.Run(tt.flag, func(t *testing.T) {
			code, _, errs := try(nil, "config", "validate", tt.flag)
			if want := "kaasd: " + tt.want + "\n"; code != exitUsage || errs != want {
				t.Errorf("= %d %q, want %d %q", code, errs, exitUsage, want)
			}
		})
	}
}

// TestListsInTheFile: a list is for an option that takes several words.
func TestListsInTheFile(t *testing.T) {
	for _, tt := range []struct{ text, key, value, want string }{
		{text: "super.users: ['User:a', 'User:b']", key: "super.users", value: "User:a;User:b"},
		{text: "sasl.enabled.mechanisms: [PLAIN, SCRAM-SHA-256]", key: "sasl.enabled.mechanisms", value: "PLAIN,SCRAM-SHA-256"},
		{text: "listeners:\n- A://:1\n- B://:2\nlistener.security.protocol.map: ['A:PLAINTEXT', 'B:PLAINTEXT']", key: "listeners", value: "A://:1,B://:2"},
		{text: "ssl.principal.mapping.rules: ['RULE:a/b/', DEFAULT]", key: "ssl.principal.mapping.rules", value: "RULE:a/b/,DEFAULT"},
		{text: "num.partitions: [3]", want: "num.partitions holds a list, and takes one value (whole number)"},
		{text: "node.id: [3, 4]", want: "node.id holds a list, and takes one value (whole number)"},
		{text: "a: &n [3]\nnode.id: *n", want: "node.id holds a list, and takes one value (whole number)"},
		{text: "log.level: [info]", want: "log.level holds a list, and takes one value (choice)"},
		{text: "http.listen: []", want: "http.listen holds a list, and takes one value (text)"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kaasd.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if got := shownAs(t, tt.key, nil, "--config", file)[0]; got != tt.value {
					t.Errorf("%s = %s, want %s", tt.key, got, tt.value)
				}
				return
			}
			if code, _, errs := try(nil, "config", "validate", file); code != exitInput || !strings.Contains(errs, ": "+tt.want+"\n") {
				t.Errorf("= %d %q, want %q", code, errs, tt.want)
			}
		})
	}
}

func TestControllerIsDropped(t *testing.T) {
	g := &given{table: options(), values: map[string]value{
		"listeners":            {"CONTROLLER://:9093,PLAINTEXT://:9092", fromKafkaVariable, "KAFKA_LISTENERS"},
		"advertised.listeners": {"PLAINTEXT://kafka:9092,CONTROLLER://kafka:9093", fromKafkaVariable, "KAFKA_ADVERTISED_LISTENERS"},
	}}
	s, err := g.settle()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Listeners) != 1 || s.Listeners[0].Host != "kafka" || s.Listeners[0].Address != ":9092" {
		t.Errorf("listeners = %+v", s.Listeners)
	}
	if diff := cmp.Diff([]string{"CONTROLLER://:9093"}, s.dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}
