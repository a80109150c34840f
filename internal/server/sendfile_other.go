//go:build !linux

package server

import "errors"

// SendFile is not there: files are read.
func (o *outlet) SendFile(uintptr, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
