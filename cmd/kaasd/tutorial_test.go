package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// tutorial turns the console blocks of a page into a script: what stands
// behind "$ " is run by a shell, and prints the lines below it. A start takes
// free ports instead of those of the page, and ends the broker that is there.
func tutorial(page string) (script string, commands int) {
	var files string
	var lines []string
	up := false
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			commands++
			if flags, ok := strings.CutPrefix(command, "kaasd start "); ok {
				if up {
					lines = append(lines, "down")
				}
				up = true
				lines = append(lines, "up "+regexp.MustCompile(`localhost:\d+`).ReplaceAllString(flags, "127.0.0.1:0"))
				continue
			}
			output = strings.TrimSuffix(output, "\n")
			lines = append(lines, "exec sh -c '"+strings.ReplaceAll(command, "'", "''")+"'")
			if output == "" {
				lines = append(lines, "! stdout .")
				continue
			}
			name := fmt.Sprintf("%d.txt", commands)
			lines = append(lines, "cmp stdout "+name)
			files += "-- " + name + " --\n" + output + "\n"
		}
	}
	return strings.Join(lines, "\n") + "\n" + files, commands
}

// TestTutorial types what docs/quotas.md tells to type, and compares what it
// prints with what the page says.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "quotas.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, commands := tutorial(string(page))
	if commands < 15 {
		t.Fatalf("the page has %d commands", commands)
	}
	path := filepath.Join(t.TempDir(), "tutorial.txtar")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p := scripts(t)
	p.Dir, p.Files, p.UpdateScripts = "", []string{path}, false
	testscript.Run(t, p)
}
