package metadata

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Name is a name that a client gave, byte for byte. Its JSON form is a string,
// or where that would lose bytes, because they are not UTF-8, an object that
// holds them in base64.
type Name string

type rawName struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON gives the form for the log.
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(rawName{[]byte(n)})
}

// UnmarshalJSON reads either form.
func (n *Name) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var raw rawName
		if err := json.Unmarshal(text, &raw); err != nil {
			return fmt.Errorf("read a name: %w", err)
		}
		*n = Name(raw.Bytes)
		return nil
	}
	return json.Unmarshal(text, (*string)(n))
}
