package credstore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// reader walks the tokens of a document that is known to be well-formed JSON
// and gathers findings. Where a value has the wrong type it is passed over, so
// that the walk goes on behind it.
type reader struct {
	data     []byte
	dec      *json.Decoder
	at, line int // lines are counted up to at
	index    int // the entry of users being read, or -1
	findings []Finding
}

func newReader(data []byte) *reader {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &reader{data: data, dec: dec, line: 1, index: -1}
}

func (r *reader) next() json.Token {
	token, err := r.dec.Token()
	if err != nil {
		panic("credstore: a checked document does not read: " + err.Error())
	}
	return token
}

// here is the line of the last token: no token spans lines.
func (r *reader) here() int {
	end := int(r.dec.InputOffset())
	r.line += bytes.Count(r.data[r.at:end], []byte{'\n'})
	r.at = end
	return r.line
}

func (r *reader) find(k Kind, line int, field, format string, args ...any) {
	r.findings = append(r.findings, Finding{Kind: k, Line: line, Index: r.index, Field: field, Text: fmt.Sprintf(format, args...)})
}

// wrongType reports a value of another type than wanted and passes over it.
// The value is not told: it may be a secret.
func (r *reader) wrongType(token json.Token, field, want string) {
	r.find(Bad, r.here(), field, "must be %s, not %s", want, typeOf(token))
	r.pass(token, field)
}

func typeOf(token json.Token) string {
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "an array"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	}
	return "null"
}

// pass takes the rest of the value that began with token. What is in it does
// not matter, but duplicate keys do.
func (r *reader) pass(token json.Token, field string) {
	switch token {
	case json.Delim('{'):
		r.members(field, func(string) { r.pass(r.next(), field) })
	case json.Delim('['):
		for r.dec.More() {
			r.pass(r.next(), field)
		}
		r.next()
	}
}

// members reads the members of an object whose brace is taken. read must take
// the member's value.
func (r *reader) members(field string, read func(key string)) {
	seen := map[string]bool{}
	for r.dec.More() {
		key := r.next().(string)
		if seen[key] {
			r.find(Bad, r.here(), field, "has the key %.64q twice", key)
		}
		seen[key] = true
		read(key)
	}
	r.next()
}

// object reads a value that must be an object. It says whether there is one
// and on which line it begins; null stands for none where that is allowed.
func (r *reader) object(field string, nullable bool, read func(key string)) (line int, ok bool) {
	token := r.next()
	if token == nil && nullable {
		return 0, false
	}
	if token != json.Delim('{') {
		r.wrongType(token, field, "an object")
		return 0, false
	}
	line = r.here()
	r.members(field, read)
	return line, true
}

// text reads a value that must be a string.
func (r *reader) text(field string, nullable bool) string {
	token := r.next()
	s, ok := token.(string)
	if !ok && !(token == nil && nullable) {
		r.wrongType(token, field, "a string")
	}
	return s
}

// whole reads a value that must be a whole number from least to most. As in
// JSON Schema, 1.0 and 1e3 are whole numbers.
func (r *reader) whole(field string, least, most int64, nullable bool) int64 {
	token := r.next()
	number, ok := token.(json.Number)
	if !ok {
		if token != nil || !nullable {
			r.wrongType(token, field, "a whole number")
		}
		return 0
	}
	n, fault := parseWhole(number.String())
	switch {
	case fault == notWhole:
		r.find(Bad, r.here(), field, "must be a whole number, not %.40s", number)
	case fault == tooSmall || fault == fits && n < least:
		r.find(Bad, r.here(), field, "must not be below %d: it is %.40s", least, number)
	case fault == tooLarge || n > most:
		r.find(Bad, r.here(), field, "must not be above %d: it is %.40s", most, number)
	default:
		return n
	}
	return 0
}

// base64 reads a value that must be standard base64 with padding.
func (r *reader) base64(field string) []byte {
	token := r.next()
	s, ok := token.(string)
	if !ok {
		r.wrongType(token, field, "a string")
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") { // which the decoder passes over
		r.find(Bad, r.here(), field, "is not base64 (%s)", base64Fault(s))
		return nil
	}
	return raw
}

// base64Fault says what is wrong with a text that is not base64, and of the
// text no more than the one character that does not belong.
func base64Fault(s string) string {
	for i, c := range strings.TrimRight(s, "=") {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", c) {
			return fmt.Sprintf("character %d is %q", i+1, c)
		}
	}
	return "the padding is wrong"
}
