package metadata

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Name is a name that a client gave, byte for byte. Its JSON form is a string,
// or an object that holds the bytes in base64: where a string would lose some,
// because they are not UTF-8, and where its escapes would take more room, so
// that no name takes six times its length in the log.
type Name string

type rawName struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON gives the form for the log.
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		text, err := json.Marshal(string(n))
		if err != nil || len(text) <= base64.StdEncoding.EncodedLen(len(n))+len(`{"bytes":""}`) {
			return text, err
		}
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
	if len(text) > 1 && text[0] == '"' && bytes.IndexByte(text, '\\') < 0 {
		*n = Name(text[1 : len(text)-1]) // nothing to decode
		return nil
	}
	return json.Unmarshal(text, (*string)(n))
}
