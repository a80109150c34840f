package wire

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// ParseHex reads bytes as hex digits. Blanks and the characters | : , _ may
// stand between bytes, and 0x before them.
func ParseHex(text string) ([]byte, error) {
	var digits []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n|:,_", c) >= 0:
		case c == '0' && i+1 < len(text) && (text[i+1] == 'x' || text[i+1] == 'X'):
			i++
		case isHex(c):
			digits = append(digits, c)
		default:
			return nil, fmt.Errorf("character %q at position %d is not a hex digit", c, i+1)
		}
	}
	if len(digits)%2 != 0 {
		return nil, fmt.Errorf("%d hex digits are half a byte too many or too few", len(digits))
	}
	if len(digits) == 0 {
		return nil, fmt.Errorf("no hex digits were given")
	}
	b := make([]byte, len(digits)/2)
	_, err := hex.Decode(b, digits)
	return b, err
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
