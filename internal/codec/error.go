package codec

import "fmt"

// Error says where bytes stopped making sense.
type Error struct {
	Offset int    // in bytes, from the start of what was decoded
	Field  string // path of the field, such as Entries[0].Ops[1].Key
	Reason string
}

// Error is the offset, the field and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("offset 0x%04x, field %s: %s", e.Offset, e.Field, e.Reason)
}
