// Package watch notices that a file changed under us: credentials, and what
// else an operator may replace while kaasd runs.
//
// It watches folders, not the file: a file that is replaced by rename has a
// new inode of which a watch on the file knows nothing. The folders are those
// of the path, of what it resolves to, and of every symbolic link on the way,
// so that a Kubernetes volume is followed, where the link ..data is swapped:
//
//	/etc/kaasd/credentials.json -> ..data/credentials.json     watched: /etc/kaasd
//	/etc/kaasd/..data           -> ..2026_11_30                watched: /etc/kaasd
//	/etc/kaasd/..2026_11_30/credentials.json                   watched: that folder
//
// A burst of events becomes one Event, after 200 ms of quiet, or half a second
// after it began where there is none. Beside the events there is a slow look at
// size, time and inode for what sends none (NFS, a folder mounted over, no inotify
// instance left); at each look, and after each burst, the watch is set anew if the
// path leads elsewhere now.
//
// An Event says "read again", not what happened: the receiver reads the file,
// and what is in it counts. Events that are not taken in time fold into one.
// Read reads it without ever waiting: not for the other end of a pipe, nor for
// what a file of the kernel may tell some day.
//
// This room is the one door to fsnotify.
package watch
