package credstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"kaasd/internal/watch"
)

// ErrProjected refuses to edit a file that Kubernetes writes.
var ErrProjected = errors.New("this file is projected by Kubernetes and would be overwritten: change the KafkaUser or the Secret")

// ErrNoFile is an edit of a file that is not there.
var ErrNoFile = errors.New("there is no such credentials file")

// Edit changes the file in one step: it appears under its name whole, with
// the mode and owner it had, or stays as it was. A file behind a symbolic link
// is changed where it is. With create, a file that is missing is made,
// readable by its owner only. Edits wait for each other, for up to 5 s; what
// others write meanwhile stays, and is an error here.
func Edit(path string, create bool, change func(*Document) error) error {
	for _, link := range watch.Links(path) {
		if filepath.Base(link) == "..data" {
			return ErrProjected
		}
	}
	target, err := resolve(path)
	if err != nil {
		return err
	}
	release, err := lockFolder(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer release()
	if now, err := resolve(path); err != nil || now != target { // a link was turned while this waited
		return changedMeanwhile(path)
	}
	return editLocked(path, target, create, change)
}

// editLocked is the edit, once no other one is under way in the target's folder.
func editLocked(path, target string, create bool, change func(*Document) error) error {
	before, err := Read(target)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return fmt.Errorf("%w: %s", ErrNoFile, path)
		}
		before, err = nil, nil
	}
	if err != nil {
		return err
	}
	after, err := edited(path, before, change)
	if err != nil {
		return err
	}
	return replace(target, before, after)
}

// resolve is where the path leads: the path itself where there is nothing.
func resolve(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a link that leads nowhere", path)
	}
	return path, nil
}

// edited is the text of the file after the change.
func edited(path string, before []byte, change func(*Document) error) ([]byte, error) {
	d, err := parseDocument(before)
	if err != nil {
		return nil, inFile(path, err)
	}
	if err := change(d); err != nil {
		return nil, err
	}
	return d.text()
}

// replace puts the new text in the place of the old, by way of a temporary
// file in the same folder.
func replace(path string, before, after []byte) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	var told *fs.PathError
	if errors.As(err, &told) { // the name of a temporary file says nothing to anybody
		return &fs.PathError{Op: "write in folder", Path: dir, Err: told.Err}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
		}
	}()
	if err := inherit(path, temp); err != nil {
		return err
	}
	if _, err := temp.Write(after); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if now, err := Read(path); err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, before) {
		return changedMeanwhile(path)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

func changedMeanwhile(path string) error {
	return fmt.Errorf("%s was changed by someone else meanwhile, nothing is written (try again)", path)
}

// inherit gives the new file the mode and the owner of the old one. A new
// file keeps 0600 and who made it.
func inherit(path string, temp *os.File) error {
	old, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mine, err := temp.Stat()
	if err != nil {
		return err
	}
	was, is := old.Sys().(*syscall.Stat_t), mine.Sys().(*syscall.Stat_t)
	if was.Uid != is.Uid || was.Gid != is.Gid {
		if err := temp.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("keep the owner of %s: %w", path, err)
		}
	}
	return temp.Chmod(old.Mode().Perm()) // after the owner, which clears bits
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
