package credstore

import (
	"strconv"
	"strings"
)

// fit is how a JSON number relates to the whole numbers of 64 bits.
type fit uint8

const (
	fits fit = iota
	notWhole
	tooSmall
	tooLarge
)

// parseWhole reads a JSON number that stands for a whole number in any of its
// notations. It works on the digits, so that 1e999999999 costs nothing.
func parseWhole(s string) (int64, fit) {
	s, negative := strings.CutPrefix(s, "-")
	outside := tooLarge
	if negative {
		outside = tooSmall
	}
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(s, "E", "e"), "e")
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	if digits == "" {
		return 0, fits
	}
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil && strings.HasPrefix(exponent, "-") {
			return 0, notWhole
		} else if err != nil {
			return 0, outside
		}
	}
	trimmed := strings.TrimRight(digits, "0")
	shift += len(digits) - len(trimmed) - len(fraction)
	switch {
	case shift < 0:
		return 0, notWhole
	case shift > 19 || len(trimmed)+shift > 19:
		return 0, outside
	}
	n, err := strconv.ParseInt(trimmed+strings.Repeat("0", shift), 10, 64)
	if err != nil {
		return 0, outside
	}
	if negative {
		n = -n
	}
	return n, fits
}
