package credstore

import _ "embed"

// Schema is the JSON Schema (2020-12) of the file. It agrees with Parse on
// what is bad, as far as a schema can say it: not on duplicate keys and bytes
// after the object.
//
//go:embed schema.json
var Schema []byte
