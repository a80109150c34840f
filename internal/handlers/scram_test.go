package handlers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

var testSalt, testSalted = []byte("salt of the test"), bytes.Repeat([]byte("salted password."), 4)

// scramOps makes a request of words: "alice:1" sets a credential, "-alice:1"
// removes it, "alice:1:100" sets one with as many iterations.
func scramOps(ops ...string) *message.AlterUserScramCredentialsRequest {
	req := &message.AlterUserScramCredentialsRequest{}
	for _, op := range ops {
		op, deletion := strings.CutPrefix(op, "-")
		name, rest, _ := strings.Cut(op, ":")
		mechanism, iterations := int8(0), int32(4096)
		_, _ = fmt.Sscanf(rest, "%d:%d", &mechanism, &iterations)
		if deletion {
			req.Deletions = append(req.Deletions, message.AlterUserScramCredentialsDeletion{Name: name, Mechanism: mechanism})
			continue
		}
		req.Upsertions = append(req.Upsertions, message.AlterUserScramCredentialsUpsertion{
			Name: name, Mechanism: mechanism, Iterations: iterations, Salt: testSalt, SaltedPassword: testSalted,
		})
	}
	return req
}

// alterScram sends a request and gives one line for each answer.
func alterScram(c *peer, req *message.AlterUserScramCredentialsRequest) []string {
	c.t.Helper()
	var resp message.AlterUserScramCredentialsResponse
	c.get(kafka.KeyAlterUserScramCredentials, 0, req, &resp)
	lines := []string{}
	for _, r := range resp.Results {
		lines = append(lines, fmt.Sprintf("%s %d", r.User, r.ErrorCode))
		if (r.ErrorMessage == nil) != (r.ErrorCode == 0) {
			c.t.Errorf("%s has the message %s", r.User, deref(r.ErrorMessage))
		}
	}
	return lines
}

// scrams is what key 50 tells of all users.
func scrams(c *peer) []string {
	c.t.Helper()
	var resp message.DescribeUserScramCredentialsResponse
	c.get(kafka.KeyDescribeUserScramCredentials, 0, &message.DescribeUserScramCredentialsRequest{}, &resp)
	lines := []string{}
	for _, r := range resp.Results {
		lines = append(lines, fmt.Sprint(r.User, " ", r.CredentialInfos))
	}
	return lines
}

// TestAlterScram holds the checks one by one. Both mechanisms in one request are
// T45.
func TestAlterScram(t *testing.T) {
	noPassword := scramOps("a:1")
	noPassword.Upsertions[0].SaltedPassword = []byte{}
	for _, a := range []struct {
		name  string
		req   *message.AlterUserScramCredentialsRequest
		want  []string
		after []string
	}{
		{"nothing", scramOps(), []string{}, []string{"there [{1 4096}]"}},
		{"both mechanisms of a user", scramOps("a:1", "a:2:8192"), []string{"a 0"}, []string{"a [{1 4096} {2 8192}]", "there [{1 4096}]"}},
		{"replaced", scramOps("there:1:5000"), []string{"there 0"}, []string{"there [{1 5000}]"}},
		{"one removed, the other set", scramOps("-there:1", "there:2"), []string{"there 0"}, []string{"there [{2 4096}]"}},
		{"removed", scramOps("-there:1"), []string{"there 0"}, []string{}},
		{"what is not there", scramOps("-there:2", "-nobody:1"), []string{"there 91", "nobody 91"}, []string{"there [{1 4096}]"}},
		{"a mechanism twice", scramOps("a:1", "b:1", "a:1:5000"), []string{"a 92", "b 0"}, []string{"b [{1 4096}]", "there [{1 4096}]"}},
		{"removed and set", scramOps("-there:1", "there:1:5000"), []string{"there 92"}, []string{"there [{1 4096}]"}},
		{"removed twice", scramOps("-there:1", "-there:1"), []string{"there 92"}, []string{"there [{1 4096}]"}},
		{"the first fault decides", scramOps("a:9", "a:9", "b:1:1", "b:1"), []string{"a 33", "b 93"}, []string{"there [{1 4096}]"}},
		{"a fault spoils the user", scramOps("a:1", "a:2:16385"), []string{"a 93"}, []string{"there [{1 4096}]"}},
		{"a missing one spoils the user", scramOps("-there:2", "there:1:5000"), []string{"there 91"}, []string{"there [{1 4096}]"}},
		{"bounds of the iterations", scramOps("a:1:4095", "b:1:4096", "c:1:16384", "d:1:16385"), []string{"a 93", "b 0", "c 0", "d 93"},
			[]string{"b [{1 4096}]", "c [{1 16384}]", "there [{1 4096}]"}},
		{"no name", scramOps(":9:1", "-:1"), []string{" 93"}, []string{"there [{1 4096}]"}},
		{"no password", noPassword, []string{"a 93"}, []string{"there [{1 4096}]"}},
		{"deletions come first", scramOps("z:1", "-there:1"), []string{"there 0", "z 0"}, []string{"z [{1 4096}]"}},
	} {
		t.Run(a.name, func(t *testing.T) {
			c := newRig(t).connect(plainListener)
			alterScram(c, scramOps("there:1"))
			if diff := cmp.Diff(a.want, alterScram(c, a.req)); diff != "" {
				t.Errorf("answers: %s", diff)
			}
			if diff := cmp.Diff(a.after, scrams(c)); diff != "" {
				t.Errorf("afterwards: %s", diff)
			}
		})
	}
}

func TestAlterScramIsDenied(t *testing.T) {
	r := newRig(t, withAuthorizer("DESCRIBE CLUSTER:kafka-cluster"))
	c := r.connect(plainListener)
	got := alterScram(c, scramOps("z:1", "-y:1", "b:9:0", "z:2", ":1"))
	if diff := cmp.Diff([]string{" 31", "b 31", "y 31", "z 31"}, got); diff != "" {
		t.Error(diff)
	}
	if got := scrams(c); len(got) != 0 {
		t.Errorf("there is %v", got)
	}
}

// There are not any number of credentials. A user of whom all does not fit gets
// nothing, and loses nothing.
func TestScramsAreBounded(t *testing.T) {
	c := newRig(t).connect(plainListener)
	alterScram(c, scramOps("there:1"))
	for i, full := 0, false; !full; i++ {
		req := &message.AlterUserScramCredentialsRequest{}
		for k := range 500 {
			req.Upsertions = append(req.Upsertions, message.AlterUserScramCredentialsUpsertion{
				Name: fmt.Sprintf("%04d-%03d-%s", i, k, strings.Repeat("x", 4000)), Mechanism: 1, Iterations: 4096,
				Salt: bytes.Repeat([]byte("s"), 4096), SaltedPassword: testSalted,
			})
		}
		full = slices.ContainsFunc(alterScram(c, req), func(line string) bool { return strings.HasSuffix(line, " 44") })
	}
	for i := range 20 { // what is left is too little for a long salt
		req := scramOps(fmt.Sprint("last", i, ":1"))
		req.Upsertions[0].Salt = bytes.Repeat([]byte("s"), 2000)
		alterScram(c, req)
	}
	longer := scramOps("-there:1", "there:2")
	longer.Upsertions[0].Salt = bytes.Repeat([]byte("s"), 4096)
	if got := alterScram(c, longer); got[0] != "there 44" || !slices.Contains(scrams(c), "there [{1 4096}]") {
		t.Errorf("a user who would take more: %v, want 44 and what was there", got)
	}
	if got := alterScram(c, scramOps("there:1:5000")); got[0] != "there 0" {
		t.Errorf("a credential in place of one: %v, want 0", got)
	}
	if got := alterScram(c, scramOps("-there:1", "other:1")); strings.Join(got, ", ") != "there 0, other 0" && strings.Join(got, ", ") != "other 0, there 0" {
		t.Errorf("a user in place of another: %v, want 0", got)
	}
	if got := alterScram(c, scramOps(strings.Repeat("n", 4097)+":1")); !strings.HasSuffix(got[0], " 93") {
		t.Errorf("a name of 4097 bytes: %v, want 93", got[0][4090:])
	}
}

// A credential set over the API stands over the file's until it is removed; what
// the file gives cannot be removed.
func TestScramOverTheFile(t *testing.T) {
	const file = `{"users":[{"username":"f","authType":"scram-sha-256","plainPassword":"f-secret",
		"scram":{"salt":"AAAA","storedKey":"%[1]s","serverKey":"%[1]s","iterations":7777}}]}`
	key := strings.Repeat("A", 43) + "="
	r := newRig(t, func(s *setup) { s.credentials = fmt.Sprintf(file, key) })
	c := r.connect(plainListener)
	for _, step := range []struct {
		ops   []string
		want  string
		after string
	}{
		{[]string{"-f:1"}, "f 91", "f [{1 7777}]"},
		{[]string{"f:2"}, "f 0", "f [{1 7777} {2 4096}]"},
		{[]string{"f:1:5000"}, "f 0", "f [{1 5000} {2 4096}]"},
		{[]string{"-f:1", "-f:2"}, "f 0", "f [{1 7777}]"},
	} {
		if diff := cmp.Diff([]string{step.want}, alterScram(c, scramOps(step.ops...))); diff != "" {
			t.Errorf("%v: %s", step.ops, diff)
		}
		if diff := cmp.Diff([]string{step.after}, scrams(c)); diff != "" {
			t.Errorf("after %v: %s", step.ops, diff)
		}
	}
	if len(r.closed) != 0 {
		t.Error("sessions of a user who can log in were closed")
	}
}

// Removed users stay removed over a restart, and the others stay, whatever
// bytes their names have.
func TestScramSurvivesRestarts(t *testing.T) {
	fs := vfs.Memory()
	on := func(s *setup) { s.fs = fs }
	r := newRig(t, on)
	c := r.connect(plainListener)
	var ops, gone []string
	want := []string{}
	for i := range 8 {
		name := fmt.Sprintf("n%d\xff", i)
		ops = append(ops, name+":1")
		if i < 4 {
			gone = append(gone, "-"+name+":1")
		} else {
			want = append(want, name+" [{1 4096}]")
		}
	}
	alterScram(c, scramOps(ops...))
	alterScram(c, scramOps(gone...))
	before, _ := r.Secrets.Scram("n7\xff", kafka.ScramSHA256)
	for range 2 {
		r.stop()
		r = newRig(t, on)
		if diff := cmp.Diff(want, scrams(r.connect(plainListener))); diff != "" {
			t.Error(diff)
		}
	}
	after, ok := r.Secrets.Scram("n7\xff", kafka.ScramSHA256)
	if diff := cmp.Diff(before, after); diff != "" || !ok {
		t.Errorf("the credential changed: %s", diff)
	}
}

// Every user of a request is one line, and no line has a secret.
func TestScramAudit(t *testing.T) {
	r := newRig(t)
	alterScram(r.connect(plainListener), scramOps("a:1", "a:2", "b:9", "-c:1"))
	lines := r.lines.FilterLoggerName("audit").All()
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range []string{"user c", "user a", "user b"} {
		fields := lines[i].ContextMap()
		if fields["entity"] != want || fields["principal"] != "User:ANONYMOUS" || fields["peer"] == "" {
			t.Errorf("line %d: %v", i, fields)
		}
	}
	for _, line := range r.lines.All() {
		if text := fmt.Sprint(line.Message, line.ContextMap()); strings.Contains(text, "salted password") || strings.Contains(text, "salt of") {
			t.Errorf("a secret is logged: %s", text)
		}
	}
	if r.lines.FilterField(zap.Stringer("code", kafka.UnsupportedSASLMechanism)).Len() != 1 {
		t.Error("the refusal has no line with its code")
	}
}
