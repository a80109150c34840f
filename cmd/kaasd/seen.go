package main

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// seen writes lines of the log so that nothing in them is unseen. The encoder
// escapes what JSON must; what a terminal takes for a command besides (DEL, the
// controls from U+0080 on) and what hides or turns the letters around it (marks
// of direction, separators of lines) clients can still put into names, of which
// certificates are made, too.
type seen struct{ w io.Writer }

func (s seen) Write(line []byte) (int, error) {
	if bytes.ContainsFunc(line, unseen) {
		if _, err := s.w.Write(escapeUnseen(line)); err != nil {
			return 0, err
		}
		return len(line), nil
	}
	return s.w.Write(line)
}

// unseen leaves alone what the encoder writes itself: ends of lines, colours.
func unseen(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }

// escapeUnseen writes them as JSON does (RFC 8259, section 7).
func escapeUnseen(line []byte) []byte {
	var out []byte
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		if unseen(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		} else {
			out = append(out, line[:size]...)
		}
		line = line[size:]
	}
	return out
}
