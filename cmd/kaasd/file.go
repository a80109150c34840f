package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pair is one key of the settings file.
type pair struct {
	key   string
	words []string // of a list; else the one value
	list  bool
	where string // file:line
}

// readSettings reads a YAML file of flat keys. It reports all that is wrong
// and gives what could be read.
func readSettings(path string, raw []byte) ([]pair, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, exitWith(exitInput, "%s: %s", syntaxWhere(path, raw), syntaxText(raw, err))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, exitWith(exitInput, "%s:%d: lines of \"key: value\" are expected", path, root.Line)
	}
	return readPairs(path, root)
}

// syntaxText is the error without the line of the YAML reader, which knows none
// for the first line and is one off for others. Of a tab it says too little.
func syntaxText(raw []byte, err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		_, text, _ = strings.Cut(rest, ": ")
	}
	if strings.Contains(text, "cannot start any token") && tabbed.Match(raw) {
		return text + " (YAML takes no tabs at the beginning of a line, spaces alone)"
	}
	return text
}

// tabbed is a line that begins with a tab.
var tabbed = regexp.MustCompile(`(?m)^ *\t`)

// syntaxLines is the length up to which the line of a mistake is looked for.
const syntaxLines = 1000

// syntaxWhere is file:line of a mistake: the line behind the longest beginning
// of the file that is right.
func syntaxWhere(path string, raw []byte) string {
	lines := bytes.SplitAfterN(raw, []byte("\n"), syntaxLines+1)
	if len(lines) > syntaxLines {
		return path
	}
	good, end := 0, 0
	for i, line := range lines {
		end += len(line)
		var doc yaml.Node
		if yaml.Unmarshal(raw[:end], &doc) == nil {
			good = i + 1
		}
	}
	return fmt.Sprintf("%s:%d", path, good+1)
}

func readPairs(path string, root *yaml.Node) ([]pair, error) {
	var pairs []pair
	var wrong []error
	first := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		where := fmt.Sprintf("%s:%d", path, key.Line)
		if line, twice := first[key.Value]; twice {
			wrong = append(wrong, exitWith(exitInput, "%s: key %q stands on line %d already", where, key.Value, line))
			continue
		}
		first[key.Value] = key.Line
		words, list, err := nodeWords(node)
		if err != nil {
			wrong = append(wrong, exitWith(exitInput, "%s: %s %w", where, key.Value, err))
			continue
		}
		pairs = append(pairs, pair{key.Value, words, list, where})
	}
	return pairs, errors.Join(wrong...)
}

// nodeWords is a scalar, or a list of scalars.
func nodeWords(n *yaml.Node) (words []string, list bool, err error) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return []string{""}, false, nil
		}
		return []string{n.Value}, false, nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, true, errors.New("holds a list of more than plain values")
			}
			words = append(words, item.Value)
		}
		return words, true, nil
	case yaml.AliasNode:
		return nodeWords(n.Alias)
	}
	return nil, false, errors.New("holds more keys: keys are flat (quota.model: user)")
}
