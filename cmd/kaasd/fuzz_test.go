package main

import "testing"

// FuzzProperties holds that no file of client properties and no JAAS text
// ends the command otherwise than with an error.
func FuzzProperties(f *testing.F) {
	for _, seed := range []string{"a=b\n", "a\\u0041 : b\\\n c\n", "# x\n!y\n\\", "k=\\u12", `required username="a\"b" password=c;`, "=;\"", "a=\"b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range logicalLines(text) {
			if _, _, err := splitProperty(line.text); err != nil && line.number < 1 {
				t.Errorf("an error on line %d", line.number)
			}
		}
		user, password, err := jaasLogin(text)
		if err != nil && (user != "" || password != "") {
			t.Errorf("a log-in beside the error %v", err)
		}
	})
}

// FuzzSettings holds that a settings file is read or refused, and that what
// is read settles or says why not.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"", "log.level: info\n", "a: [1, 2]\nb: {c: d}\n", "listeners: X://:1\n", "&a a: *a\n", "- x\n", "node.id: 99999999999999999999\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := readSettings("kaasd.yaml", []byte(text))
		if err != nil {
			return
		}
		g := &given{table: options(), values: map[string]value{}}
		for _, p := range pairs {
			_ = g.take(p)
		}
		if s, err := g.settle(); err == nil && len(s.Listeners) == 0 {
			t.Error("settled without a listener")
		}
	})
}

// FuzzSize holds that what a size is written as is read back.
func FuzzSize(f *testing.F) {
	f.Add(int64(1 << 20))
	f.Add(int64(1234567))
	f.Fuzz(func(t *testing.T, n int64) {
		v := float64(n)
		if n < 0 || int64(v) != n {
			return
		}
		if back, err := parseSize(formatSize(v)); err != nil || back != v {
			t.Errorf("%v is written as %q and read back as %v, %v", v, formatSize(v), back, err)
		}
	})
}
