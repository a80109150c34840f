package kafka

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongMessages: what a client sent is quoted in the answer, which must hold it.
func TestLongMessages(t *testing.T) {
	for name, long := range map[string]string{
		"plain": strings.Repeat("x", 32000), "zeros": strings.Repeat("\x00", 32000), "two bytes each": strings.Repeat("ü", 16000),
		"no UTF-8": strings.Repeat("\x80", 32000),
	} {
		err := Errorf(InvalidRequest, "%s and %q", long, long)
		if got := MessageOf(err); len(got) > maxMessage || len(got) < maxMessage-utf8.UTFMax || !strings.HasSuffix(got, "~") || utf8.ValidString(got) != utf8.ValidString(long) {
			t.Errorf("%s: %d bytes, ends with %q", name, len(got), got[len(got)-8:])
		}
	}
	cause := errors.New("why")
	if got := Errorf(InvalidRequest, "short: %w", cause); got.Message != "short: why" || !errors.Is(got, cause) {
		t.Errorf("got %v", got)
	}
}
