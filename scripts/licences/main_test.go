package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every module of the binary has a licence that lets it be there.
func TestModulesOfKaasd(t *testing.T) {
	var out strings.Builder
	if err := check(&out, "kaasd/cmd/kaasd"); err != nil {
		t.Error(err)
	}
	for _, line := range []string{"go.uber.org/zap", "Apache-2.0", "MIT", "BSD-3-Clause"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%s is not in\n%s", line, out.String())
		}
	}
}

const (
	mit    = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software ...\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT\nWARRANTY OF ANY KIND, EXPRESS OR IMPLIED"
	apache = "                              Apache License\n                        Version 2.0, January 2004\n"
	bsd    = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided that the following conditions are\nmet:\n"
	third  = "* Neither the name of Google LLC nor the names of its"
	fourth = "3. All advertising materials mentioning features or use of this software"
	mpl    = "Mozilla Public License Version 2.0"
	gpl    = "        GNU GENERAL PUBLIC LICENSE\n           Version 3, 29 June 2007"
	lgpl   = "GNU LESSER GENERAL PUBLIC LICENSE\n           Version 3, 29 June 2007"
)

func TestModule(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
		fault string // part of it; empty for none
	}{
		{"MIT", map[string]string{"LICENSE": mit}, []string{"MIT"}, ""},
		{"Apache", map[string]string{"LICENSE.txt": apache, "NOTICE": "by somebody"}, []string{"Apache-2.0"}, ""},
		{"three clauses", map[string]string{"LICENCE.md": bsd + third}, []string{"BSD-3-Clause"}, ""},
		{"two clauses", map[string]string{"COPYING": bsd}, []string{"BSD-2-Clause"}, ""},
		{"four clauses", map[string]string{"COPYING": bsd + fourth + third}, []string{"BSD-4-Clause"}, "BSD-4-Clause in COPYING"},
		{"two in one file", map[string]string{"LICENSE": mit + "\n\n" + apache}, []string{"Apache-2.0", "MIT"}, ""},
		{"two files", map[string]string{"LICENSE": mit, "LICENSE-APACHE": apache}, []string{"Apache-2.0", "MIT"}, ""},
		{"MPL", map[string]string{"LICENSE": mpl}, []string{"MPL-2.0"}, "has MPL-2.0 in LICENSE"},
		{"GPL", map[string]string{"COPYING": gpl}, []string{"GPL"}, "has GPL in COPYING"},
		{"LGPL beside MIT", map[string]string{"COPYING.LESSER": lgpl, "LICENSE": mit}, []string{"LGPL", "MIT"}, "has LGPL in COPYING.LESSER"},
		{"unknown", map[string]string{"LICENSE": "Do what you like, unless you are my neighbour."}, nil, "the text of LICENSE, which is not known"},
		{"unknown beside MIT", map[string]string{"LICENSE": mit, "LICENSE.extra": "And pay."}, []string{"MIT"}, "LICENSE.extra"},
		{"none", map[string]string{"README": mit}, nil, "has no licence"},
		{"not downloaded", nil, nil, "go mod download"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := module{path: "example.com/m", version: "v1.0.0"}
			if c.files != nil {
				m.dir = t.TempDir()
			}
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := m.licences()
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got error %v, want one with %q", err, c.fault)
			}
		})
	}
}

func TestUnknownPackage(t *testing.T) {
	if err := check(io.Discard, "kaasd/cmd/none"); err == nil {
		t.Error("no error for a package that does not exist")
	}
}
