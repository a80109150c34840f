package wire

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kaasd/internal/codec"
)

// Text writes the grid, the tree and, when the frame does not decode, where
// it stopped.
func (p *Page) Text(w io.Writer) error {
	if err := p.grid(w); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "\n%s\n", line(p.Tree))
	branches(out, "", p.Tree.Children)
	if p.Err != nil {
		fmt.Fprintf(out, "\nstopped at %v\n", p.Err)
	}
	return out.Flush()
}

func branches(out *bufio.Writer, indent string, nodes []*codec.Node) {
	for i, n := range nodes {
		below := "|   "
		if i == len(nodes)-1 {
			below = "    "
		}
		fmt.Fprintf(out, "%s+-- %s\n", indent, line(n))
		branches(out, indent+below, n.Children)
	}
}

// line is name, type, value, note, place and about; what is missing is left
// out.
func line(n *codec.Node) string {
	parts := []string{n.Name}
	if n.Type != "" {
		parts = append(parts, n.Type)
	}
	if v := valueText(n); v != "" {
		parts = append(parts, "=", v)
	}
	if note := noteText(n); note != "" {
		parts = append(parts, "("+note+")")
	}
	parts = append(parts, fmt.Sprintf("[0x%04x, %dB]", n.Offset, n.Size))
	if n.About != "" {
		parts = append(parts, n.About)
	}
	return strings.Join(parts, " ")
}

// noteText is the note, or for bytes that are text what they say.
func noteText(n *codec.Node) string {
	b, ok := n.Value.([]byte)
	if n.Note == "" && ok && len(b) > 0 && len(b) <= shown && printable(b) == string(b) {
		return strconv.Quote(string(b))
	}
	return n.Note
}

// shown is how many bytes of a byte array a line tells.
const shown = 32

func valueText(n *codec.Node) string {
	if n.Null {
		return "null"
	}
	switch v := n.Value.(type) {
	case nil:
		return ""
	case string:
		if n.Type == "uuid" {
			return v
		}
		return strconv.Quote(v)
	case codec.Count:
		return plural(int(v), "element")
	case codec.Raw:
		return plural(len(v), "byte")
	case []byte:
		return bytesText(v)
	}
	return fmt.Sprint(n.Value)
}

func bytesText(b []byte) string {
	if len(b) == 0 {
		return "empty"
	}
	if len(b) > shown {
		return fmt.Sprintf("%x... (%d bytes)", b[:shown], len(b))
	}
	return fmt.Sprintf("%x", b)
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
