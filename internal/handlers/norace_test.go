//go:build !race

package handlers

// raced says that the race detector is in.
const raced = false
