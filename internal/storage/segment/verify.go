package segment

import (
	"fmt"
	"io"
	"path"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage/vfs"
)

// Finding is one thing that Verify found wrong.
type Finding struct {
	File     string // within the data folder
	Position int64  // in bytes; 0 when it concerns the whole file
	Offset   int64  // the first one that is concerned; -1 when that can not be told
	Problem  string
}

// String is one line for a reader.
func (f Finding) String() string {
	return fmt.Sprintf("%s: byte %d, offset %d: %s", f.File, f.Position, f.Offset, f.Problem)
}

// Verify reads every log of a data folder that no broker is using, changes
// nothing, and reports what it finds wrong. A torn end behind the last good
// batch is among it: the next start cuts it off. The error is for what can not
// be read, and for a folder that a broker holds (*vfs.LockedError is below it):
// its files change while they are read.
func Verify(fsys vfs.FS, dir string, report func(Finding)) error {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list data folder %s: %w", dir, err)
	}
	v := verifier{fs: fsys, root: dir, report: report}
	if !vfs.Exists(fsys, path.Join(dir, propertiesFile)) {
		return fmt.Errorf("%s is no data folder: it has no %s", dir, propertiesFile)
	}
	if err := fsys.Locked(path.Join(dir, lockFile)); err != nil {
		return lockError(dir, err)
	}
	for _, name := range names {
		if _, ok := parseFolder(name); !ok {
			continue
		}
		if err := v.folder(name); err != nil {
			return fmt.Errorf("verify %s: %w", path.Join(dir, name), err)
		}
	}
	return nil
}

type verifier struct {
	fs     vfs.FS
	root   string
	report func(Finding)
	end    int64 // offset behind the last good batch of the folder; -1 before the first
}

func (v *verifier) folder(name string) error {
	dir := path.Join(v.root, name)
	names, err := v.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	v.end = -1
	for _, file := range names {
		if base, ok := parseBase(file, logSuffix); ok {
			if err := v.segment(name, file, base); err != nil {
				return err
			}
		}
		if offset, ok := parseBase(file, snapshotSuffix); ok {
			raw, err := vfs.ReadFile(v.fs, path.Join(dir, file), 1<<30)
			if err != nil {
				return err
			}
			if _, err := decodeProducers(raw, 0); err != nil {
				v.report(Finding{path.Join(name, file), 0, offset, err.Error()})
			}
		}
	}
	if id, err := readMetadata(v.fs, dir); v.end > 0 && (err != nil || id.IsZero()) {
		v.report(Finding{path.Join(name, metadataFile), 0, -1, "the topic id is missing or damaged"})
	}
	return nil
}

// segment walks one file as recovery does.
func (v *verifier) segment(folder, name string, base int64) error {
	file, err := v.fs.Open(path.Join(v.root, folder, name))
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return err
	}
	where := path.Join(folder, name)
	if v.end >= 0 && base != v.end {
		v.report(Finding{where, 0, v.end, fmt.Sprintf("begins at offset %d, the segment before ends at %d", base, v.end)})
	}
	v.end = base
	w := newWalker(file, size)
	defer w.close()
	pos, err := v.walk(w, file)
	if err == nil {
		return v.indexes(where, base, size, file)
	}
	v.report(Finding{where, pos, v.end, err.Error()})
	return nil
}

// walk gives the position and the reason of the first failure.
func (v *verifier) walk(w *walker, file vfs.File) (pos int64, err error) {
	var scratch record.Batch
	for {
		b, err := w.header(pos)
		if err == io.EOF {
			return pos, nil
		}
		if err != nil {
			return pos, err
		}
		if scratch, err = readBatch(file, b, pos, scratch); err != nil {
			return pos, err
		}
		if err := scratch.Check(); err != nil {
			return pos, err
		}
		if scratch.BaseOffset() != v.end {
			return pos, fmt.Errorf("batch begins at offset %d, %d is expected", scratch.BaseOffset(), v.end)
		}
		v.end = scratch.NextOffset()
		pos += scratch.Size()
	}
}

// indexes looks at the index files, where there are any.
func (v *verifier) indexes(where string, base, size int64, file vfs.File) error {
	seg := &segment{base: base, path: path.Join(v.root, where[:len(where)-len(logSuffix)])}
	seg.size.Store(size)
	seg.next.Store(v.end)
	_, err := loadIndex(v.fs, seg, file)
	if err != nil && !missing(err) {
		v.report(Finding{where[:len(where)-len(logSuffix)] + indexSuffix, 0, base, err.Error() + ": it will be made anew"})
	}
	return nil
}
