package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLongValues: of a value that is a megabyte the ends are told, whoever gives it and
// whoever finds it wrong.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("\u00e9", 300_000)
	for _, tt := range []struct{ name, file, flag, variable, back string }{
		{name: "file", file: "node.id: " + long, back: `é" is not a whole number`},
		{name: "flag", flag: "--log-level=" + long, back: `é" is not one of debug, info, warn, error`},
		{name: "variable", variable: "KAASD_QUOTA_IDLE=" + long, back: `é" is not a duration (such as 500ms, 30s or 1h)`},
		{name: "whole configuration", flag: "--http-listen=" + long, back: `é" is not host:port with a port of 0 to 65535`},
		{name: "listeners", flag: "--listeners=" + long, back: `é" is not NAME://host:port`},
		{name: "a file that it names", flag: "--credentials-file=" + long, back: "é: file name too long"},
		{name: "key", file: "? " + long + "\n: 1", back: `é" (kaasd config init prints all keys)`},
		{name: "the file's own name", flag: "--config=" + long, back: "é: file name too long (--config names another file)"},
		{name: "a strange variable", variable: "KAASD_" + long + "=1", back: "é (kaasd config env lists them)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args, env := []string{"config", "validate"}, []string(nil)
			if tt.file != "" {
				file := filepath.Join(t.TempDir(), "kaasd.yaml")
				if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, file)
			}
			if tt.flag != "" {
				args = append(args, tt.flag)
			}
			if tt.variable != "" {
				env = append(env, tt.variable)
			}
			_, _, errs := try(env, args...)
			left := regexp.MustCompile(`é\.\.\.\[(29|30)[0-9]{4} characters left out\]\.\.\.é`)
			if n := len([]rune(errs)); n > 500 || !left.MatchString(errs) || !strings.HasSuffix(errs, tt.back+"\n") {
				t.Errorf("%d characters: %.1000s", n, errs)
			}
		})
	}
}
