package credstore

import "kaasd/internal/watch"

// Read reads a credentials file as it is. An error begins with the path; more than
// MaxSize is one.
func Read(path string) ([]byte, error) { return watch.Read(path, MaxSize) }
