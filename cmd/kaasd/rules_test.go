package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// knownMetrics are the names that a broker has exported, as its own test has
// written them down.
func knownMetrics(t *testing.T) map[string]bool {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join("..", "..", "internal", "broker", "testdata", "metrics*.txt"))
	if err != nil || len(lists) == 0 {
		t.Fatalf("no lists of metrics: %v", err)
	}
	known := map[string]bool{"up": true}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if name := strings.Fields(line); len(name) > 0 {
				known[name[0]] = true
			}
		}
	}
	return known
}

// TestRules holds that the rules ask for what is exported or recorded, and
// that each alert has its chapter.
func TestRules(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Record, Alert, Expr string
				Annotations         map[string]string
			}
		}
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "kaasd-rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	chapters, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := knownMetrics(t)
	rules := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			rules++
			if rule.Record != "" {
				known[rule.Record] = true
			}
			for _, name := range metricsIn(rule.Expr) {
				if !known[name] {
					t.Errorf("%s%s asks for %s, which nobody exports", rule.Alert, rule.Record, name)
				}
			}
			if rule.Alert == "" {
				continue
			}
			if want := "docs/alerts.md#" + strings.ToLower(rule.Alert); rule.Annotations["runbook"] != want {
				t.Errorf("%s: runbook %q, want %q", rule.Alert, rule.Annotations["runbook"], want)
			}
			if !strings.Contains(string(chapters), "\n## "+rule.Alert+"\n") {
				t.Errorf("docs/alerts.md has no chapter %s", rule.Alert)
			}
		}
	}
	if rules < 10 {
		t.Errorf("%d rules are found", rules)
	}
}

// metricsIn are the names of metrics in an expression: the words with an
// underscore or a colon that stand outside of quotes and label lists.
func metricsIn(expr string) []string {
	expr = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|(by|on) *\([^)]*\)|\[[^\]]*\]`).ReplaceAllString(expr, " ")
	words := regexp.MustCompile(`[a-z_][a-z0-9_:]*`).FindAllString(expr, -1)
	return slices.DeleteFunc(words, func(word string) bool { return word != "up" && !strings.ContainsAny(word, "_:") })
}

func TestMetricsIn(t *testing.T) {
	got := metricsIn(`sum by (instance, user_id) (rate(kaasd_a_total{error="NOT_A_NAME"}[5m])) / on (job_x) kaasd:b:ratio > 0.5 and up == 0`)
	if want := []string{"kaasd_a_total", "kaasd:b:ratio", "up"}; !slices.Equal(got, want) {
		t.Errorf("metrics = %q, want %q", got, want)
	}
}
