package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// json says whether the answer is asked for as one JSON document.
func (a *app) json() bool { return a.format == "json" }

// document writes the answer as one JSON document on one line.
func (a *app) document(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// jsonLine is v as JSON, without a line feed.
func jsonLine(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// printf writes a part of the answer; what cannot be written is told at the end.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// note is for people, beside the answer.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// printable is text without what would steer a terminal: names come from
// clients.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0 {
		return text
	}
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// widest is the most characters that a column is made wide. A longer cell stands
// there whole and moves the rest of its own row, not of all rows.
const widest = 64

// table writes rows in columns two spaces apart, the last one unpadded. The
// first row is the heading.
func table(w io.Writer, indent string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
		}
	}
	widths := columnWidths(rows)
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), widest))
		}
	}
	return widths
}
