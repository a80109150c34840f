package main

import "testing"

func TestTabsInSettings(t *testing.T) {
	for raw, want := range map[string]string{
		"x:\n\ty: 2\n":   "f.yaml:2: found character that cannot start any token (YAML takes no tabs at the beginning of a line, spaces alone)",
		"x: 1\ny: @z\n":  "f.yaml:2: found character that cannot start any token",
		"x: [1,\n\t2]\n": "<nil>",
	} {
		_, err := readSettings("f.yaml", []byte(raw))
		if err == nil && want == "<nil>" {
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", raw, err, want)
		}
	}
}
