package metadata

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
)

func TestSecurityChangesThatDoNotFit(t *testing.T) {
	cluster := readers
	cluster.Type = kafka.ResourceCluster
	short := scramOf("u", kafka.ScramSHA512)
	short.StoredKey = short.StoredKey[:32]
	for _, c := range []struct {
		name   string
		change Change
		code   kafka.Code
	}{
		{"a credential that is not there", ScramCredentialRemoved{User: "u", Mechanism: kafka.ScramSHA512}, kafka.ResourceNotFound},
		{"the other mechanism", ScramCredentialRemoved{User: "v", Mechanism: kafka.ScramSHA512}, kafka.ResourceNotFound},
		{"an unknown mechanism", ScramCredentialSet{User: "u", Mechanism: 3, Iterations: 1}, kafka.UnknownServerError},
		{"keys of another mechanism", short, kafka.UnknownServerError},
		{"an ACL that cannot be", NewACLCreated(cluster), kafka.InvalidRequest},
		{"an ACL that is not there", NewACLDeleted(writers), kafka.ResourceNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, &memoryLog{})
			before := commit(t, s, scramOf("v", kafka.ScramSHA256), NewACLCreated(readers))
			_, err := s.Commit(t.Context(), scramOf("good", kafka.ScramSHA256), c.change)
			if got := kafka.CodeOf(err); err == nil || got != c.code || s.Image() != before || before.HasScram("good") {
				t.Errorf("got %v, want %v", err, c.code)
			}
		})
	}
}

// Images share what is not written to: an old one does not change.
func TestImagesKeepTheirACLs(t *testing.T) {
	s := open(t, &memoryLog{})
	first := commit(t, s, NewACLCreated(readers))
	second := commit(t, s, NewACLCreated(writers), NewACLCreated(writers))
	third := commit(t, s, NewACLDeleted(readers))
	topic := commit(t, s, orders)
	for i, want := range []struct {
		image *Image
		acls  []kafka.ACL
	}{{first, []kafka.ACL{readers}}, {second, []kafka.ACL{readers, writers}}, {third, []kafka.ACL{writers}}, {topic, []kafka.ACL{writers}}} {
		if diff := cmp.Diff(want.acls, want.image.ACLs()); diff != "" {
			t.Errorf("image %d: %s", i, diff)
		}
	}
	if first.SameACLs(second) || second.SameACLs(third) || !third.SameACLs(topic) {
		t.Error("changes of ACLs are not told from others")
	}
}

// Changes of credentials are told from others, and each mechanism has its own.
func TestScramsOfAMechanism(t *testing.T) {
	s := open(t, &memoryLog{})
	given := func(m kafka.ScramMechanism) ScramCredentialSet {
		return NewScramCredentialSet("alice", kafka.ScramCredential{
			Mechanism: m, StoredKey: make([]byte, m.KeySize()), ServerKey: make([]byte, m.KeySize()), Iterations: 4096 + int(m),
		})
	}
	changes := map[int]bool{}
	for _, c := range []struct {
		change Change
		want   [2][]int
	}{
		{given(kafka.ScramSHA256), [2][]int{{4097}, nil}},
		{given(kafka.ScramSHA512), [2][]int{{4097}, {4098}}},
		{ScramCredentialRemoved{"alice", kafka.ScramSHA256}, [2][]int{nil, {4098}}},
	} {
		image := commit(t, s, c.change)
		for i, m := range kafka.ScramMechanisms {
			var got []int
			for name, credential := range image.Scrams(m) {
				got = append(got, credential.Iterations)
				if name != "alice" || credential.Mechanism != m {
					t.Errorf("%s: %s of %s", m, credential, name)
				}
			}
			if diff := cmp.Diff(c.want[i], got); diff != "" {
				t.Errorf("%s: %s", m, diff)
			}
		}
		changes[image.ScramChange()] = true
		if after := commit(t, s, NewACLCreated(readers)); after.ScramChange() != image.ScramChange() {
			t.Error("an ACL is a change of credentials")
		}
	}
	if len(changes) != 3 {
		t.Errorf("three changes have the numbers %v", changes)
	}
}

func TestNamesKeepTheirBytes(t *testing.T) {
	for _, name := range []Name{"", "alice", "\u7528\u6237", "a\"b\\c\n", "\xff\xfe", "{\"bytes\":1}", "<default>", "\x00", Name(strings.Repeat("\x00", 30_000))} {
		text, err := json.Marshal(name)
		var back Name
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != name {
			t.Errorf("%q is kept as %s and read as %q, %v", name, text, back, err)
		}
		if len(text) > 20+2*len(name) {
			t.Errorf("a name of %d bytes takes %d in the log", len(name), len(text))
		}
	}
}
