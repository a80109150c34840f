package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/kafka"
)

// toolEntities are the words of kafka-configs.sh for entity types, in the
// order in which it names the parts of an entity.
var toolEntities = []struct{ words, kind string }{
	{"user-principal", kafka.EntityUser},
	{"client-id", kafka.EntityClientID},
	{"ip", kafka.EntityIP},
}

// readQuotaText reads the lines of kafka-configs.sh --describe:
//
//	Quota configs for user-principal 'alice', the default client-id are producer_byte_rate=1.048576E7, request_percentage=50.0
//
// Lines about SCRAM credentials stand among them where users are described.
func readQuotaText(name string, raw []byte) ([]statedQuota, error) {
	var all []statedQuota
	var wrong []error
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "SCRAM credential configs for ") {
			continue
		}
		where := fmt.Sprintf("%s:%d", name, number)
		stated, err := readQuotaLine(line)
		if err != nil {
			wrong = append(wrong, exitWith(exitInput, "%s: %w", where, err))
		}
		for _, q := range stated {
			q.where = where
			all = append(all, q)
		}
	}
	return all, errors.Join(wrong...)
}

func readQuotaLine(line string) ([]statedQuota, error) {
	rest, ok := strings.CutPrefix(line, "Quota configs for ")
	// Names may hold the word, the values do not.
	at := strings.LastIndex(rest, " are ")
	if !ok || at < 0 {
		return nil, fmt.Errorf("%.60q is no line of kafka-configs.sh --describe, and no JSON", line)
	}
	entity, err := toolEntity(rest[:at])
	if err != nil {
		return nil, err
	}
	var all []statedQuota
	for _, pair := range splitList(rest[at+len(" are "):], ",") {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not key=value", entityText(entity), pair)
		}
		value, err := quotaNumber(entity, key, text)
		if err != nil {
			return nil, err
		}
		all = append(all, statedQuota{entity: entity, key: key, value: value})
	}
	return all, checkValues(all)
}

// toolEntity reads "user-principal 'alice', the default client-id" from its
// end, where the last part begins: a name may hold quotes and commas.
func toolEntity(text string) (kadm.ClientQuotaEntity, error) {
	var entity kadm.ClientQuotaEntity
	rest := text
	for i := len(toolEntities) - 1; i >= 0 && rest != ""; i-- {
		t := toolEntities[i]
		if before, ok := strings.CutSuffix(rest, "the default "+t.words); ok {
			entity = append(entity, kadm.ClientQuotaEntityComponent{Type: t.kind})
			rest = strings.TrimSuffix(before, ", ")
			continue
		}
		if before, name, ok := cutNamed(rest, t.words); ok {
			entity = append(entity, kadm.ClientQuotaEntityComponent{Type: t.kind, Name: &name})
			rest = before
		}
	}
	if rest != "" {
		return nil, fmt.Errorf("%q is no entity of kafka-configs.sh", text)
	}
	return entity, checkEntity(entity)
}

// cutNamed cuts "WORDS 'name'" from the end of text.
func cutNamed(text, words string) (before, name string, ok bool) {
	inner, quoted := strings.CutSuffix(text, "'")
	if !quoted {
		return "", "", false
	}
	if name, ok = strings.CutPrefix(inner, words+" '"); ok {
		return "", name, true
	}
	open := ", " + words + " '"
	at := strings.LastIndex(inner, open)
	if at < 0 {
		return "", "", false
	}
	return inner[:at], inner[at+len(open):], true
}
