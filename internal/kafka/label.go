package kafka

import (
	"strings"
	"unicode/utf8"
)

// MaxLabel is the longest label of a metric, in bytes.
const MaxLabel = 128

// Label makes a name that a client gave, of any bytes and any length, fit for
// the label of a metric. Two names may become one.
func Label(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= MaxLabel {
		return name
	}
	cut := MaxLabel - 1
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "~"
}
