package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

func newStorage(a *app) *cobra.Command {
	return group(a, "storage", "look after a data folder", newStorageVerify(a))
}

// storageProblem is one finding for JSON.
type storageProblem struct {
	File     string `json:"file"`
	Position int64  `json:"position"` // in bytes
	Offset   int64  `json:"offset"`   // -1: cannot be told
	Problem  string `json:"problem"`
}

func newStorageVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "read every batch of a data folder that no broker is using; nothing is changed",
		Args:  oneArg("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			problems := []storageProblem{}
			err := segment.Verify(vfs.OS(), args[0], func(f segment.Finding) {
				problems = append(problems, storageProblem{f.File, f.Position, f.Offset, f.Problem})
				if !a.json() {
					a.printf("%s\n", f)
				}
			})
			if err != nil {
				return verifyError(args[0], err)
			}
			return a.showProblems(args[0], problems)
		},
	}
}

func verifyError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exitWith(exitInput, "%s: %w", dir, fs.ErrNotExist)
	}
	var taken *vfs.LockedError
	if errors.As(err, &taken) {
		return exitWith(exitFailed, "%w (stop it first, or verify a copy: its files change while they are read)", err)
	}
	return &exitError{code: exitInput, err: err}
}

func (a *app) showProblems(dir string, problems []storageProblem) error {
	if a.json() {
		if err := a.document(map[string]any{"dir": dir, "problems": problems}); err != nil {
			return err
		}
	} else {
		a.printf("%s: %s\n", dir, count(len(problems), "problem"))
	}
	if len(problems) > 0 {
		return silent(exitFailed)
	}
	return nil
}
