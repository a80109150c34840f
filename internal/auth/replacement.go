package auth

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// replacement is what Java's Matcher.replaceAll puts in place of a match: text,
// groups as $1 or ${name}, and a backslash before what is meant as it is.
type replacement []piece

// piece is text, or a group of the match.
type piece struct {
	text  string
	group int // -1: text
}

// parseReplacement reads a replacement for matches of a pattern. Kafka takes a
// group that is not there for text, or fails at each client; here it is an
// error.
func parseReplacement(s string, p *javaPattern) (replacement, error) {
	var r replacement
	for s != "" {
		switch s[0] {
		case '\\':
			if len(s) < 2 {
				return nil, errors.New("replacement: it ends in a backslash")
			}
			r, s = append(r, piece{s[1:2], -1}), s[2:]
		case '$':
			group, rest, err := parseGroup(s[1:], p)
			if err != nil {
				return nil, fmt.Errorf("replacement: %w", err)
			}
			r, s = append(r, piece{group: group}), rest
		default:
			end := strings.IndexAny(s, `\$`)
			if end < 0 {
				end = len(s)
			}
			r, s = append(r, piece{s[:end], -1}), s[end:]
		}
	}
	return r, nil
}

// parseGroup reads what comes after a dollar.
func parseGroup(s string, p *javaPattern) (group int, rest string, err error) {
	if strings.HasPrefix(s, "{") {
		name, after, closed := strings.Cut(s[1:], "}")
		group = slices.Index(p.names, name)
		if !closed || name == "" || group < 0 {
			return 0, "", fmt.Errorf("the pattern has no group that is called %q", name)
		}
		return group, after, nil
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 {
		return 0, "", errors.New("after $ comes the number of a group or {name} (write a plain one as \\$)")
	}
	// As many digits count as there are groups for.
	for n := digits; n > 0; n-- {
		if group, err = strconv.Atoi(s[:n]); err == nil && group < len(p.names) && (n == 1 || s[0] != '0') {
			return group, s[n:], nil
		}
	}
	return 0, "", fmt.Errorf("$%s names a group, of which the pattern has %d", s[:digits], len(p.names)-1)
}

// write appends the replacement of a match.
func (r replacement) write(b *strings.Builder, text string, match []int) {
	for _, p := range r {
		if p.group < 0 {
			b.WriteString(p.text)
			continue
		}
		if from, to := match[2*p.group], match[2*p.group+1]; from >= 0 {
			b.WriteString(text[from:to])
		}
	}
}
