package credstore

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"kaasd/internal/kafka"
)

// MaxSize is the largest file that is read, in bytes.
const MaxSize = 64 << 20

// quotaField joins a quota of the file to the key it has in Kafka.
type quotaField struct {
	name, key string
	most      int64
}

var quotaFields = []quotaField{
	{"producerMaxByteRatePerBroker", kafka.ProducerByteRate, math.MaxInt64},
	{"consumerMaxByteRatePerBroker", kafka.ConsumerByteRate, math.MaxInt64},
	{"requestPercentage", kafka.RequestPercentage, math.MaxInt32},
}

// Parse reads a file. Its warnings are in the order of the file. The error is
// the first Finding that makes the file bad.
func Parse(data []byte) (*Snapshot, []Finding, error) {
	s, findings := parse(data)
	for _, f := range findings {
		if f.Kind == Bad {
			return nil, nil, f
		}
	}
	return s, findings, nil
}

// Check tells everything that is wrong with a file, in the order of the file.
// The file is good when none of it is Bad.
func Check(data []byte) []Finding {
	_, findings := parse(data)
	return findings
}

func parse(data []byte) (*Snapshot, []Finding) {
	sum := sha256.Sum256(data)
	if f := unreadable(data); f != nil {
		return nil, []Finding{*f}
	}
	r := newReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	users := r.document()
	slices.SortStableFunc(r.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return newSnapshot(users, hex.EncodeToString(sum[:])), r.findings
}

// unreadable says why the bytes are not one JSON text, or nil.
func unreadable(data []byte) *Finding {
	bad := func(line int, text string) *Finding { return &Finding{Line: line, Index: -1, Text: text} }
	switch {
	case len(data) > MaxSize:
		return bad(1, fmt.Sprintf("more than %d bytes", MaxSize)) // as Read says
	case len(data) == 0:
		return bad(1, "the file is empty")
	case !utf8.Valid(data):
		return bad(lineOf(data, invalidAt(data)), "the file is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var syntax *json.SyntaxError
	err := json.Unmarshal(data, new(json.RawMessage))
	if errors.As(err, &syntax) {
		return bad(lineOf(data, int(syntax.Offset)-1), "the file is not JSON: "+syntax.Error())
	}
	return nil
}

// invalidAt is the offset of the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte{'\n'})
}

// document reads the whole file.
func (r *reader) document() map[string]*User {
	var entries []entry
	listed := false
	line, ok := r.object("the document", false, func(key string) {
		switch key {
		case "version":
			r.version()
		case "users":
			listed = true
			entries = append(entries, r.users()...)
		default:
			r.unknown(key, key)
		}
	})
	if ok && !listed {
		r.find(Bad, line, "users", "is missing")
	}
	return r.settle(entries)
}

func (r *reader) version() {
	if v := r.whole("version", 0, math.MaxInt64, false); v > 1 {
		r.find(Newer, r.here(), "version", "%d is newer than 1: fields that this kaasd does not know are ignored", v)
	}
}

// unknown passes over a field that this kaasd does not know.
func (r *reader) unknown(field, key string) {
	r.find(Unknown, r.here(), "", "field %.128q is not known and ignored", field)
	r.pass(r.next(), key)
}

func (r *reader) users() []entry {
	token := r.next()
	if token != json.Delim('[') {
		r.wrongType(token, "users", "an array")
		return nil
	}
	var entries []entry
	for r.index = 0; r.dec.More(); r.index++ {
		first := len(r.findings)
		if e, ok := r.entry(); ok {
			for i := range r.findings[first:] {
				r.findings[first+i].Name = e.user.Username
				e.bad = e.bad || r.findings[first+i].Kind == Bad
			}
			entries = append(entries, e)
		}
	}
	r.index = -1
	r.next()
	return entries
}
