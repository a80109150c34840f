package main

import (
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	in := func(name string, size int, reaches string) input {
		return input{name: name, text: make([]byte, size), reaches: set(reaches)}
	}
	for _, c := range []struct {
		name   string
		inputs []input
		known  string
		most   int
		want   []string
	}{
		{"nothing there", nil, "a", 9, nil},
		{"nothing new", []input{in("x", 1, "ab")}, "abc", 9, nil},
		{"most new blocks first", []input{in("x", 1, "a"), in("y", 9, "abc"), in("z", 1, "d")}, "", 9, []string{"y", "z"}},
		{"what is known does not count", []input{in("x", 9, "abcd"), in("y", 1, "de")}, "abc", 9, []string{"y"}},
		{"what was chosen is known", []input{in("x", 1, "abc"), in("y", 1, "bc"), in("z", 1, "cd")}, "", 9, []string{"x", "z"}},
		{"of equals the smallest", []input{in("x", 3, "ab"), in("y", 2, "ab"), in("z", 4, "ab")}, "", 9, []string{"y"}},
		{"of equals the first by name", []input{in("y", 2, "ab"), in("x", 2, "ab")}, "", 9, []string{"x"}},
		{"just small", []input{in("x", small, "abc"), in("y", 1, "ab")}, "", 9, []string{"x"}},
		{"large for what is left", []input{in("x", small+1, "abcd"), in("y", 1, "ab"), in("z", 1, "c")}, "", 9, []string{"y", "z", "x"}},
		{"large for nothing", []input{in("x", small+1, "abc"), in("y", 1, "ab"), in("z", 1, "c")}, "", 9, []string{"y", "z"}},
		{"no more than that", []input{in("x", 1, "a"), in("y", 1, "bcd"), in("z", 1, "ef")}, "", 2, []string{"y", "z"}},
		{"large within the bound", []input{in("x", small+1, "abc"), in("y", 1, "d")}, "", 1, []string{"y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := set(c.known)
			var got []string
			for _, in := range choose(c.inputs, known, c.most) {
				got = append(got, in.name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(known) != len(c.known) {
				t.Errorf("what is known became %v", known)
			}
		})
	}
}

// set has a block for each letter.
func set(letters string) blocks {
	all := blocks{}
	for _, r := range letters {
		all[block(r)] = true
	}
	return all
}
