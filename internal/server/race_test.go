//go:build race

package server

// raced says that the race detector is in: memory then costs several times
// as much.
const raced = true
