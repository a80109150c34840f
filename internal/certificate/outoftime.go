package certificate

import (
	"errors"
	"time"
)

// outOfTime is about what does not count at the moment.
type outOfTime struct {
	error
	begins time.Time // when it is still to come; else zero
}

// Begins is when that begins which has not yet, if that is the error; else zero.
func Begins(err error) time.Time {
	var early *outOfTime
	if errors.As(err, &early) {
		return early.begins
	}
	return time.Time{}
}

// stamp is a moment as errors and lines of the log write it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
