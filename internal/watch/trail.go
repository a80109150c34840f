package watch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// trail is the way from a path to its file: where something can change so
// that the path leads to other content.
type trail struct {
	names map[string]bool        // full paths of the file and of the links on the way
	dirs  map[string]os.FileInfo // folders that hold them, as they were
	file  os.FileInfo            // nil where there is none
	links []string               // the links, in the order they are followed
}

// maxLinks is how many links are followed, as in the kernel.
const maxLinks = 40

// follow walks the path. Where a part of it is missing, the trail ends in the
// folder in which that part would appear.
func follow(path string) trail {
	t := trail{names: map[string]bool{}, dirs: map[string]os.FileInfo{}}
	path, err := filepath.Abs(path)
	if err != nil {
		return t
	}
	at, rest := "/", parts(path)
	for len(rest) > 0 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			t.stop(at, next)
			return t
		case info.Mode()&os.ModeSymlink != 0:
			t.stop(at, next)
			t.links = append(t.links, next)
			target, err := os.Readlink(next)
			if err != nil || len(t.links) > maxLinks {
				return t
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = slices.Concat(parts(target), rest)
		case len(rest) == 0:
			t.stop(at, next)
			t.file = info
		default:
			at = next
		}
	}
	return t
}

// stop notes that a change of name in the folder dir matters.
func (t *trail) stop(dir, name string) {
	t.names[name] = true
	if info, err := os.Stat(dir); err == nil {
		t.dirs[dir] = info
	}
}

// same says whether a watch set for o is right for t: the same names in the
// same folders, and none of the folders replaced.
func (t trail) same(o trail) bool {
	if len(t.names) != len(o.names) || len(t.dirs) != len(o.dirs) {
		return false
	}
	for name := range t.names {
		if !o.names[name] {
			return false
		}
	}
	for dir, info := range t.dirs {
		if before, ok := o.dirs[dir]; !ok || !os.SameFile(info, before) {
			return false
		}
	}
	return true
}

// changed says whether the file is another one or has other content, as far
// as size, time and inode can tell.
func (t trail) changed(o trail) bool {
	if t.file == nil || o.file == nil {
		return (t.file == nil) != (o.file == nil)
	}
	return !os.SameFile(t.file, o.file) || t.file.Size() != o.file.Size() || !t.file.ModTime().Equal(o.file.ModTime())
}

// parts is the elements of a path; ".." stays, since the folder before it may
// be a link.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." })
}

// Links is the symbolic links that the path leads through, in the order they
// are followed.
func Links(path string) []string { return follow(path).links }
