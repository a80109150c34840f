package watch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFollow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"d/..1", "real/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "d/..1/c.json"), "1")
	write(t, filepath.Join(root, "real/deep/c.json"), "1")
	for link, target := range map[string]string{
		"d/..data":         "..1",
		"d/c.json":         "..data/c.json",
		"alias":            filepath.Join(root, "real"),
		"other/up":         "../alias/deep/../deep",
		"loop":             "loop",
		"other/into-loop":  "../loop/x",
		"other/to-nowhere": "gone/c.json",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]struct {
		names, dirs []string
		found       bool
	}{
		"real/deep/c.json": {[]string{"real/deep/c.json"}, []string{"real/deep"}, true},
		"d/c.json":         {[]string{"d/..1/c.json", "d/..data", "d/c.json"}, []string{"d", "d/..1"}, true},
		"alias/deep/c.json": {
			[]string{"alias", "real/deep/c.json"}, []string{"", "real/deep"}, true},
		"other/up/c.json": {
			[]string{"alias", "other/up", "real/deep/c.json"}, []string{"", "other", "real/deep"}, true},
		"real/none.json":      {[]string{"real/none.json"}, []string{"real"}, false},
		"none/deeper/c.json":  {[]string{"none"}, []string{""}, false},
		"real/deep/c.json/x":  {[]string{"real/deep/c.json/x"}, []string{"real/deep/c.json"}, false},
		"other/to-nowhere":    {[]string{"other/gone", "other/to-nowhere"}, []string{"other"}, false},
		"loop":                {[]string{"loop"}, []string{""}, false},
		"other/into-loop/..x": {[]string{"loop", "other/into-loop"}, []string{"", "other"}, false},
	} {
		t.Run(path, func(t *testing.T) {
			got := follow(filepath.Join(root, path))
			if diff := cmp.Diff(want.names, under(root, maps.Keys(got.names))); diff != "" {
				t.Errorf("names: %s", diff)
			}
			if diff := cmp.Diff(want.dirs, under(root, maps.Keys(got.dirs))); diff != "" {
				t.Errorf("folders: %s", diff)
			}
			if (got.file != nil) != want.found {
				t.Errorf("found %v, want %v", got.file != nil, want.found)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(root, "..1"), 0o700)
	write(t, filepath.Join(root, "..1/c.json"), "1")
	os.Symlink("..1", filepath.Join(root, "..data"))
	os.Symlink("..data/c.json", filepath.Join(root, "c.json"))
	want := []string{filepath.Join(root, "c.json"), filepath.Join(root, "..data")}
	if diff := cmp.Diff(want, Links(filepath.Join(root, "c.json"))); diff != "" {
		t.Error(diff)
	}
}

// under gives sorted paths relative to root.
func under(root string, paths func(func(string) bool)) []string {
	var names []string
	for path := range paths {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(path, root), "/"))
	}
	slices.Sort(names)
	return names
}
