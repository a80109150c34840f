package segment

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/storage/vfs"
)

func TestEpochsOverRestarts(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		// epoch 0: offsets 0-1, epoch 1: nothing, epoch 2: offsets 2-4
		for epoch, n := range []int{2, 0, 3} {
			s := openStore(t, o)
			if s.Epoch() != int32(epoch) || s.Fresh() != (epoch == 0) {
				t.Errorf("start %d: epoch %d, fresh %v", epoch, s.Epoch(), s.Fresh())
			}
			l := openLog(t, s, plain())
			for range n {
				appendBatch(t, l, batch(1, 0, "x"))
			}
			if epoch == 0 {
				kill(s)
			} else {
				stop(t, s)
			}
		}
		s := openStore(t, o)
		l := openLog(t, s, plain())
		type answer struct {
			Epoch int32
			End   int64
		}
		want := map[int32]answer{-1: {-1, -1}, 0: {0, 2}, 1: {0, 2}, 2: {2, 5}, 3: {3, 5}, 9: {3, 5}}
		got := map[int32]answer{}
		for asked := range want {
			epoch, end := l.EpochEnd(asked)
			got[asked] = answer{epoch, end}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		stop(t, s)
	})
}

// A folder that is put back from a backup goes on above the epochs it had after
// that, however often it was started meanwhile; a clock that goes back lowers
// nothing.
func TestEpochsOverBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.Memory()
		o := testOptions(fs, "/data")
		start := func() int32 {
			s := openStore(t, o)
			defer stop(t, s)
			return s.Epoch()
		}
		start()
		backup, err := vfs.ReadFile(fs, "/data/"+propertiesFile, smallFile)
		if err != nil {
			t.Fatal(err)
		}
		last := int32(0)
		for range 20 {
			time.Sleep(90 * time.Minute)
			epoch := start()
			if again := start(); epoch <= last || again <= epoch {
				t.Errorf("epoch %d, then %d, after %d", epoch, again, last)
			} else {
				last = again
			}
		}
		time.Sleep(5 * time.Minute)
		if err := vfs.WriteFile(fs, "/data/"+propertiesFile, backup); err != nil {
			t.Fatal(err)
		}
		if got := start(); got <= last {
			t.Errorf("epoch %d after a backup was put back, %d before", got, last)
		}
	})
	back := properties{epoch: 7, created: time.Now().Add(time.Hour).UnixMilli()}
	if err := back.raise(time.Now()); err != nil || back.epoch != 8 {
		t.Errorf("epoch %d in a folder of the future: %v", back.epoch, err)
	}
	old := properties{epoch: 7}
	if err := old.raise(time.Now()); err != nil || old.epoch != 8 || old.created == 0 {
		t.Errorf("a folder that does not know its age: %+v, %v", old, err)
	}
	far := properties{epoch: 7, created: 1}
	if err := far.raise(time.UnixMilli(1 << 52)); err != nil || far.epoch <= 7 {
		t.Errorf("a clock far ahead: epoch %d, %v", far.epoch, err)
	}
}

func TestEpochMachine(t *testing.T) {
	var e epochs
	e = e.with(0, 0).with(1, 0).with(3, 10).with(2, 12).with(3, 20).with(5, 30)
	if diff := cmp.Diff(epochs{{1, 0}, {3, 10}, {5, 30}}, e, cmp.AllowUnexported(epochStart{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(epochs{{1, 0}, {3, 10}}, e.until(30), cmp.AllowUnexported(epochStart{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(epochs{{3, 15}, {5, 30}}, e.from(15), cmp.AllowUnexported(epochStart{})); diff != "" {
		t.Error(diff)
	}
	got, err := decodeEpochs(e.encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got, cmp.AllowUnexported(epochStart{})); diff != "" {
		t.Error(diff)
	}
}

func TestFolderIsForOneNodeAndCluster(t *testing.T) {
	fsys := vfs.Memory()
	o := testOptions(fsys, "/data")
	s := openStore(t, o)
	id := s.ClusterID()
	if len(id) != 22 {
		t.Errorf("cluster id %q", id)
	}
	if _, err := Open(o, s.log, nil); err == nil || err.Error() != "data folder /data is in use" {
		t.Errorf("second broker: %v", err)
	}
	stop(t, s)
	for name, change := range map[string]func(*Options){
		"data folder /data belongs to node.id 1, not 2":                           func(o *Options) { o.NodeID = 2 },
		"data folder /data belongs to cluster.id " + id + ", not another-cluster": func(o *Options) { o.ClusterID = "another-cluster" },
	} {
		bad := o
		change(&bad)
		if _, err := Open(bad, s.log, nil); err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	s = openStore(t, o)
	if s.ClusterID() != id {
		t.Errorf("cluster id became %q", s.ClusterID())
	}
	stop(t, s)
}

func TestOptionsAreChecked(t *testing.T) {
	if err := DefaultOptions().Validate(); err == nil {
		t.Error("no folder: no error")
	}
	if _, err := Open(Options{DiskReserve: -1}, nil, nil); err == nil {
		t.Error("nothing set: no error")
	}
}
