package vfs

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// story writes a file, syncs the first half, and renames it.
func story(c *Crash) error {
	f, err := c.OpenWrite("/d/a")
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { _, err := f.WriteAt(bytes.Repeat([]byte("1"), 1000), 0); return err },
		f.Sync,
		func() error { return c.SyncDir("/d") },
		func() error { _, err := f.WriteAt(bytes.Repeat([]byte("2"), 1000), 1000); return err },
		func() error { return c.Rename("/d/a", "/d/b") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func content(c *Crash, name string) string {
	data, err := ReadFile(c, name, 1<<20)
	if err != nil {
		return "missing"
	}
	runs := ""
	for i, b := range data {
		if i == 0 || data[i-1] != b {
			runs += string(b)
		}
	}
	return runs
}

func TestCrashTellsCalls(t *testing.T) {
	c := NewCrash("/d")
	must(t, story(c))
	want := []string{"create a", "write a 0+1000", "sync a", "syncdir .", "write a 1000+1000", "rename a b"}
	if diff := cmp.Diff(want, c.Calls()); diff != "" {
		t.Error(diff)
	}
}

func TestCrashCut(t *testing.T) {
	tests := map[string]struct {
		call, keep           int
		kill, power          string // content of a
		killRenamed, powered string // content of b
	}{
		"before anything":  {call: 1, kill: "missing", power: "missing", killRenamed: "missing", powered: "missing"},
		"inside a write":   {call: 2, keep: 500, kill: "1", power: "missing", killRenamed: "missing", powered: "missing"},
		"before the names": {call: 4, kill: "1", power: "missing", killRenamed: "missing", powered: "missing"},
		"unsynced write":   {call: 6, kill: "12", power: "1", killRenamed: "missing", powered: "missing"},
		"never":            {call: 7, kill: "missing", power: "1", killRenamed: "12", powered: "missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := NewCrash("/d")
			c.CutAt(tt.call, tt.keep)
			err := story(c)
			if cut := tt.call <= 6; cut != errors.Is(err, ErrCut) {
				t.Errorf("story: %v", err)
			}
			kill, power := c.AfterKill(), c.AfterPowerCut(0)
			got := []string{content(kill, "/d/a"), content(kill, "/d/b"), content(power, "/d/a"), content(power, "/d/b")}
			if diff := cmp.Diff([]string{tt.kill, tt.killRenamed, tt.power, tt.powered}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPowerCutTearsOnlyWhatIsNotSynced(t *testing.T) {
	c := NewCrash("/d")
	c.CutAt(6, 0)
	if err := story(c); !errors.Is(err, ErrCut) {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for seed := range uint64(32) {
		data, err := ReadFile(c.AfterPowerCut(seed+1), "/d/a", 1<<20)
		must(t, err)
		if !bytes.HasPrefix(data, bytes.Repeat([]byte("1"), 1000)) {
			t.Fatalf("seed %d: synced bytes are gone", seed+1)
		}
		seen[bytes.Count(data, []byte("2"))] = true
	}
	if len(seen) < 3 {
		t.Errorf("only %d ways to tear", len(seen))
	}
}

func TestCrashFaults(t *testing.T) {
	c := NewCrash("/d")
	broken := errors.New("broken disk")
	c.Fail(func(call string) error {
		if call == "sync a" {
			return broken
		}
		return nil
	})
	if err := story(c); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	c.SetFree(7)
	if free, _ := c.Free("/d"); free != 7 {
		t.Errorf("free: got %d", free)
	}
}
