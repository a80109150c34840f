package metadata

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"kaasd/internal/kafka"
)

// Type is the type of a property, by its number in DescribeConfigs (KIP-569).
type Type int8

// The types that kaasd's properties have.
const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3 // 32 bit
	Long    Type = 5 // 64 bit
	List    Type = 7 // comma-separated
)

// Property is one row of the table: a config of topics or of brokers.
type Property struct {
	Name string
	Type Type
	// Default is the value that holds when nobody says otherwise. NoDefault
	// properties have none; they are shown as null.
	Default   string
	NoDefault bool
	// Dynamic says of a broker property that it may be altered through the
	// Kafka API; the others are fixed when the broker starts.
	Dynamic bool
	Doc     string // one sentence for DescribeConfigs

	min, max int64    // of Int and Long; both zero: what the type holds
	oneOf    []string // of String and List; nil: anything
	refused  map[string]string
	sources  []source // of a topic property: where its default comes from, strongest first
}

// source is a broker property that gives a topic property its default, and
// how many of the topic's units one of its own is worth.
type source struct {
	property string
	scale    int64
}

// Parse checks a value and gives it in its plain form: without spaces around
// it, booleans in lower case. The error is an InvalidConfig.
func (p *Property) Parse(value string) (string, error) {
	v := strings.TrimSpace(value)
	switch p.Type {
	case Boolean:
		return p.parseBoolean(v)
	case Int, Long:
		return p.parseNumber(v)
	case List:
		return p.parseList(v)
	}
	if err := p.allow(v); err != nil {
		return "", err
	}
	return v, nil
}

func (p *Property) parseBoolean(v string) (string, error) {
	v = strings.ToLower(v)
	if v != "true" && v != "false" {
		return "", kafka.Errorf(kafka.InvalidConfig, "%s=%q must be true or false", p.Name, v)
	}
	return v, nil
}

func (p *Property) parseNumber(v string) (string, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return "", kafka.Errorf(kafka.InvalidConfig, "%s=%q must be a whole number of %d bits", p.Name, v, p.bits())
	}
	lowest, highest := p.limits()
	if n < lowest || n > highest {
		return "", kafka.Errorf(kafka.InvalidConfig, "%s=%d must be between %d and %d", p.Name, n, lowest, highest)
	}
	return strconv.FormatInt(n, 10), nil
}

func (p *Property) bits() int {
	if p.Type == Int {
		return 32
	}
	return 64
}

func (p *Property) limits() (lowest, highest int64) {
	lowest, highest = p.min, p.max
	if highest == 0 {
		highest = math.MaxInt64
		if p.Type == Int {
			highest = math.MaxInt32
		}
	}
	return lowest, highest
}

// parseList reads a comma-separated list. The empty text is the empty list.
func (p *Property) parseList(v string) (string, error) {
	var items []string
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		if item == "" && v == "" {
			break
		}
		if err := p.allow(item); err != nil {
			return "", err
		}
		items = append(items, item)
	}
	if len(items) == 0 && p.oneOf != nil {
		return "", kafka.Errorf(kafka.InvalidConfig, "%s may not be empty: %s", p.Name, strings.Join(p.oneOf, ", "))
	}
	return strings.Join(items, ","), nil
}

func (p *Property) allow(item string) error {
	if why, ok := p.refused[item]; ok {
		return kafka.Errorf(kafka.InvalidConfig, "%s=%s: %s", p.Name, item, why)
	}
	if p.oneOf != nil && !slices.Contains(p.oneOf, item) {
		return kafka.Errorf(kafka.InvalidConfig, "%s=%q must be one of: %s", p.Name, item, strings.Join(p.oneOf, ", "))
	}
	return nil
}

// ListWith is a list value with the items of more at its end, those it
// holds already left out (the APPEND of KIP-339).
func ListWith(value, more string) string {
	items := splitList(value)
	for _, item := range splitList(more) {
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return strings.Join(items, ",")
}

// ListWithout is a list value without the items of less (the SUBTRACT of
// KIP-339).
func ListWithout(value, less string) string {
	gone := splitList(less)
	items := slices.DeleteFunc(splitList(value), func(item string) bool { return slices.Contains(gone, item) })
	return strings.Join(items, ",")
}

func splitList(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
