package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"kaasd/internal/kafka"
)

// MappingRules turn the subject of a client's certificate into the name of a
// principal (ssl.principal.mapping.rules, KIP-371). The first rule that matches
// the whole subject decides. They are not changed once they are parsed.
type MappingRules struct{ rules []mappingRule }

// mappingRule is RULE:pattern/replacement/ with L or U after it, or DEFAULT.
type mappingRule struct {
	pattern     *javaPattern // nil: DEFAULT, the name as it is
	replacement replacement
	letters     func(string) string // nil: as they are
}

// DefaultMapping leaves names as they are: the rule DEFAULT.
func DefaultMapping() *MappingRules { return &MappingRules{rules: []mappingRule{{}}} }

// oneRule finds the next of several rules with commas between them. A slash inside
// of a rule has a backslash before it.
var oneRule = regexp.MustCompile(`^\s*(?:(DEFAULT)|RULE:((?s:\\.|[^\\/])*)/((?s:\\.|[^\\/])*)/([LU]?)|)\s*(?:,|$)`)

// ParseMappingRules reads rules in Kafka's notation. Patterns are Java's, as far
// as Go's regexp package can do the same; for others, and for replacements that
// name a group which is not there, there is an error that names the rule.
func ParseMappingRules(text string) (*MappingRules, error) {
	m := &MappingRules{}
	for rest := text; rest != ""; {
		found := oneRule.FindStringSubmatch(rest)
		if found == nil {
			return nil, fmt.Errorf("%q is not a rule (expected DEFAULT or RULE:pattern/replacement/ with L, U or nothing after it, and a comma between rules)", strings.TrimSpace(rest))
		}
		parsed, err := parseRule(found)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", strings.Trim(strings.TrimSpace(found[0]), ", "), err)
		}
		m.rules = append(m.rules, parsed...)
		rest = rest[len(found[0]):]
	}
	if len(m.rules) == 0 {
		return nil, errors.New("there is no rule, so that no certificate would be good for anybody (DEFAULT takes names as they are)")
	}
	return m, nil
}

// parseRule makes the rule of what the parts of one were found to be; none of
// nothing between two commas.
func parseRule(found []string) ([]mappingRule, error) {
	switch {
	case found[1] != "":
		return []mappingRule{{}}, nil
	case !strings.Contains(found[0], "RULE:"):
		return nil, nil
	}
	pattern, err := compileJava(found[2])
	if err != nil {
		return nil, err
	}
	into, err := parseReplacement(found[3], pattern)
	if err != nil {
		return nil, err
	}
	r := mappingRule{pattern: pattern, replacement: into}
	switch found[4] {
	case "L":
		r.letters = func(s string) string { return cases.Lower(language.English).String(s) }
	case "U":
		r.letters = func(s string) string { return cases.Upper(language.English).String(s) }
	}
	return []mappingRule{r}, nil
}

// Principal is the name of the principal that a client with the certificate is:
// its subject in the form of RFC 2253, as the rules turn it. An error says that
// there is none, and the client must not get in.
func (m *MappingRules) Principal(cert *x509.Certificate) (name string, err error) {
	subject, err := distinguishedName(cert.RawSubject)
	if err != nil {
		return "", err
	}
	name, ok := m.apply(subject)
	switch {
	case !ok:
		return "", fmt.Errorf("no rule of ssl.principal.mapping.rules matches the certificate's subject %.256q", subject)
	case name == "":
		return "", fmt.Errorf("the name made of the certificate's subject %.256q is empty", subject)
	case len(name) > kafka.MaxName:
		return "", fmt.Errorf("the name made of the certificate's subject %.256q has %d bytes (at most %d; a rule of ssl.principal.mapping.rules can make it shorter)", subject, len(name), kafka.MaxName)
	}
	return name, nil
}

// apply gives what the first rule that matches makes of a subject.
func (m *MappingRules) apply(subject string) (name string, ok bool) {
	for _, r := range m.rules {
		if name, ok := r.apply(subject); ok {
			return name, true
		}
	}
	return "", false
}

func (r mappingRule) apply(subject string) (name string, ok bool) {
	if r.pattern == nil {
		return subject, true
	}
	if !r.pattern.whole.MatchString(subject) {
		return "", false
	}
	name = r.pattern.replaceAll(subject, r.replacement)
	if r.letters != nil {
		name = r.letters(name)
	}
	return name, true
}
