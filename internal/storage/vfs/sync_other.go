//go:build !linux

package vfs

// Sync is what the system has.
func (f osFile) Sync() error { return f.File.Sync() }
