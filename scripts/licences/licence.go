package main

import (
	"slices"
	"strings"
	"unicode"
)

// licence is one that texts are recognised as.
type licence struct {
	name    string // SPDX identifier, or what a family is called
	allowed bool
	marks   []string // words that are all in its text, in lower case
	not     []string // words that are in the text of another like it
}

const redistribution = "redistribution and use in source and binary forms with or without modification are permitted provided that the following conditions are met"

// licences are the permissive ones that may be in the binary, and those that
// would bind whoever gives it away.
var licences = []licence{
	{name: "Apache-2.0", allowed: true, marks: []string{"apache license version 2 0 january 2004"}},
	{name: "Apache-2.0", allowed: true, marks: []string{"licensed under the apache license version 2 0"}},
	{name: "MIT", allowed: true, marks: []string{"permission is hereby granted free of charge to any person obtaining a copy", "the software is provided as is without warranty of any kind"}},
	{name: "BSD-3-Clause", allowed: true, marks: []string{redistribution, "neither the name"}, not: []string{"all advertising materials"}},
	{name: "BSD-2-Clause", allowed: true, marks: []string{redistribution}, not: []string{"neither the name", "all advertising materials"}},
	{name: "ISC", allowed: true, marks: []string{"permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted"}},
	{name: "BSD-4-Clause", marks: []string{redistribution, "all advertising materials"}},
	{name: "GPL", marks: []string{"gnu general public license"}},
	{name: "LGPL", marks: []string{"gnu lesser general public license"}},
	{name: "AGPL", marks: []string{"gnu affero general public license"}},
	{name: "MPL-2.0", marks: []string{"mozilla public license"}},
	{name: "EPL", marks: []string{"eclipse public license"}},
	{name: "CDDL", marks: []string{"common development and distribution license"}},
	{name: "BUSL", marks: []string{"business source license"}},
	{name: "SSPL", marks: []string{"server side public license"}},
}

// recognise names the licences that a text holds.
func recognise(text string) []licence {
	text = words(text)
	var found []licence
	for _, l := range licences {
		has := func(mark string) bool { return strings.Contains(text, mark) }
		if !slices.ContainsFunc(l.marks, func(m string) bool { return !has(m) }) && !slices.ContainsFunc(l.not, has) {
			found = append(found, l)
		}
	}
	return found
}

// words is the text without case, punctuation and line breaks.
func words(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}
