package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// readHidden reads a line that the terminal does not show. Who is interrupted gives
// the terminal its echo back before it ends.
func readHidden(in *os.File) ([]byte, error) {
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	signals, read := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	defer close(read)
	go func() {
		select {
		case s := <-signals:
			_ = term.Restore(fd, before)
			signal.Reset(s)
			_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
		case <-read:
		}
	}()
	return term.ReadPassword(fd)
}
