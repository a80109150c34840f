// Package vfs is the file system beneath the logs: the real one, one in
// memory, and one that crashes on demand and tells what was called.
//
// Names are slash paths, handed to the real file system as they are. Errors
// match those of io/fs: a missing file is fs.ErrNotExist.
//
// What the contract says about durability is what POSIX says and no more:
// bytes survive a power cut once File.Sync returned, and a name (of a file
// that was made, renamed or removed) once SyncDir of its folder returned.
// Whoever relies on less is found out by Crash.
package vfs
