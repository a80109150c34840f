package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
)

func TestParseSize(t *testing.T) {
	tests := []struct {
		text string
		want float64
		ok   bool
	}{
		{"0", 0, true},
		{"1048576", 1 << 20, true},
		{"1MiB", 1 << 20, true},
		{"1 mib", 1 << 20, true},
		{"1.5KiB", 1536, true},
		{"10MB", 10_000_000, true},
		{"2kB", 2000, true},
		{"512B", 512, true},
		{"-1", -1, true},
		{"", 0, false},
		{"MiB", 0, false},
		{"1Mi", 0, false},
		{"1 MiB/s", 0, false},
		{"NaN", 0, false},
		{"1e400", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := parseSize(tt.text)
			if (err == nil) != tt.ok || tt.ok && got != tt.want {
				t.Errorf("parseSize(%q) = %v, %v", tt.text, got, err)
			}
		})
	}
}

func TestFormatSize(t *testing.T) {
	tests := map[float64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 10 << 20: "10 MiB",
		10_000_000: "10 MB", 1048577: "1048577 B", 1_234_567_890: "1234567890 B", 5 << 40: "5 TiB", 0.5: "0.5 B", 20_000: "20 kB",
	}
	for v, want := range tests {
		if got := formatSize(v); got != want {
			t.Errorf("formatSize(%v) = %q, want %q", v, got, want)
		}
		if back, err := parseSize(want); err != nil || back != v {
			t.Errorf("%q is read back as %v, %v", want, back, err)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	tests := []struct{ word, want string }{
		{"num.partition", " (did you mean num.partitions?)"},
		{"lsiteners", " (did you mean listeners?)"},
		{"nothing.like.it", " (see there)"},
	}
	for _, tt := range tests {
		if got := didYouMean(tt.word, []string{"listeners", "num.partitions"}, "see there"); got != tt.want {
			t.Errorf("didYouMean(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestReadProperties(t *testing.T) {
	path := filepath.Join(t.TempDir(), "client.properties")
	content := "# comment\n! another = one\n\nsecurity.protocol=SASL_PLAINTEXT\n sasl.mechanism : PLAIN\nkey value of words \n" +
		"long=one\\\n   two\nescaped\\ key=a\\=b\\u0041\\t\nempty\nslash=c:\\\\\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readProperties(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "key": "value of words ", "long": "onetwo",
		"escaped key": "a=bA\t", "empty": "", "slash": `c:\`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadPropertiesBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(path, []byte("a=b\nc=\\u12x4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := readProperties(path)
	if want := path + `:2: \u must be followed by four hexadecimal digits`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestJaasLogin(t *testing.T) {
	const class = "org.apache.kafka.common.security.scram.ScramLoginModule required "
	tests := []struct{ name, jaas, user, password, fault string }{
		{"quoted", class + `username="alice" password="s=e;c ret";`, "alice", "s=e;c ret", ""},
		{"bare", class + `username=alice password=secret;`, "alice", "secret", ""},
		{"escaped quote", class + `username="a\"b" password="c\\d";`, `a"b`, `c\d`, ""},
		{"other options", class + `serviceName="kafka" password="p" username="u" tokenauth="true";`, "u", "p", ""},
		{"no password", class + `username="alice";`, "", "", `sasl.jaas.config: username="..." and password="..." are needed`},
		{"empty", "", "", "", `sasl.jaas.config: username="..." and password="..." are needed`},
		{"no name", `="x"`, "", "", "sasl.jaas.config: a name is missing before ="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, password, err := jaasLogin(tt.jaas)
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if user != tt.user || password != tt.password || fault != tt.fault {
				t.Errorf("= %q, %q, %q", user, password, fault)
			}
		})
	}
}

func TestEntityText(t *testing.T) {
	name := func(s string) *string { return &s }
	tests := []struct {
		entity      kadm.ClientQuotaEntity
		text, flags string
	}{
		{kadm.ClientQuotaEntity{{Type: "user", Name: name("alice")}}, "user alice", "--user alice"},
		{kadm.ClientQuotaEntity{{Type: "user"}}, "user-default", "--user-default"},
		{kadm.ClientQuotaEntity{{Type: "client-id", Name: name("c 1")}, {Type: "user", Name: name("a")}}, "user a, client-id c 1", "--client-id 'c 1' --user a"},
		{kadm.ClientQuotaEntity{{Type: "client-id"}}, "client-default", "--client-default"},
		{kadm.ClientQuotaEntity{{Type: "ip", Name: name("::1")}}, "ip ::1", "--ip ::1"},
		{kadm.ClientQuotaEntity{{Type: "user", Name: name("a, client-id c")}}, `user "a, client-id c"`, "--user 'a, client-id c'"},
		{kadm.ClientQuotaEntity{{Type: "client-id-prefix", Name: name("p")}, {Type: "user"}}, "user-default, client-id-prefix p", "--client-id-prefix p --user-default"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if got := entityText(tt.entity); got != tt.text {
				t.Errorf("text = %q, want %q", got, tt.text)
			}
			if got := entityFlagsText(tt.entity); got != tt.flags {
				t.Errorf("flags = %q, want %q", got, tt.flags)
			}
		})
	}
}

func TestRoughSize(t *testing.T) {
	tests := map[float64]string{0: "0 B", 900: "900 B", 1 << 20: "1.0 MiB", 1_047_600: "1.0 MiB", 512 << 10: "512 KiB", 214 << 20: "214 MiB", 2.04 * (1 << 20): "2.0 MiB"}
	for v, want := range tests {
		if got := roughSize(v); got != want {
			t.Errorf("roughSize(%v) = %q, want %q", v, got, want)
		}
	}
}
