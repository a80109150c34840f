package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// readProperties reads a Java properties file, the form of Kafka's client
// configurations: key=value, key: value or key value, comments with # or !,
// lines joined by a backslash, and Java's escapes.
func readProperties(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, exitWith(exitInput, "--command-config: %s: %w", path, pathCause(err))
	}
	all := map[string]string{}
	for _, line := range logicalLines(string(raw)) {
		key, text, err := splitProperty(line.text)
		if err != nil {
			return nil, exitWith(exitInput, "%s:%d: %w", path, line.number, err)
		}
		all[key] = text
	}
	return all, nil
}

type logicalLine struct {
	number int
	text   string
}

// logicalLines joins the lines that end in an odd number of backslashes with
// their next, and leaves out comments and blank lines.
func logicalLines(raw string) []logicalLine {
	var lines []logicalLine
	open := false
	for i, text := range strings.Split(strings.ReplaceAll(raw, "\r\n", "\n"), "\n") {
		text = strings.TrimLeft(text, " \t\f")
		if !open && (text == "" || text[0] == '#' || text[0] == '!') {
			continue
		}
		if !open {
			lines = append(lines, logicalLine{number: i + 1})
		}
		last := &lines[len(lines)-1]
		slashes := len(text) - len(strings.TrimRight(text, `\`))
		if open = slashes%2 == 1; open {
			text = text[:len(text)-1]
		}
		last.text += text
	}
	return lines
}

// splitProperty cuts a line at the first separator that is not escaped.
func splitProperty(line string) (key, text string, err error) {
	at := 0
	for at < len(line) && !strings.ContainsRune("=: \t\f", rune(line[at])) {
		if line[at] == '\\' {
			at++
		}
		at++
	}
	at = min(at, len(line))
	rest := strings.TrimLeft(line[at:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	if key, err = unescape(line[:at]); err != nil {
		return "", "", err
	}
	text, err = unescape(rest)
	return key, text, err
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 't', 'n', 'r', 'f':
			b.WriteByte(map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}[c])
		case 'u':
			r, err := strconv.ParseUint(s[i+1:min(i+5, len(s))], 16, 16)
			if err != nil || i+5 > len(s) {
				return "", fmt.Errorf("\\u must be followed by four hexadecimal digits")
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// jaasLogin finds user name and password in a sasl.jaas.config.
func jaasLogin(jaas string) (user, password string, err error) {
	options := map[string]string{}
	for rest := jaas; rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		if !ok {
			break
		}
		words := strings.Fields(key)
		if len(words) == 0 {
			return "", "", fmt.Errorf("sasl.jaas.config: a name is missing before =")
		}
		var text string
		text, rest = jaasValue(strings.TrimLeft(after, " \t"))
		options[words[len(words)-1]] = text
	}
	user, hasUser := options["username"]
	password, hasPassword := options["password"]
	if !hasUser || !hasPassword {
		return "", "", fmt.Errorf("sasl.jaas.config: username=\"...\" and password=\"...\" are needed")
	}
	return user, password, nil
}

// jaasValue reads one value, quoted or not, and gives what follows it.
func jaasValue(s string) (text, rest string) {
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, " \t;")
		if end < 0 {
			return s, ""
		}
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
