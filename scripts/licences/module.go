package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one that the binary is built of.
type module struct {
	path, version string
	dir           string // in the module cache
}

// modules are those that a package of this module needs, in order.
func modules(pkg string) ([]module, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", pkg)
	out, err := list.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return nil, fmt.Errorf("list the modules of %s: %w", pkg, err)
	}
	var all []module
	for _, line := range slices.Compact(slices.Sorted(strings.Lines(string(out)))) {
		if parts := strings.Split(strings.TrimSpace(line), "\t"); len(parts) == 3 {
			all = append(all, module{parts[0], parts[1], parts[2]})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s needs no module", pkg)
	}
	return all, nil
}

// licenceFile is how a file with a licence is called.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$`)

// licences reads those of the module and judges them.
func (m module) licences() (names []string, err error) {
	if m.dir == "" {
		return nil, errors.New("is not in the module cache (go mod download brings it)")
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, err
	}
	var refused []string
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found := recognise(string(text))
		if len(found) == 0 {
			refused = append(refused, "the text of "+e.Name()+", which is not known")
		}
		for _, l := range found {
			names = append(names, l.name)
			if !l.allowed {
				refused = append(refused, l.name+" in "+e.Name())
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(refused) > 0:
		return names, fmt.Errorf("has %s", strings.Join(refused, " and "))
	case len(names) == 0:
		return nil, errors.New("has no licence")
	}
	return names, nil
}
