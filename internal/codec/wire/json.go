package wire

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"kaasd/internal/codec"
)

// jsonNode is a line of the tree.
type jsonNode struct {
	Name     string      `json:"name"`
	Type     string      `json:"type,omitempty"`
	Value    any         `json:"value"`
	Note     string      `json:"note,omitempty"`
	Offset   int         `json:"offset"`
	Length   int         `json:"length"`
	About    string      `json:"about,omitempty"`
	Children []*jsonNode `json:"children,omitempty"`
}

// jsonPage is a page.
type jsonPage struct {
	Frame string    `json:"frame"` // hex
	Tree  *jsonNode `json:"tree"`
	Error string    `json:"error,omitempty"`
}

// JSON writes the frame in hex, the tree and, when the frame does not decode,
// where it stopped. Byte arrays are hex, records are in the children, and
// numbers that JSON lacks are strings.
func (p *Page) JSON(w io.Writer) error {
	page := jsonPage{Frame: hex.EncodeToString(p.Frame), Tree: toJSON(p.Tree)}
	if p.Err != nil {
		page.Error = p.Err.Error()
	}
	return writeJSON(w, page)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func toJSON(n *codec.Node) *jsonNode {
	j := &jsonNode{Name: n.Name, Type: n.Type, Value: jsonValue(n), Note: n.Note, Offset: n.Offset, Length: n.Size, About: n.About}
	for _, child := range n.Children {
		j.Children = append(j.Children, toJSON(child))
	}
	return j
}

func jsonValue(n *codec.Node) any {
	if n.Null {
		return nil
	}
	switch v := n.Value.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case codec.Raw:
		return len(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	}
	return n.Value
}
