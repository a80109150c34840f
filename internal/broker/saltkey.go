package broker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"kaasd/internal/storage/vfs"
)

const (
	saltKeyFile = "salt.key"
	saltKeySize = 32 // bytes
)

// saltKey is the secret that the salts of users who do not exist are made from.
// It is kept in the data folder: such a salt must be the same after a restart,
// as that of a user who exists is.
func saltKey(folder vfs.FS, dir string) ([]byte, error) {
	name := path.Join(dir, saltKeyFile)
	key, err := vfs.ReadFile(folder, name, saltKeySize)
	if err == nil && len(key) == saltKeySize {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	key = make([]byte, saltKeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	if err := vfs.WriteFile(folder, name, key); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return key, nil
}
