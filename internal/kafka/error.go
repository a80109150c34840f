package kafka

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Error is a failure a client may be told about.
type Error struct {
	Code    Code
	Message string // for the client; never a path or a secret of this house
	cause   error  // for the log
}

// maxMessage is the longest message, in bytes. Messages quote names that clients
// send, each up to 32 KiB and quoted four times that; the answer's field holds
// 32767 bytes.
const maxMessage = 4096

// Errorf makes an Error; a %w verb keeps its operand as the cause. A message that is
// too long ends with ~.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: bounded(err.Error()), cause: errors.Unwrap(err)}
}

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage - 1
	for cut > maxMessage-utf8.UTFMax && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "~"
}

// Hide makes an Error whose message says only what the code means, while the
// cause stays in the house for the log.
func Hide(code Code, cause error) *Error {
	return &Error{Code: code, Message: code.Text(), cause: cause}
}

// Error is the code's name and the message, with the cause when it is hidden.
func (e *Error) Error() string {
	text := e.Code.String()
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.cause != nil && e.Message == e.Code.Text() {
		text += " (" + e.cause.Error() + ")"
	}
	return text
}

// Unwrap is what caused the error, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf is the code a client is told for err: NoError for nil, and
// UnknownServerError for an error that carries no code.
func CodeOf(err error) Code {
	if err == nil {
		return NoError
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return UnknownServerError
}

// MessageOf is the text a client is told for err. The text of an error
// without a code stays in the house.
func MessageOf(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return UnknownServerError.Text()
}
