package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageCommands are the words behind each kaasd that a page tells to run, in its
// blocks and within its lines.
func pageCommands(text string) [][]string {
	fence := regexp.MustCompile("(?ms)^```(console)?$.*?^```$")
	var commands [][]string
	for _, block := range fence.FindAllString(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			line, _, _ = strings.Cut(strings.TrimPrefix(line, "$ "), " # ")
			for _, part := range regexp.MustCompile(`&&|\||;`).Split(line, -1) {
				commands = append(commands, kaasdWords(part)...)
			}
		}
	}
	for _, inline := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		commands = append(commands, kaasdWords(inline[1])...)
	}
	return commands
}

// kaasdWords is one list of words, or none when something else is run.
func kaasdWords(command string) [][]string {
	words := strings.Fields(command)
	for _, name := range []string{"kaasd ", "./dist/kaasd ", "go run ./cmd/kaasd "} {
		if rest, ok := strings.CutPrefix(strings.Join(words, " ")+" ", name); ok {
			if at := strings.IndexAny(rest, "<>"); at >= 0 {
				rest = rest[:at]
			}
			if words := strings.Fields(rest); len(words) > 0 {
				return [][]string{words}
			}
		}
	}
	return nil
}

// TestPages holds that every command and flag of kaasd in the README and the
// docs exists.
func TestPages(t *testing.T) {
	least := map[string]int{"README.md": 12, "docs/quotas.md": 20, "docs/alerts.md": 3, "docs/security.md": 10, "docs/tools.md": 1, "docs/settings.md": 3, "docs/kafka-differences.md": 0}
	for page, least := range least {
		raw, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		commands := pageCommands(string(raw))
		if len(commands) < least {
			t.Fatalf("%s: %d commands are found: %q", page, len(commands), commands)
		}
		for _, words := range commands {
			t.Run(page+"/"+strings.Join(words, " "), func(t *testing.T) {
				if err := understood(words); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// understood parses a command line and runs nothing.
func understood(words []string) error {
	root := newRoot(&app{})
	root.InitDefaultHelpCmd()
	c, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if c.HasSubCommands() {
		return usagef("%s says what there is, no more", c.CommandPath())
	}
	return c.ValidateArgs(c.Flags().Args())
}

func TestMisspeltIsNotUnderstood(t *testing.T) {
	for _, line := range []string{"strat", "quota sett --user a", "quota", "start --listener x", "user add", "version now"} {
		if understood(strings.Fields(line)) == nil {
			t.Errorf("kaasd %s is understood", line)
		}
	}
}
