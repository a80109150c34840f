package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnit is a suffix of a size and how many bytes it stands for.
type sizeUnit struct {
	name  string
	bytes float64
}

var binaryUnits = []sizeUnit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
var decimalUnits = []sizeUnit{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}

// parseSize reads 1048576, 1MiB, 1.5 GiB, 10MB (decimal) or 512B, in bytes.
func parseSize(text string) (float64, error) {
	number, unit := splitUnit(text)
	factor, ok := unitBytes(unit)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a size (such as 1048576, 1MiB or 10MB)", text)
	}
	bytes := v * factor
	if whole := math.Round(bytes); math.Abs(bytes-whole) < 1e-9*whole {
		return whole, nil // 1.1kB is 1100, not 1100.0000000000002
	}
	return bytes, nil
}

// splitUnit cuts text before its trailing letters.
func splitUnit(text string) (number, unit string) {
	text = strings.TrimSpace(text)
	at := len(text)
	for at > 0 && isLetter(text[at-1]) {
		at--
	}
	return strings.TrimSpace(text[:at]), text[at:]
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func unitBytes(unit string) (float64, bool) {
	if unit == "" || strings.EqualFold(unit, "B") {
		return 1, true
	}
	for _, units := range [][]sizeUnit{binaryUnits, decimalUnits} {
		for _, u := range units {
			if strings.EqualFold(unit, u.name) {
				return u.bytes, true
			}
		}
	}
	return 0, false
}

// formatSize writes v bytes without losing any: in the unit that makes it
// short, or in bytes.
func formatSize(v float64) string {
	for _, units := range [][]sizeUnit{binaryUnits, decimalUnits} {
		for _, u := range units {
			if n := v / u.bytes; v >= u.bytes && n*100 == math.Trunc(n*100) && n < 1024 {
				return strconv.FormatFloat(n, 'f', -1, 64) + " " + u.name
			}
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " B"
}

// roughSize writes v bytes as people say a measured number: 1.0 MiB, 214 MiB.
func roughSize(v float64) string {
	for _, u := range binaryUnits {
		if n := v / u.bytes; n >= 0.95 { // 1023 KiB is 1.0 MiB to people
			if n < 100 {
				return strconv.FormatFloat(n, 'f', 1, 64) + " " + u.name
			}
			return strconv.FormatFloat(n, 'f', 0, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " B"
}
