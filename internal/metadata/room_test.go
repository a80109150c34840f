package metadata

import (
	"fmt"
	"strings"
	"testing"

	"kaasd/internal/kafka"
)

// many are entries of a sort with names of a length, that together count more than
// its bound.
func many(sort entries, length int) []Change {
	var changes []Change
	for i := range bounds[sort].most/(bounds[sort].around+length) + 1 {
		name := fmt.Sprintf("%d%s", i, strings.Repeat("x", length))
		if sort == aclEntries {
			changes = append(changes, NewACLCreated(rule(name, "User:u", "*")))
		} else {
			changes = append(changes, scramOf(name, kafka.ScramSHA256))
		}
	}
	return changes
}

func rule(resource, principal, host string) kafka.ACL {
	a := readers
	a.Name, a.Principal, a.Host = resource, principal, host
	return a
}

// Entries that clients make fill no memory: what exceeds the bound of its sort is
// refused as a whole and leaves everything as it was.
func TestEntriesAreBounded(t *testing.T) {
	for sort, name := range map[entries]string{scramEntries: "SCRAM credentials", aclEntries: "ACLs"} {
		t.Run(name, func(t *testing.T) {
			all := many(sort, 4000)
			d := newImage(&Options{}).edit()
			made := 0
			for _, c := range all {
				err := d.Add(c)
				if err == nil {
					made++
					continue
				}
				if kafka.CodeOf(err) != kafka.PolicyViolation || !strings.Contains(kafka.MessageOf(err), name) || !strings.Contains(kafka.MessageOf(err), fmt.Sprint(bounds[sort].most)) {
					t.Fatalf("got %v, want 44 that names %s and the bound", err, name)
				}
			}
			if least := bounds[sort].most / (bounds[sort].around + 4000 + 20); made < least || made >= len(all) || len(d.changes) != made {
				t.Errorf("%d of %d were made, want %d or some more", made, len(all), least)
			}
			if err := d.Add(writersAnd(sort)...); err != nil {
				t.Errorf("the other sort has room of its own: %v", err)
			}
		})
	}
}

// writersAnd is an entry of the other sort.
func writersAnd(sort entries) []Change {
	if sort == aclEntries {
		return []Change{scramOf("other", kafka.ScramSHA512)}
	}
	return []Change{NewACLCreated(writers)}
}

// What belongs together is made together or not at all.
func TestTogetherOrNotAtAll(t *testing.T) {
	d := newImage(&Options{}).edit()
	d.held[scramEntries] = bounds[scramEntries].most - bounds[scramEntries].around - 10
	err := d.Add(scramOf("u", kafka.ScramSHA256), scramOf("u", kafka.ScramSHA512))
	if kafka.CodeOf(err) != kafka.PolicyViolation || d.HasScram("u") || len(d.changes) != 0 {
		t.Errorf("two credentials where there is room for one: %v, some are there: %v", err, d.HasScram("u"))
	}
	if err := d.Add(scramOf("u", kafka.ScramSHA256)); err != nil {
		t.Errorf("one credential where there is room for it: %v", err)
	}
}

// A start takes more than the bound.
func TestStartAboveTheBound(t *testing.T) {
	log := &memoryLog{}
	acls := many(aclEntries, 50_000)
	if err := open(t, log).write(t.Context(), acls); err != nil {
		t.Fatal(err)
	}
	m := open(t, log).Image()
	if got := len(m.ACLs()); got != len(acls) || m.held[aclEntries] <= bounds[aclEntries].most {
		t.Errorf("%d ACLs of %d bytes are read back, want %d of more than %d", got, m.held[aclEntries], len(acls), bounds[aclEntries].most)
	}
}

// Above the bound nothing may be added, and what is there can be replaced and
// deleted, until there is room again.
func TestAboveTheBound(t *testing.T) {
	long := strings.Repeat("n", 2*kafka.MaxName) // of a version without a bound
	acl, scram := NewACLCreated(rule(long, "User:u", "*")), scramOf(long, kafka.ScramSHA256)
	d := newImage(&Options{}).edit()
	for _, c := range []Change{acl, scram} {
		if err := c.apply(d); err != nil {
			t.Fatal(err)
		}
	}
	d.held = [sorts]int{scramEntries: bounds[scramEntries].most + 100, aclEntries: bounds[aclEntries].most + 100}
	for _, step := range []struct {
		name    string
		code    kafka.Code
		changes []Change
	}{
		{"another ACL", kafka.PolicyViolation, []Change{NewACLCreated(readers)}},
		{"another user", kafka.PolicyViolation, []Change{scramOf("u", kafka.ScramSHA256)}},
		{"an ACL that is there", kafka.NoError, []Change{acl}},
		{"a credential that is replaced", kafka.NoError, []Change{scram}},
		{"a longer salt", kafka.PolicyViolation, []Change{salted(scram, kafka.MaxName)}},
		{"another mechanism with a name too long for it", kafka.UnacceptableCredential, []Change{scramOf(long, kafka.ScramSHA512)}},
		{"a deleted ACL", kafka.NoError, []Change{ACLDeleted(acl)}},
		{"a user in place of another", kafka.NoError, []Change{ScramCredentialRemoved{User: scram.User, Mechanism: kafka.ScramSHA256}, scramOf("u", kafka.ScramSHA512)}},
		{"another ACL with room", kafka.NoError, []Change{NewACLCreated(readers)}},
		{"another user with room", kafka.NoError, []Change{scramOf("v", kafka.ScramSHA256)}},
	} {
		if err := d.Add(step.changes...); kafka.CodeOf(err) != step.code {
			t.Errorf("%s: got %v, want %v", step.name, err, step.code)
		}
	}
}

// salted is a credential with a salt of n bytes.
func salted(c ScramCredentialSet, n int) ScramCredentialSet {
	c.Salt = make([]byte, n)
	return c
}

// What was held is counted anew by an image, and falls to nothing with the last
// entry.
func TestHeldIsWhatIsThere(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	commit(t, s, NewACLCreated(readers), NewACLCreated(readers), scramOf("u", kafka.ScramSHA256), scramOf("u", kafka.ScramSHA256))
	want := [sorts]int{scramEntries: bounds[scramEntries].around + len("u") + len("salt"), aclEntries: bounds[aclEntries].around + len("a\xff") + len("User:u\xff") + len("*")}
	if got := s.Image().held; got != want {
		t.Errorf("held are %v, want %v", got, want)
	}
	if err := s.rewrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = open(t, log)
	if got := s.Image().held; got != want {
		t.Errorf("after a rewrite and a start held are %v, want %v", got, want)
	}
	if got := commit(t, s, NewACLDeleted(readers), ScramCredentialRemoved{User: "u", Mechanism: kafka.ScramSHA256}).held; got != ([sorts]int{}) {
		t.Errorf("of nothing held are %v", got)
	}
}

func TestTooLongForAnEntry(t *testing.T) {
	long := strings.Repeat("n", kafka.MaxName+1)
	for _, c := range []struct {
		change Change
		code   kafka.Code
		says   string
	}{
		{scramOf(long, kafka.ScramSHA256), kafka.UnacceptableCredential, `the user name "nnnn`},
		{salted(scramOf("u", kafka.ScramSHA256), kafka.MaxName+1), kafka.UnacceptableCredential, `the salt of user "u" has 4097 bytes: 4096 is the most`},
		{NewACLCreated(rule(long, "User:u", "*")), kafka.InvalidRequest, `the resource name "nnnn`},
		{NewACLCreated(rule("t", "User:"+long, "*")), kafka.InvalidRequest, `the principal "User:nnnn`},
		{NewACLCreated(rule("t", "User:u", long)), kafka.InvalidRequest, `the host "nnnn`},
		{scramOf(long[1:], kafka.ScramSHA256), kafka.NoError, ""},
		{NewACLCreated(rule(long[1:], "User:u", "*")), kafka.NoError, ""},
	} {
		err := newImage(&Options{}).edit().Add(c.change)
		if message := kafka.MessageOf(err); kafka.CodeOf(err) != c.code || err != nil && (!strings.Contains(message, c.says) || !strings.Contains(message, "4096") || len(message) > 200) {
			t.Errorf("got %v, want %v that says %s in short", err, c.code, c.says)
		}
	}
}
