package wire

import (
	"bufio"
	"fmt"
	"io"
)

// perRow is how many bytes one row of the grid holds.
const perRow = 16

// grid writes the bytes as rows of an offset, hex digits and characters.
func (p *Page) grid(w io.Writer) error {
	out := bufio.NewWriter(w)
	for at := 0; at < len(p.Frame); at += perRow {
		row := p.Frame[at:min(at+perRow, len(p.Frame))]
		fmt.Fprintf(out, "%04x  %-*s  |%s|\n", at, 3*perRow-1, fmt.Sprintf("% x", row), printable(row))
	}
	return out.Flush()
}

func printable(row []byte) string {
	text := make([]byte, len(row))
	for i, c := range row {
		text[i] = '.'
		if ' ' <= c && c <= '~' {
			text[i] = c
		}
	}
	return string(text)
}
