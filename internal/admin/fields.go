package admin

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
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
	case n.ShortTag() == "!!null" && as == users:
		return f.fault(n, key, noUser)
	case n.ShortTag() == "!!null" && key == "client_allowed_sans: ":
		return f.fault(n, key, "no name is in it, and every name would do: add one, or remove the key")
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
	value := reflect.New(as)
	err := n.Decode(value.Interface())
	var typed *yaml.TypeError
	switch {
	case err == nil && as == users && value.Elem().Len() == 0:
		return f.fault(n, key, noUser)
	case err == nil:
		return nil
	case !errors.As(err, &typed):
		return f.fault(n, key, err.Error())
	case strings.Contains(typed.Errors[0], "already defined"):
		_, text, _ := strings.Cut(typed.Errors[0], ": ") // its own line
		return f.fault(n, key, text)
	case as == users:
		return f.fault(n, key, "users are wanted, with a bcrypt hash for each")
	}
	return f.fault(n, key, wanted[as.Kind()])
}

// users is the type of basic_auth_users, which says that a password is wanted: without
// a user there would be none.
var users = reflect.TypeOf(web.Config{}.Users)

const noUser = "no user is in it, and nobody would be asked for a password: add one (htpasswd -nBC 10 NAME), or remove the key"

// aboutTab is what the reader of YAML says where lines begin with tabs, or may.
var aboutTab = regexp.MustCompile("cannot start any token|tab character")

// unreadable is what the reader of YAML cannot read. It does not always
// say that it is a tab, with which lines must not begin.
func (f lockFile) unreadable(content []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	for i, line := range strings.Split(string(content), "\n") {
		if aboutTab.MatchString(text) && strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
			return fmt.Errorf("%s:%d: the line begins with a tab (YAML takes spaces alone)", f.path, i+1)
		}
	}
	return fmt.Errorf("%s: %s", f.path, text)
}

// headers are those that a file may set, with their values where not every one will
// do, as in exporter-toolkit.
var headers = map[string][]string{
	"Content-Security-Policy":   nil,
	"Strict-Transport-Security": nil,
	"X-Content-Type-Options":    {"nosniff"},
	"X-Frame-Options":           {"deny", "sameorigin"},
	"X-XSS-Protection":          nil,
}

func checkHeaders(path string, given map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		values, known := headers[name]
		switch {
		case !known:
			return fmt.Errorf("%s: headers: %q cannot be set (only %s)", path, name, strings.Join(slices.Sorted(maps.Keys(headers)), ", "))
		case values != nil && !slices.Contains(values, given[name]):
			return fmt.Errorf("%s: headers: %s is %q (%s)", path, name, given[name], strings.Join(values, " or "))
		}
	}
	return nil
}

// wanted are kinds of values in words.
var wanted = map[reflect.Kind]string{
	reflect.Map:    "names are wanted, with a text for each",
	reflect.Slice:  "a list of words is wanted",
	reflect.Bool:   "true or false is wanted",
	reflect.String: "a text is wanted",
	reflect.Uint16: "a name is wanted", // of a version of TLS
}
