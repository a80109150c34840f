package main

import (
	"context"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is the whole command with the process's own streams; it gives the exit
// code.
func run(args []string) int {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}
	root := newRoot(a)
	root.SetArgs(args)
	return a.report(root.ExecuteContext(context.Background()))
}

// app is what every command shares: the streams, the environment and the
// flags that stand everywhere.
type app struct {
	in       io.Reader
	out, err io.Writer
	stdout   *stdout // what out is, once the commands are made
	env      []string

	format  string // -o
	noColor bool
}
