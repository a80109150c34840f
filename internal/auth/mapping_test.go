package auth

import (
	"crypto/x509"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"kaasd/internal/kafka"
)

// vectors is the lines of a file of testdata that PrincipalVectors.java made.
func vectors(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// java reads a text that the Java program quoted: letters are UTF-16, so that
// pairs of surrogates stand for one.
func java(t testing.TB, quoted string) string {
	t.Helper()
	var units []uint16
	for s := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`); s != ""; {
		switch {
		case strings.HasPrefix(s, `\u`):
			n, err := strconv.ParseUint(s[2:6], 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			units, s = append(units, uint16(n)), s[6:]
		case s[0] == '\\':
			units, s = append(units, uint16(s[1])), s[2:]
		default:
			units, s = append(units, uint16(s[0])), s[1:]
		}
	}
	return string(utf16.Decode(units))
}

// Names are written as Java writes them; only where Java writes U+FFFD, having
// lost what was there, there is no name.
func TestDistinguishedNamesAreJavas(t *testing.T) {
	lines, refused := vectors(t, "names.txt"), 0
	for _, line := range lines {
		in, answer, _ := strings.Cut(line, "\t")
		der, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := distinguishedName(der)
		if want := java(t, answer); strings.Contains(want, "\ufffd") {
			if refused++; err == nil {
				t.Errorf("%s: got %q, want none (Java: %q)", in, got, want)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", in, got, err, want)
		}
	}
	if len(lines) < 200 || refused == len(lines) {
		t.Errorf("%d vectors, %d of them refused", len(lines), refused)
	}
}

// Rules turn names as Kafka's own do. What Kafka finds out at each client, or
// takes for text by mistake, is refused at once.
func TestRulesAreKafkas(t *testing.T) {
	mistakes := map[string]bool{"broken": true, `"$2"`: true}
	var rules *MappingRules
	var text string
	var refusal error
	for _, line := range vectors(t, "rules.txt") {
		if quoted, ok := strings.CutPrefix(line, "rules "); ok {
			text = java(t, quoted)
			rules, refusal = ParseMappingRules(text)
			continue
		}
		if strings.TrimSpace(line) == "refused" {
			if refusal == nil && text != "RULE://x/" {
				t.Errorf("%s: read, and Kafka refuses it", text)
			}
			continue
		}
		quoted, answer, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		if mistakes[answer] {
			if refusal == nil {
				t.Errorf("%s: read, and Kafka cannot use it", text)
			}
			continue
		}
		if refusal != nil {
			t.Errorf("%s: %v", text, refusal)
			continue
		}
		got, ok := rules.apply(java(t, quoted))
		if want := java(t, answer); ok != (answer != "none") || ok && got != want {
			t.Errorf("%s of %s: got %q, %v, want %s", text, quoted, got, ok, answer)
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{"", "there is no rule"},
		{" , ,", "there is no rule"},
		{"RULE:^CN=(.*)$/$1/,RULE:^CN=(.*)$/$1/l", `"RULE:^CN=(.*)$/$1/l" is not a rule`},
		{"DEFAULT,RULE:(?=a)/x/", `rule "RULE:(?=a)/x/"`},
		{`RULE:(a)\1/x/`, `\1 is not known here`},
		{`RULE:\v/x/`, `\v is not known here`},
		{"RULE:a++/x/", "repetition"},
		{"RULE:[a-z&&[^b]]/x/", "class inside of a class"},
		{"RULE:[[:alpha:]]/x/", "class inside of a class"},
		{"RULE:a{,3}/x/", "repetition such as {2,3}"},
		{"RULE:(?U)a/x/", "flag U"},
		{`RULE:\p{Alnum}/x/`, "p{Alnum}"},
		{`RULE:a\Z/x/`, `\Z`},
		{"RULE:(a)/$2/", "$2 names a group, of which the pattern has 1"},
		{"RULE:(a)/$/", "number of a group"},
		{"RULE:(?<a>a)/${b}/", `called "b"`},
		{"RULE:(?<a>a)/${a/", `called "a"`},
	} {
		if _, err := ParseMappingRules(c.rules); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.rules, err, c.want)
		}
	}
}

// What looks like trouble and is none.
func TestRulesThatAreTaken(t *testing.T) {
	for _, c := range []struct{ rules, subject, want string }{
		{`RULE:\Q[&&\E(.*)/$1/`, "[&&a", "a"},
		{`RULE:[]\[]+(a{2,})/$1/`, "][aa", "aa"},
		{`RULE:[^]]\{(.)\}/$1/`, "a{b}", "b"},
		{`RULE:[{](.)/$1/`, "{b", "b"},
	} {
		rules, err := ParseMappingRules(c.rules)
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		if got, ok := rules.apply(c.subject); !ok || got != c.want {
			t.Errorf("%s of %q: got %q, %v, want %q", c.rules, c.subject, got, ok, c.want)
		}
	}
}

// A name that nobody has is no principal.
func TestPrincipal(t *testing.T) {
	named := func(der string) *x509.Certificate {
		raw, err := hex.DecodeString(der)
		if err != nil {
			t.Fatal(err)
		}
		return &x509.Certificate{RawSubject: raw}
	}
	alice := named("3010310e300c06035504030c05616c696365")
	parse := func(rules string) *MappingRules {
		m, err := ParseMappingRules(rules)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		name  string
		rules *MappingRules
		cert  *x509.Certificate
		want  string
		err   string
	}{
		{"as it is", DefaultMapping(), alice, "CN=alice", ""},
		{"a rule", parse("RULE:CN=(.*)/$1/U"), alice, "ALICE", ""},
		{"no rule", parse("RULE:CN=bob/bob/"), alice, "", `matches the certificate's subject "CN=alice"`},
		{"nothing is left", parse("RULE:.*//"), alice, "", "is empty"},
		{"no subject", DefaultMapping(), named("3000"), "", "is empty"},
		{"too long", parse("RULE:CN=alice/" + strings.Repeat("a", kafka.MaxName+1) + "/"), alice, "", "has 4097 bytes"},
		{"as long as may be", parse("RULE:CN=alice/" + strings.Repeat("a", kafka.MaxName) + "/"), alice, strings.Repeat("a", kafka.MaxName), ""},
		{"not DER", DefaultMapping(), named("31"), "", "distinguished name"},
		{"more than a name", DefaultMapping(), named("300000"), "", "after its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.rules.Principal(c.cert)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// Whatever the certificate and the rule, there is an answer.
func FuzzDistinguishedName(f *testing.F) {
	for _, line := range vectors(f, "names.txt") {
		in, _, _ := strings.Cut(line, "\t")
		der, err := hex.DecodeString(in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(der)
	}
	rules, err := ParseMappingRules("RULE:(?:^a|b|x*|$)*/<$0>/L,DEFAULT")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		if name, err := rules.Principal(&x509.Certificate{RawSubject: der}); err == nil && name == "" {
			t.Error("an empty name")
		}
	})
}

// Reading rules that nobody meant never panics, and what is read can be used.
func FuzzMappingRules(f *testing.F) {
	for _, line := range vectors(f, "rules.txt") {
		if quoted, ok := strings.CutPrefix(line, "rules "); ok {
			f.Add(java(f, quoted), "CN=a,OU=b")
		}
	}
	f.Fuzz(func(t *testing.T, rules, subject string) {
		if m, err := ParseMappingRules(rules); err == nil {
			m.apply(subject)
		}
	})
}
