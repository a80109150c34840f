package broker

import (
	"bytes"
	"testing"

	"kaasd/internal/storage/vfs"
)

func TestSaltKeyIsKept(t *testing.T) {
	folder := vfs.Memory()
	if err := folder.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	first := mustSaltKey(t, folder)
	if again := mustSaltKey(t, folder); !bytes.Equal(first, again) {
		t.Error("a restart changes the salts of users who do not exist")
	}
	for name, damaged := range map[string][]byte{"empty": {}, "short": first[:5]} {
		if err := vfs.WriteFile(folder, "/data/"+saltKeyFile, damaged); err != nil {
			t.Fatal(err)
		}
		if key := mustSaltKey(t, folder); len(key) != saltKeySize || bytes.HasPrefix(key, first[:5]) {
			t.Errorf("%s file: key %x", name, key)
		}
	}
}

func mustSaltKey(t *testing.T, folder vfs.FS) []byte {
	t.Helper()
	key, err := saltKey(folder, "/data")
	if err != nil {
		t.Fatal(err)
	}
	return key
}
