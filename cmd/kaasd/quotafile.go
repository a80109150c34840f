package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// statedQuota is one value of one entity as a source of quotas states it.
type statedQuota struct {
	where  string // file:line, or the cluster
	entity kadm.ClientQuotaEntity
	key    string // Kafka's name, known here or not
	value  float64
}

// readQuotaFile reads what "kaasd quota export", "rpk cluster quotas describe
// --format json", "kcl quota describe" (as JSON) or "kafka-configs.sh
// --describe" has printed. Name is the file's, for messages.
func readQuotaFile(name string, raw []byte) ([]statedQuota, error) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	switch first := bytes.TrimSpace(raw); {
	case len(first) == 0:
		return nil, exitWith(exitInput, "%s: is empty", name)
	case first[0] == '{':
		return readQuotaDocument(name, raw)
	}
	return readQuotaText(name, raw)
}

// lineCounter tells the lines of offsets that grow.
type lineCounter struct {
	raw    []byte
	offset int64
	line   int // lines that end before offset
}

// at is the line of the first byte behind offset that belongs to a value.
func (c *lineCounter) at(offset int64) int {
	rest := c.raw[offset:]
	offset += int64(len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,")))
	c.line += bytes.Count(c.raw[c.offset:offset], []byte("\n"))
	c.offset = offset
	return c.line + 1
}

// readQuotaDocument reads {"quotas":[...]}, whoever has written it.
func readQuotaDocument(name string, raw []byte) ([]statedQuota, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	lines := lineCounter{raw: raw}
	at := func() string { return fmt.Sprintf("%s:%d", name, lines.at(dec.InputOffset())) }
	if err := intoQuotas(dec); err != nil {
		return nil, exitWith(exitInput, "%s: %w", at(), jsonCause(err))
	}
	var all []statedQuota
	var wrong []error
	for dec.More() {
		where := at()
		var element json.RawMessage
		if err := dec.Decode(&element); err != nil {
			return nil, exitWith(exitInput, "%s: %w", at(), jsonCause(err))
		}
		stated, err := readQuotaElement(element)
		if err != nil {
			wrong = append(wrong, exitWith(exitInput, "%s: %w", where, err))
		}
		for _, q := range stated {
			q.where = where
			all = append(all, q)
		}
	}
	if err := outOfQuotas(dec); err != nil {
		return nil, exitWith(exitInput, "%s: %w", at(), jsonCause(err))
	}
	return all, errors.Join(wrong...)
}

// intoQuotas reads up to the first element of the list of quotas.
func intoQuotas(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil { // {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key != "quotas" {
			var other json.RawMessage
			if err := dec.Decode(&other); err != nil {
				return err
			}
			continue
		}
		open, err := dec.Token()
		if err == nil && open != json.Delim('[') {
			err = errors.New(`"quotas" is no list`)
		}
		return err
	}
	return errors.New(`no list of "quotas" (is it what kaasd quota export, rpk or kcl has printed?)`)
}

// outOfQuotas reads from behind the last element to the end.
func outOfQuotas(dec *json.Decoder) error {
	for depth := 2; depth > 0; {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more text stands behind the document")
	}
	return nil
}

// jsonCause puts the errors of the JSON reader into plain words.
func jsonCause(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the document is cut off")
	}
	return err
}

// quotaElement is an element of the list in any of its three shapes. Ours has
// an object of values, rpk a list of keys with texts, kcl one key a row and
// the entity in one text.
type quotaElement struct {
	Entity json.RawMessage
	Values json.RawMessage
	Key    *string
	Value  *float64
}

func readQuotaElement(raw []byte) ([]statedQuota, error) {
	var e quotaElement
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, errors.New("an entity with its values is expected")
	}
	switch {
	case bytes.HasPrefix(e.Entity, []byte(`"`)):
		return e.kcl()
	case bytes.HasPrefix(e.Values, []byte("[")):
		return e.rpk()
	case bytes.HasPrefix(e.Values, []byte("{")):
		return e.own()
	}
	return nil, errors.New(`"values" are missing`)
}

// componentText is a part of an entity in a file.
type componentText struct {
	Type string
	Name json.RawMessage
}

// entity reads the parts of an entity. Where null is not known, the name
// <default> means the default.
func (e *quotaElement) entity(marked bool) (kadm.ClientQuotaEntity, error) {
	var parts []componentText
	if err := json.Unmarshal(e.Entity, &parts); err != nil {
		return nil, errors.New(`"entity" is no list of types and names`)
	}
	var entity kadm.ClientQuotaEntity
	for _, p := range parts {
		c := kadm.ClientQuotaEntityComponent{Type: p.Type}
		// A name that is left out is not taken for the default: that would
		// limit everybody.
		if err := json.Unmarshal(p.Name, &c.Name); err != nil {
			return nil, fmt.Errorf("the name of type %q is missing or no text", p.Type)
		}
		if marked && c.Name != nil && *c.Name == defaultMark {
			c.Name = nil
		}
		entity = append(entity, c)
	}
	return entity, checkEntity(entity)
}

// defaultMark is how rpk and kcl write the default entity.
const defaultMark = "<default>"

func checkEntity(entity kadm.ClientQuotaEntity) error {
	seen := map[string]bool{}
	for _, c := range entity {
		switch {
		case c.Type == "":
			return errors.New("an entity type is empty")
		case seen[c.Type]:
			return fmt.Errorf("entity type %s stands twice", c.Type)
		case c.Name != nil && *c.Name == "":
			return fmt.Errorf("the name of the %s is empty", c.Type)
		}
		seen[c.Type] = true
	}
	if len(entity) == 0 {
		return errors.New("the entity is missing")
	}
	return nil
}

func (e *quotaElement) own() ([]statedQuota, error) {
	entity, err := e.entity(false)
	if err != nil {
		return nil, err
	}
	values := map[string]*float64{}
	if err := json.Unmarshal(e.Values, &values); err != nil {
		return nil, fmt.Errorf("%s: a value is no number", entityText(entity))
	}
	var all []statedQuota
	for _, key := range sortedKeys(values) {
		if values[key] == nil {
			return nil, fmt.Errorf("%s: %s is null", entityText(entity), key)
		}
		all = append(all, statedQuota{entity: entity, key: key, value: *values[key]})
	}
	return all, checkValues(all)
}

func (e *quotaElement) rpk() ([]statedQuota, error) {
	entity, err := e.entity(true)
	if err != nil {
		return nil, err
	}
	var values []struct{ Key, Values string }
	if err := json.Unmarshal(e.Values, &values); err != nil {
		return nil, fmt.Errorf(`%s: a value is not a "key" with its "values" as texts`, entityText(entity))
	}
	var all []statedQuota
	for _, v := range values {
		number, err := quotaNumber(entity, v.Key, v.Values)
		if err != nil {
			return nil, err
		}
		all = append(all, statedQuota{entity: entity, key: v.Key, value: number})
	}
	return all, checkValues(all)
}

func (e *quotaElement) kcl() ([]statedQuota, error) {
	var text string
	if err := json.Unmarshal(e.Entity, &text); err != nil {
		return nil, errors.New(`"entity" is no text`)
	}
	entity, err := kclEntity(text)
	if err != nil {
		return nil, err
	}
	if e.Key == nil || e.Value == nil {
		return nil, fmt.Errorf(`%s: "key" or "value" is missing`, text)
	}
	all := []statedQuota{{entity: entity, key: *e.Key, value: *e.Value}}
	return all, checkValues(all)
}

// kclEntity reads {user=alice, client-id=<default>}. A part begins behind a
// comma only where a type and = follow: names hold commas too.
func kclEntity(text string) (kadm.ClientQuotaEntity, error) {
	inner, braced := strings.CutPrefix(text, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !braced || !closed {
		return nil, fmt.Errorf("entity %q is not {type=name}", text)
	}
	var entity kadm.ClientQuotaEntity
	for _, word := range strings.Split(inner, ", ") {
		kind, name, named := strings.Cut(word, "=")
		if named && isEntityType(kind) {
			entity = append(entity, kadm.ClientQuotaEntityComponent{Type: kind, Name: &name})
			continue
		}
		if len(entity) == 0 {
			return nil, fmt.Errorf("entity %q is not {type=name}", text)
		}
		*entity[len(entity)-1].Name += ", " + word
	}
	for i := range entity {
		if *entity[i].Name == defaultMark {
			entity[i].Name = nil
		}
	}
	return entity, checkEntity(entity)
}

// isEntityType says whether word has the form of an entity type: small
// letters and dashes.
func isEntityType(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == ""
}

func quotaNumber(entity kadm.ClientQuotaEntity, key, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if text == "" {
		return 0, fmt.Errorf("%s: %s has no value", entityText(entity), key)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %s: %q is not a number", entityText(entity), key, text)
	}
	return v, nil
}

// checkValues refuses what cannot be a quota of any key.
func checkValues(all []statedQuota) error {
	for _, q := range all {
		if !(q.value > 0) || math.IsInf(q.value, 0) {
			return fmt.Errorf("%s: %s=%v is not a quota: it must be a number above zero", entityText(q.entity), q.key, q.value)
		}
	}
	return nil
}
