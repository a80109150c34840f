package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestThePageCountsTargets: docs/security.md says how many there are.
func TestThePageCountsTargets(t *testing.T) {
	t.Chdir("../..")
	all, err := rooms(regexp.MustCompile("."))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, r := range all {
		count += len(r.targets)
	}
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`is fuzzed by (\d+) targets`).FindSubmatch(page)
	if told == nil || string(told[1]) != strconv.Itoa(count) {
		t.Errorf("there are %d targets, and docs/security.md says %q", count, told)
	}
}
