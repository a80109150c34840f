package main

import (
	"slices"
	"unicode/utf8"
)

// press takes what one read from the keyboard has given, and says whether it
// ends the screen. An arrow and its like come as several bytes from escape on.
func (v *topView) press(keys string) (quit bool) {
	if len(keys) > 1 && keys[0] == keyEscape {
		return false
	}
	for _, key := range keys {
		switch {
		case key == keyInterrupt:
			return true
		case v.typing:
			v.typed(key)
		case key == 'q':
			return true
		default:
			v.command(key)
		}
	}
	return false
}

const (
	keyInterrupt = 3 // Ctrl-C
	keyEnter     = '\r'
	keyEscape    = 27
	keyBackspace = 127
)

func (v *topView) command(key rune) {
	switch key {
	case 's':
		v.sort = topSorts[(slices.Index(topSorts, v.sort)+1)%len(topSorts)]
	case 'p':
		v.paused = !v.paused
	case '/':
		v.typing = true
	case keyEscape:
		v.filter = ""
	}
}

func (v *topView) typed(key rune) {
	switch {
	case key == keyEnter || key == '\n':
		v.typing = false
	case key == keyEscape:
		v.typing, v.filter = false, ""
	case key == keyBackspace || key == '\b':
		_, last := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-last]
	case key >= ' ' && key != utf8.RuneError:
		v.filter += string(key)
	}
}
