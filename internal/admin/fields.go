package admin

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
)

// lockFile is a file in the format of exporter-toolkit that is being checked. The
// reader of YAML tells what is wrong in words of Go, often without its key, and with
// the value, which may be a password.
type lockFile struct{ path string }

// fault is what is wrong at a node.
func (f lockFile) fault(n *yaml.Node, key, text string) error {
	return fmt.Errorf("%s:%d: %s%s", f.path, n.Line, key, text)
}

// check says what is wrong first with a node that is to be read as a type. The key is
// empty, or ends with a colon.
func (f lockFile) check(key string, n *yaml.Node, as reflect.Type) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return f.check(key, n.Alias, as)
	case n.ShortTag() == "!!null":
		return nil
	case as.Kind() != reflect.Struct:
		return f.checkValue(key, n, as)
	case n.Kind != yaml.MappingNode:
		return f.fault(n, key, "keys with values are wanted")
	}
	fields, seen := fieldsOf(as), map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		field, known := fields[name.Value]
		switch {
		case name.Value == "rate_limit":
			return f.fault(name, key, "rate_limit is not known here: failed log-ins are limited by themselves")
		case !known:
			delete(fields, "rate_limit")
			return f.fault(name, key, fmt.Sprintf("unknown field %q (known are %s)", name.Value, strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
		case seen[name.Value] > 0:
			return f.fault(name, key, fmt.Sprintf("field %q stands on line %d already", name.Value, seen[name.Value]))
		}
		seen[name.Value] = name.Line
		if err := f.check(name.Value+": ", n.Content[i+1], field); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf are the types of a struct's fields, by their names in a file.
func fieldsOf(as reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range as.NumField() {
		name, _, _ := strings.Cut(as.Field(i).Tag.Get("yaml"), ",")
		all[name] = as.Field(i).Type
	}
	return all
}

// checkValue reads a value as it will be read.
func (f lockFile) checkValue(key string, n *yaml.Node, as reflect.Type) error {
	err := n.Decode(reflect.New(as).Interface())
	var typed *yaml.TypeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &typed):
		return f.fault(n, key, err.Error())
	case strings.Contains(typed.Errors[0], "already defined"):
		_, text, _ := strings.Cut(typed.Errors[0], ": ") // its own line
		return f.fault(n, key, text)
	case as == reflect.TypeOf(web.Config{}.Users):
		return f.fault(n, key, "users are wanted, with a bcrypt hash for each")
	}
	return f.fault(n, key, wanted[as.Kind()])
}

// wanted are kinds of values in words.
var wanted = map[reflect.Kind]string{
	reflect.Map:    "names are wanted, with a text for each",
	reflect.Slice:  "a list of words is wanted",
	reflect.Bool:   "true or false is wanted",
	reflect.String: "a text is wanted",
	reflect.Uint16: "a name is wanted", // of a version of TLS
}
