package broker_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// shape is what is in an answer apart from its values: at each place all kinds
// of structs that stand there. Arrays are sets.
type shape map[string]map[string]bool

func shapeOf(m codec.Message) shape {
	s := shape{}
	s.add("answer", reflect.ValueOf(m).Elem())
	return s
}

// valueOnly are fields whose values say nothing about the shape.
var valueOnly = map[string]bool{"ThrottleTimeMs": true, "Documentation": true}

func (s shape) add(place string, v reflect.Value) {
	var kinds []string
	failed := hasFailed(v)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if valueOnly[name] || failed && strings.HasSuffix(name, "Message") {
			continue // the texts of errors are our own
		}
		if kind := s.field(place+"."+name, v.Field(i)); kind != "" {
			kinds = append(kinds, name+"="+kind)
		}
	}
	if s[place] == nil {
		s[place] = map[string]bool{}
	}
	s[place][strings.Join(kinds, " ")] = true
}

func hasFailed(v reflect.Value) bool {
	code := v.FieldByName("ErrorCode")
	return code.IsValid() && code.Interface().(kafka.Code) != kafka.NoError
}

// field is the kind of one value; what is inside an array or a struct has a
// place of its own.
func (s shape) field(place string, v reflect.Value) string {
	switch x := v.Interface().(type) {
	case kafka.Code:
		return x.String()
	case codec.Records:
		return kindOf(x.Bytes == nil, len(x.Bytes))
	case kafka.TopicID:
		return kindOf(false, int(slices.Max(x[:])))
	case []byte:
		return kindOf(x == nil, len(x))
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return s.field(place, v.Elem())
	case reflect.Slice:
		return s.slice(place, v)
	case reflect.Struct:
		s.add(place, v)
	case reflect.String:
		return kindOf(false, v.Len())
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.Int() < 0 {
			return "negative"
		}
		return "number"
	}
	return ""
}

func (s shape) slice(place string, v reflect.Value) string {
	if v.Type().Elem().Kind() == reflect.Struct {
		for i := range v.Len() {
			s.add(place, v.Index(i))
		}
	}
	return kindOf(v.IsNil(), v.Len())
}

func kindOf(null bool, size int) string {
	switch {
	case null:
		return "null"
	case size == 0:
		return "empty"
	}
	return "some"
}

// diff is empty when both shapes are the same.
func (s shape) diff(ours shape) string {
	kafkas, our := s.lines(), ours.lines()
	var diff strings.Builder
	for _, line := range kafkas {
		if !slices.Contains(our, line) && !strings.Contains(line, ".Configs: ") { // it has configs that we do not list
			diff.WriteString("\n- " + line)
		}
	}
	for _, line := range our {
		if !slices.Contains(kafkas, line) {
			diff.WriteString("\n+ " + line)
		}
	}
	return diff.String()
}

func (s shape) lines() []string {
	var lines []string
	for _, place := range slices.Sorted(maps.Keys(s)) {
		for _, kinds := range slices.Sorted(maps.Keys(s[place])) {
			lines = append(lines, fmt.Sprintf("%s: %s", place, kinds))
		}
	}
	return lines
}
