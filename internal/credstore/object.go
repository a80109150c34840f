package credstore

import (
	"bytes"
	"encoding/json"
	"slices"
)

// object is a JSON object that keeps the order of its members and the text of
// their values, so that an edit changes nothing that it does not mean.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// parseObject reads an object from a document that Parse found good.
func parseObject(text []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var o object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		o = append(o, member{key.(string), value})
	}
	return o, nil
}

// get is the text of a member's value; nil where it is null or not there.
func (o object) get(key string) json.RawMessage {
	for _, m := range o {
		if m.key == key && string(m.value) != "null" {
			return m.value
		}
	}
	return nil
}

// set changes a member in its place, or adds it at the end.
func (o *object) set(key string, value json.RawMessage) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

func (o *object) remove(keys ...string) {
	*o = slices.DeleteFunc(*o, func(m member) bool { return slices.Contains(keys, m.key) })
}

// text is the object as JSON. It is not called String, since it may hold
// secrets.
func (o object) text() json.RawMessage {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(m.key)...), ':'), m.value...)
	}
	return append(b, '}')
}

// quoted is a string as JSON, without the escapes that HTML would need.
func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string always encodes, into memory
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
