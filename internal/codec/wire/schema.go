package wire

import (
	"fmt"
	"io"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
)

// apiSchema is both messages of an API.
type apiSchema struct {
	Name             string        `json:"name"`
	Key              int16         `json:"key"`
	Versions         string        `json:"versions"`
	FlexibleVersions string        `json:"flexibleVersions"`
	Request          messageSchema `json:"request"`
	Response         messageSchema `json:"response"`
}

type messageSchema struct {
	Name   string        `json:"name"`
	Fields []fieldSchema `json:"fields"`
}

// fieldSchema is one field. Versions are written as in Kafka's schema: 3,
// 0-5, 7+.
type fieldSchema struct {
	Name             string        `json:"name"`
	Type             string        `json:"type"`
	Versions         string        `json:"versions"`
	NullableVersions string        `json:"nullableVersions,omitempty"`
	TaggedVersions   string        `json:"taggedVersions,omitempty"`
	Tag              *int          `json:"tag,omitempty"`
	About            string        `json:"about"`
	Fields           []fieldSchema `json:"fields,omitempty"`
}

// Schema writes the fields of an API's messages as JSON. They are found by
// walking the messages in every version.
func Schema(w io.Writer, a message.API) error {
	s := apiSchema{
		Name: a.Name, Key: int16(a.Key),
		Versions:         fmt.Sprintf("%d-%d", a.Min, a.Max),
		FlexibleVersions: "none",
		Request:          messageSchema{a.Name + "Request", fields(a, a.NewRequest)},
		Response:         messageSchema{a.Name + "Response", fields(a, a.NewResponse)},
	}
	if a.Min == a.Max {
		s.Versions = fmt.Sprint(a.Min)
	}
	if a.Flexible <= a.Max {
		s.FlexibleVersions = fmt.Sprintf("%d+", a.Flexible)
	}
	return writeJSON(w, s)
}

func fields(a message.API, m func() codec.Message) []fieldSchema {
	list := convert(codec.Describe(a.Min, a.Max, a.Flexible, m), a.Max)
	if list == nil {
		return []fieldSchema{}
	}
	return list
}

func convert(found []*codec.Field, highest int16) []fieldSchema {
	var list []fieldSchema
	for _, f := range found {
		s := fieldSchema{
			Name: f.Name, Type: f.Type, About: f.About,
			Versions:         span(f.Versions, highest),
			NullableVersions: span(f.Nullable, highest),
			TaggedVersions:   span(f.Tagged, highest),
			Fields:           convert(f.Fields, highest),
		}
		if f.Tag >= 0 {
			s.Tag = &f.Tag
		}
		list = append(list, s)
	}
	return list
}

// span writes rising versions without gaps.
func span(versions []int16, highest int16) string {
	if len(versions) == 0 {
		return ""
	}
	first, last := versions[0], versions[len(versions)-1]
	switch {
	case last == highest:
		return fmt.Sprintf("%d+", first)
	case first == last:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
