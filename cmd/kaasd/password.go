package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"kaasd/internal/credstore"
)

// passwordFlags are the ways to give a password. None puts it on the command
// line, where every user of the machine could read it.
type passwordFlags struct{ stdin, generate bool }

func (f *passwordFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.stdin, "password-stdin", false, "read the password from stdin")
	c.Flags().BoolVar(&f.generate, "generate", false, "make up a password and print it once")
}

func (f *passwordFlags) given() bool { return f.stdin || f.generate }

// read gives the password, and again when it was made up here.
func (f *passwordFlags) read(a *app, user string) (password, generated string, err error) {
	switch {
	case f.generate && f.stdin:
		return "", "", usagef("--password-stdin and --generate exclude each other")
	case f.generate:
		password = credstore.NewPassword()
		return password, password, nil
	case f.stdin:
		password, err = a.passwordFromStdin()
		return password, "", err
	case isTerminal(a.in):
		password, err = a.askPassword(user)
		return password, "", err
	}
	return "", "", usagef("a password for %s is needed (--password-stdin, --generate, or a terminal to type it)", user)
}

// maxPassword is far above any sensible password: more is another file.
const maxPassword = 4 << 10

// byteOrderMark is what some editors and shells write before a text in UTF-8.
const byteOrderMark = "\ufeff"

// passwordFromStdin leaves out the mark before the text: nobody types it at a log-in.
func (a *app) passwordFromStdin() (string, error) {
	password, err := passwordFrom(a.in)
	if rest, marked := strings.CutPrefix(password, byteOrderMark); err == nil && marked {
		a.note("the byte order mark before the password on stdin is left out")
		password = rest
	}
	if err == nil {
		err = checkPassword("the password on stdin", password)
	}
	return password, err
}

// checkPassword refuses one that no client could log in with.
func checkPassword(what, password string) error {
	switch {
	case password == "":
		return usagef("%s is empty (is the variable it comes from set? --generate makes one up)", what)
	case strings.ContainsRune(password, 0):
		return usagef("%s holds a zero byte, which PLAIN cannot carry (is it UTF-16? UTF-8 is expected)", what)
	case !utf8.ValidString(password):
		return usagef("%s is not UTF-8, which log-ins are", what)
	}
	return nil
}

// passwordFrom reads all of r, without the line end that echo adds.
func passwordFrom(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if len(raw) > maxPassword {
		return "", usagef("the password on stdin is longer than %d bytes", maxPassword)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), nil
}

// askPassword asks twice, without an echo.
func (a *app) askPassword(user string) (string, error) {
	var typed [2]string
	for i, question := range []string{"password for " + user + ": ", "once more: "} {
		fmt.Fprint(a.err, printable(question))
		raw, err := readHidden(a.in.(*os.File))
		fmt.Fprintln(a.err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(raw)
	}
	switch {
	case typed[0] != typed[1]:
		return "", usagef("the two passwords differ")
	case typed[0] == "":
		return "", usagef("the password is empty")
	}
	return typed[0], checkPassword("the password", typed[0])
}
