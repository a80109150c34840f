package auth

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// javaPattern is a regular expression of Java that means the same in Go's
// syntax. Java looks for a match in the order of the alternatives, as Go does
// here; what Go cannot do (looking around, groups that are repeated, possessive
// repetition) or would take for something else does not compile.
type javaPattern struct {
	whole *regexp.Regexp // matches a whole text
	first *regexp.Regexp // finds the first match in a text
	// next finds the next match in a text whose first letter is the one before
	// where the match may begin, so that ^ and \b hold where they do in the whole.
	next  *regexp.Regexp
	names []string // of the groups, by number
}

// compileJava reads a pattern.
func compileJava(pattern string) (*javaPattern, error) {
	if err := sameInBoth(pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w (Go's syntax of regular expressions holds, which knows no lookaround, no references to groups and no possessive repetition)", err)
	}
	each(tree, keepDotsToLines)
	p := &javaPattern{names: tree.CapNames()}
	text := tree.String()
	for _, c := range []struct {
		into *(*regexp.Regexp)
		text string
	}{
		{&p.whole, `\A(?:` + text + `)\z`},
		{&p.first, text},
		{&p.next, `\A(?s:.)(?s:.*?)(` + text + `)`},
	} {
		if *c.into, err = regexp.Compile(c.text); err != nil {
			return nil, fmt.Errorf("pattern: %w", err)
		}
	}
	return p, nil
}

func each(tree *syntax.Regexp, change func(*syntax.Regexp)) {
	change(tree)
	for _, sub := range tree.Sub {
		each(sub, change)
	}
}

// keepDotsToLines makes a dot stop at every end of a line that Java knows, not
// at line feeds alone.
func keepDotsToLines(node *syntax.Regexp) {
	if node.Op == syntax.OpAnyCharNotNL {
		node.Op = syntax.OpCharClass
		node.Rune = []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, '\u0084', '\u0086', '\u2027', '\u202a', unicode.MaxRune}
	}
}

// sameInBoth refuses what both syntaxes have, with another meaning in each.
func sameInBoth(pattern string) error {
	class := -1 // where a class in brackets began; below zero: outside
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, `\Q`):
			end := strings.Index(rest, `\E`)
			if end < 0 {
				return nil
			}
			i += end + 1
		case rest[0] == '\\':
			n, err := sameEscape(rest)
			if err != nil {
				return err
			}
			i += n - 1
		case class >= 0 && rest[0] == ']' && i > class+1:
			class = -1
		case class >= 0 && (rest[0] == '[' || strings.HasPrefix(rest, "&&")):
			return errors.New("a class inside of a class, or &&, is not known here (write the class out, and a plain [ as \\[)")
		case class < 0 && rest[0] == '[':
			class = i
			if strings.HasPrefix(rest, "[^") {
				class, i = i+1, i+1
			}
		case class < 0 && rest[0] == '{' && !repetition.MatchString(rest):
			return errors.New("{ begins a repetition such as {2,3} (write a plain one as \\{)")
		case class < 0 && flagU.MatchString(rest):
			return errors.New("the flag U is not known here")
		}
	}
	return nil
}

var (
	repetition     = regexp.MustCompile(`^\{\d+(,\d*)?\}`)
	escapeInBraces = regexp.MustCompile(`^\\[pPx]\{[^}]*\}`)
	flagU          = regexp.MustCompile(`^\(\?[a-zA-Z-]*U`)
)

// sameEscape is the length of an escape, and refuses one that means different
// things.
func sameEscape(rest string) (int, error) {
	if braced := escapeInBraces.FindString(rest); braced != "" {
		return len(braced), nil
	}
	if len(rest) < 2 {
		return 0, errors.New("it ends in a backslash")
	}
	if c := rest[1]; c == 'v' || c >= '1' && c <= '9' {
		return 0, fmt.Errorf(`\%c is not known here`, c)
	}
	return 2, nil
}

// replaceAll puts the replacement in place of every match, as Java does: unlike
// in Go an empty match may follow directly on another.
func (p *javaPattern) replaceAll(text string, with replacement) string {
	var b strings.Builder
	done := 0
	for m := p.first.FindStringSubmatchIndex(text); m != nil; {
		b.WriteString(text[done:m[0]])
		with.write(&b, text, m)
		done = m[1]
		from := m[1]
		if m[0] == m[1] { // go on, past one letter
			_, n := utf8.DecodeRuneInString(text[from:])
			from += n
			if n == 0 {
				break
			}
		}
		m = p.find(text, from)
	}
	b.WriteString(text[done:])
	return b.String()
}

// find is the first match that begins at from, which is not the start, or later.
func (p *javaPattern) find(text string, from int) []int {
	_, n := utf8.DecodeLastRuneInString(text[:from])
	m := p.next.FindStringSubmatchIndex(text[from-n:])
	if m == nil {
		return nil
	}
	m = m[2:] // the group around the pattern
	for i := range m {
		if m[i] >= 0 {
			m[i] += from - n
		}
	}
	return m
}
