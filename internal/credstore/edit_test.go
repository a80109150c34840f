package credstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var someKeys = kafka.ScramCredential{Mechanism: kafka.ScramSHA512, Salt: []byte("salt"), StoredKey: []byte("stored"), ServerKey: []byte("server"), Iterations: 8192}

func TestEditKeepsWhatItDoesNotMean(t *testing.T) {
	path := file(t)
	write(t, path, `{"note":{"b":1,"a":[1.0, 2e3]}, "users":[{"username":"alice","z":"<&>","authType":"tls","tlsCN":"a","quotas":{"hint":1,"requestPercentage":5,"producerMaxByteRatePerBroker":1.5e6}},{"username":"bob","authType":"odd","plainPassword":"\u0078"}],"version":1}`)
	err := Edit(path, false, func(d *Document) error {
		return d.Set("alice", Change{Quotas: map[string]int64{kafka.RequestPercentage: 0, kafka.ConsumerByteRate: 2097152}})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "note": {
    "b": 1,
    "a": [
      1.0,
      2e3
    ]
  },
  "users": [
    {
      "username": "alice",
      "z": "<&>",
      "authType": "tls",
      "tlsCN": "a",
      "quotas": {
        "hint": 1,
        "producerMaxByteRatePerBroker": 1.5e6,
        "consumerMaxByteRatePerBroker": 2097152
      }
    },
    {
      "username": "bob",
      "authType": "odd",
      "plainPassword": "\u0078"
    }
  ],
  "version": 1
}
`
	if diff := cmp.Diff(want, read(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestEditMakesAFile(t *testing.T) {
	path := file(t)
	add := func(d *Document) error {
		return d.Add("alice", Change{Scram: &someKeys, Quotas: map[string]int64{kafka.ProducerByteRate: 1048576}})
	}
	if err := Edit(path, false, add); !errors.Is(err, ErrNoFile) || !strings.Contains(err.Error(), path) {
		t.Errorf("without create: %v", err)
	}
	if err := Edit(path, true, add); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	want := `{
  "version": 1,
  "users": [
    {
      "username": "alice",
      "authType": "scram-sha-512",
      "scram": {
        "salt": "c2FsdA==",
        "storedKey": "c3RvcmVk",
        "serverKey": "c2VydmVy",
        "iterations": 8192
      },
      "quotas": {
        "producerMaxByteRatePerBroker": 1048576
      }
    }
  ]
}
`
	if diff := cmp.Diff(want, read(t, path)); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestEditChangesTheKind(t *testing.T) {
	const before = `{"users":[{"username":"u","authType":"scram-sha-256","scram":{"more":1,"salt":"","storedKey":"","serverKey":"","iterations":1},"plainPassword":"x","mine":true}]}`
	for name, c := range map[string]struct {
		change Change
		want   string
	}{
		"password": {Change{Scram: &someKeys},
			`"authType":"scram-sha-512","scram":{"more":1,"salt":"c2FsdA==","storedKey":"c3RvcmVk","serverKey":"c2VydmVy","iterations":8192},"mine":true`},
		"tls":             {Change{TLSCN: "CN,x"}, `"authType":"tls","mine":true,"tlsCN":"CN,x"`},
		"service account": {Change{ServiceAccount: &ServiceAccount{"n", "s"}}, `"authType":"kubernetes-serviceaccount","mine":true,"serviceAccount":{"name":"n","namespace":"s"}`},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := parseDocument([]byte(before))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Set("u", c.change); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"username":"u",`+c.want+`}`, string(d.users[0].text())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *Document) error
		want   string
	}{
		"add who is there":             {func(d *Document) error { return d.Add("a", Change{TLSCN: "x"}) }, `user "a" is in the file already (to change it: kaasd user set a)`},
		"add without a kind":           {func(d *Document) error { return d.Add("n", Change{}) }, `user "n" needs a password, a TLS name or a service account`},
		"add without a name":           {func(d *Document) error { return d.Add("", Change{TLSCN: "x"}) }, `the user name is empty`},
		"add what is not UTF-8":        {func(d *Document) error { return d.Add("n\xff", Change{TLSCN: "x"}) }, `the user name "n\xff" is not UTF-8`},
		"a TLS name that is not UTF-8": {func(d *Document) error { return d.Set("a", Change{TLSCN: "n\xff"}) }, `the TLS name "n\xff" is not UTF-8`},
		"another user's TLS name": {func(d *Document) error {
			if err := d.Add("n", Change{TLSCN: "x"}); err != nil {
				return err
			}
			return d.Set("a", Change{TLSCN: "x"})
		}, `the TLS name "x" belongs to user "n", and would be taken away from there`},
		"add two kinds":        {func(d *Document) error { return d.Add("n", Change{TLSCN: "x", Scram: &someKeys}) }, `user "n" can be of one kind only: password, TLS name or service account`},
		"set who is not there": {func(d *Document) error { return d.Set("n", Change{TLSCN: "x"}) }, `there is no user "n" in the file (kaasd user list shows who is, kaasd user add makes one)`},
		"set nothing":          {func(d *Document) error { return d.Set("a", Change{}) }, `nothing to change for user "a" (a quota, a password or another kind of log-in)`},
		"negative quota": {func(d *Document) error {
			return d.Set("a", Change{Quotas: map[string]int64{kafka.ProducerByteRate: -1}})
		}, `producer_byte_rate=-1 is not a quota: it must be from 0 (none) to 9223372036854775807`},
		"percentage too large": {func(d *Document) error {
			return d.Set("a", Change{Quotas: map[string]int64{kafka.RequestPercentage: 1 << 31}})
		}, `request_percentage=2147483648 is not a quota: it must be from 0 (none) to 2147483647`},
		"unknown quota":         {func(d *Document) error { return d.Set("a", Change{Quotas: map[string]int64{"bogus": 1}}) }, `a quota of the file is one of producer_byte_rate, consumer_byte_rate, request_percentage`},
		"remove who's not here": {func(d *Document) error { return d.Remove("n") }, `there is no user "n" in the file (kaasd user list shows who is, kaasd user add makes one)`},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			before := names("a")
			write(t, path, before)
			err := Edit(path, true, c.change)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if got := read(t, path); got != before {
				t.Errorf("the file is now %s", got)
			}
		})
	}
}

func TestEditOfABadFile(t *testing.T) {
	path := file(t)
	write(t, path, `{"users":{}}`)
	err := Edit(path, true, func(*Document) error { t.Error("called"); return nil })
	if want := path + ":1: users must be an array, not an object"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if f := (Finding{}); !errors.As(err, &f) || f.Field != "users" {
		t.Errorf("%v is not a finding", err)
	}
}

func TestEditTakesTheLastOfTwins(t *testing.T) {
	const twins = `{"users":[{"username":"a","authType":"tls"},{"username":"b","authType":"tls"},{"username":"a","authType":"tls"}]}`
	d, err := parseDocument([]byte(twins))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Set("a", Change{TLSCN: "x"}); err != nil || d.users[0].get("tlsCN") != nil || d.users[2].get("tlsCN") == nil {
		t.Errorf("set %v: %s", err, d.users)
	}
	if err := d.Remove("a"); err != nil || len(d.users) != 1 {
		t.Errorf("remove %v: %s", err, d.users)
	}
}

func TestEditBehindALink(t *testing.T) {
	path := file(t)
	real := filepath.Join(t.TempDir(), "real.json")
	write(t, real, names("a"))
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	if err := Edit(path, false, func(d *Document) error { return d.Remove("a") }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if s, _, err := Parse([]byte(read(t, real))); err != nil || len(s.Users) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

func TestEditOfALinkToNowhere(t *testing.T) {
	path := file(t)
	if err := os.Symlink("gone.json", path); err != nil {
		t.Fatal(err)
	}
	err := Edit(path, true, func(d *Document) error { return d.Add("a", Change{TLSCN: "a"}) })
	if want := path + " is a link that leads nowhere"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEditOfAProjectedFile(t *testing.T) {
	path := file(t)
	dir := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(dir, "..1"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "..1", "credentials.json"), names("a"))
	os.Symlink("..1", filepath.Join(dir, "..data"))
	os.Symlink("..data/credentials.json", path)
	err := Edit(path, true, func(*Document) error { t.Error("called"); return nil })
	if !errors.Is(err, ErrProjected) {
		t.Errorf("got %v", err)
	}
}

func TestEditKeepsModeAndOwner(t *testing.T) {
	path := file(t)
	write(t, path, names("a"))
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 65532, 65531); err != nil {
			t.Fatal(err)
		}
	}
	owner := func() (uint32, uint32) {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o640 {
			t.Fatalf("mode %v, %v", info.Mode(), err)
		}
		s := info.Sys().(*syscall.Stat_t)
		return s.Uid, s.Gid
	}
	uid, gid := owner()
	if err := Edit(path, false, func(d *Document) error { return d.Add("b", Change{TLSCN: "b"}) }); err != nil {
		t.Fatal(err)
	}
	if u, g := owner(); u != uid || g != gid {
		t.Errorf("owner %d:%d, before %d:%d", u, g, uid, gid)
	}
}

func TestEditGivesWayToAnother(t *testing.T) {
	path := file(t)
	write(t, path, names("a"))
	err := Edit(path, false, func(d *Document) error {
		write(t, path, names("a", "other"))
		return d.Remove("a")
	})
	if err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("got %v", err)
	}
	if got := read(t, path); got != names("a", "other") {
		t.Errorf("the other's change is lost: %s", got)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// What user add writes, a log-in accepts.
func TestNewScram(t *testing.T) {
	password := NewPassword()
	if len(password) != 24 || password == NewPassword() {
		t.Errorf("password %q", password)
	}
	path := file(t)
	for _, m := range []kafka.ScramMechanism{kafka.ScramSHA256, kafka.ScramSHA512} {
		made, err := NewScram(m, password)
		if err != nil {
			t.Fatal(err)
		}
		if err := Edit(path, true, func(d *Document) error { return d.Add(m.String(), Change{Scram: &made}) }); err != nil {
			t.Fatal(err)
		}
		s, _, err := Parse([]byte(read(t, path)))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := s.Scram(m.String(), m)
		if diff := cmp.Diff(made, got); diff != "" || !ok {
			t.Error(diff)
		}
		again, err := kafka.NewScramCredential(m, password, got.Salt, got.Iterations)
		if diff := cmp.Diff(made, again); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	if _, err := NewScram(kafka.ScramSHA512, ""); err == nil {
		t.Error("an empty password is taken")
	}
}

// An edit of a good file gives a good file in which nobody else has changed.
func FuzzEdit(f *testing.F) {
	for _, c := range files {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before, _, err := Parse(data)
		d, failure := parseDocument(data)
		if len(data) == 0 {
			return
		}
		if (err == nil) != (failure == nil) {
			t.Fatalf("parsed with %v, opened for an edit with %v", err, failure)
		}
		if err != nil || before.Users["new"] != nil {
			return
		}
		if err := d.Add("new", Change{ServiceAccount: &ServiceAccount{"n", "s"}, Quotas: map[string]int64{kafka.ProducerByteRate: 5}}); err != nil {
			t.Fatal(err)
		}
		text, err := d.text()
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := compare(before, after); got != (change{added: 1, quotas: 1}) {
			t.Fatalf("%+v in %s", got, text)
		}
	})
}
