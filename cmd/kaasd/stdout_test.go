package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// closed is a stream that takes nothing.
type closed struct{ err error }

func (c closed) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: c.err}
}

// onto runs the command with a stdout that fails so.
func onto(fault error, args ...string) (code int, errs string) {
	var stderr strings.Builder
	a := &app{in: strings.NewReader(""), out: closed{fault}, err: &stderr}
	root := newRoot(a)
	root.SetArgs(args)
	code = a.report(root.Execute())
	return code, stderr.String()
}

// TestUnwritten: an answer that nobody can have got is no success, whichever command
// gives it.
func TestUnwritten(t *testing.T) {
	const full = "kaasd: the answer could not be written to stdout: no space left on device\n"
	for _, command := range []string{
		"config show", "config init", "config env", "config validate", "credentials schema", "credentials validate FILE",
		"user list --file FILE", "version", "--version", "-h", "quota -h", "wire", "wire Fetch",
	} {
		for _, form := range []string{"table", "json"} {
			t.Run(command+" "+form, func(t *testing.T) {
				args := strings.Fields(strings.ReplaceAll(command, "FILE", credentialsOf(t, "alice")))
				code, errs := onto(syscall.ENOSPC, append(args, "-o", form)...)
				if code != exitFailed || !strings.HasSuffix(errs, full) || strings.Count(errs, "could not") != 1 {
					t.Errorf("= %d %q", code, errs)
				}
				if code, errs = onto(syscall.EPIPE, append(args, "-o", form)...); code != exitFailed || strings.Contains(errs, "kaasd:") {
					t.Errorf("a reader that has gone: %d %q", code, errs)
				}
			})
		}
	}
}

func credentialsOf(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials.json")
	if code, _, errs := try(nil, "user", "add", name, "--generate", "--file", file); code != exitOK {
		t.Fatal(errs)
	}
	return file
}

// TestUnwrittenEdits: a file that is changed is not unchanged because nobody could be
// told so.
func TestUnwrittenEdits(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"user set al --generate --file FILE", `user "al" was changed in FILE, but the new password could not be written to stdout: WHY (kaasd user set al --generate --file FILE makes another)`},
		{"user set al --generate --file FILE -o json", `user "al" was changed in FILE, but the new password could not be written to stdout: WHY (kaasd user set al --generate --file FILE makes another)`},
		{"user add bo --generate --file FILE", `user "bo" was added to FILE, but the new password could not be written to stdout: WHY (kaasd user set bo --generate --file FILE makes another)`},
		{"user set al --produce 1MiB --file FILE", `user "al" was changed in FILE, but the answer could not be written to stdout: WHY`},
		{"user remove al --yes --file FILE", `user "al" was removed from FILE, but the answer could not be written to stdout: WHY`},
	} {
		for _, fault := range []syscall.Errno{syscall.ENOSPC, syscall.EPIPE} {
			t.Run(fmt.Sprint(tt.args, " ", fault), func(t *testing.T) {
				file := credentialsOf(t, "al")
				before, _ := os.ReadFile(file)
				code, errs := onto(fault, strings.Fields(strings.ReplaceAll(tt.args, "FILE", file))...)
				want := "kaasd: " + strings.NewReplacer("FILE", file, "WHY", fault.Error()).Replace(tt.want) + "\n"
				if code != exitFailed || errs != want {
					t.Errorf("= %d %q, want %q", code, errs, want)
				}
				if after, _ := os.ReadFile(file); string(after) == string(before) {
					t.Error("the file is as before")
				}
			})
		}
	}
}

// TestStdoutIsClosed: a password that is made up, and a backup, are not made where
// nobody can get them. The null device is what Go puts in the place of a closed stdout.
func TestStdoutIsClosed(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode int
		code int
		want string
	}{
		{"closed", os.O_RDWR, exitFailed, "kaasd: stdout is closed: nobody would read the password (nothing is done)\n"},
		{"the null device", os.O_WRONLY, exitOK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			null, err := os.OpenFile(os.DevNull, tt.mode, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			file := filepath.Join(t.TempDir(), "credentials.json")
			var stderr strings.Builder
			a := &app{in: strings.NewReader(""), out: null, err: &stderr}
			root := newRoot(a)
			root.SetArgs([]string{"user", "add", "al", "--generate", "--file", file})
			if code := a.report(root.Execute()); code != tt.code || stderr.String() != tt.want {
				t.Errorf("= %d %q, want %d %q", code, stderr.String(), tt.code, tt.want)
			}
			if _, err := os.Stat(file); (err == nil) != (tt.code == exitOK) {
				t.Errorf("the file: %v", err)
			}
			root.SetArgs([]string{"quota", "export", "--bootstrap-server", "127.0.0.1:1"})
			if err := root.Execute(); strings.Contains(fmt.Sprint(err), "nobody would read the quotas") != (tt.code != exitOK) {
				t.Errorf("a backup: %v", err)
			}
		})
	}
}

// TestUnwrittenQuotas: a backup of which nothing was written is none, and quotas that
// were changed are.
func TestUnwrittenQuotas(t *testing.T) {
	for _, tt := range []struct {
		want string
		run  func(*app) error
	}{
		{"kaasd: the answer could not be written to stdout: no space left on device\n", func(a *app) error { return a.export(nil) }},
		{"kaasd: the quotas of user al were changed, but the answer could not be written to stdout: no space left on device\n", func(a *app) error {
			al := "al"
			return a.showAlteration(alteration{entity: kadm.ClientQuotaEntity{{Type: "user", Name: &al}}}, false)
		}},
		{"kaasd: the answer could not be written to stdout: no space left on device\n", func(a *app) error {
			return a.showAlteration(alteration{}, true)
		}},
	} {
		var stderr strings.Builder
		a := &app{out: closed{syscall.ENOSPC}, err: &stderr}
		newRoot(a)
		a.format = "table"
		if code := a.report(tt.run(a)); code != exitFailed || stderr.String() != tt.want {
			t.Errorf("= %d %q, want %q", code, stderr.String(), tt.want)
		}
	}
}
