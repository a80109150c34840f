package message

// maxKept is the largest array that a reset message keeps, in elements.
const maxKept = 1024

// kept is an array without its elements, for the next message.
func kept[T any](s []T) []T {
	if cap(s) > maxKept {
		return nil
	}
	return s[:0]
}
