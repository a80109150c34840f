package auth

import (
	"fmt"
	"strings"
	"testing"

	"kaasd/internal/kafka"
)

var alice = Caller{Principal: kafka.User("alice"), Host: "10.0.0.7"}

func standard(t testing.TB, superUsers string, allowIfNoACL bool, acls ...kafka.ACL) *Standard {
	t.Helper()
	s, err := NewStandard(superUsers, allowIfNoACL)
	if err != nil {
		t.Fatal(err)
	}
	s.Use(NewIndex(acls))
	return s
}

func TestSuperUsers(t *testing.T) {
	const list = "User:alice; User:CN=app,O=x;User:a:b;;"
	for name, c := range map[string]struct {
		principal kafka.Principal
		rest      bool
		want      bool
	}{
		"first":                     {kafka.User("alice"), false, true},
		"distinguished name":        {kafka.User("CN=app,O=x"), false, true},
		"colon in the name":         {kafka.User("a:b"), false, true},
		"another":                   {kafka.User("bob"), false, false},
		"case counts":               {kafka.User("Alice"), false, false},
		"another type":              {kafka.Principal{Type: "Group", Name: "alice"}, false, false},
		"nobody":                    {kafka.Anonymous, false, false},
		"everyone without an ACL":   {kafka.User("bob"), true, true},
		"super user and everyone":   {kafka.User("alice"), true, true},
		"anonymous without any ACL": {kafka.Anonymous, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := standard(t, list, c.rest)
			if got := s.Authorize(Caller{Principal: c.principal}, kafka.OpAlterConfigs, kafka.Cluster); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := s.Anywhere(Caller{Principal: c.principal}, kafka.OpWrite, kafka.ResourceTopic); got != c.want {
				t.Errorf("anywhere: got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSuperUsersMalformed(t *testing.T) {
	for _, list := range []string{"alice", "User:", "Group:a", "User:alice;bob", "user:alice", "User:alice,User:bob;x"} {
		if _, err := NewStandard(list, false); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
}

func TestEveryone(t *testing.T) {
	if !(Everyone{}).Authorize(alice, kafka.OpWrite, kafka.TopicResource("t")) || !(Everyone{}).Anywhere(alice, kafka.OpWrite, kafka.ResourceTopic) {
		t.Error("refused")
	}
}

// acl is a rule in words: "allow User:alice READ orders", the name with a star
// at its end is a prefix, "@host" follows where it is not every host.
func acl(t testing.TB, words string) kafka.ACL {
	t.Helper()
	rule, host, placed := strings.Cut(words, " @")
	if !placed {
		host = kafka.Wildcard
	}
	f := strings.Fields(rule)
	a := kafka.ACL{Type: kafka.ResourceTopic, Name: f[3], Pattern: kafka.PatternLiteral, Principal: f[1], Host: host, Permission: kafka.PermissionAllow}
	if f[0] == "deny" {
		a.Permission = kafka.PermissionDeny
	}
	for op := kafka.OpAll; op <= kafka.OpTwoPhaseCommit; op++ {
		if op.String() == f[2] {
			a.Operation = op
		}
	}
	if prefix, ok := strings.CutSuffix(f[3], "*"); ok && prefix != "" {
		a.Name, a.Pattern = prefix, kafka.PatternPrefixed
	}
	if f[3] == kafka.Cluster.Name {
		a.Type = kafka.ResourceCluster
	}
	if err := a.Check(); err != nil {
		t.Fatalf("%s: %v", words, err)
	}
	return a
}

func TestStandardRules(t *testing.T) {
	for _, c := range []struct {
		name string
		acls []string
		rest bool
		op   kafka.Operation
		want string // of the topics a, ab, b: those allowed
	}{
		{"no ACLs", nil, false, kafka.OpRead, ""},
		{"no ACLs, everyone", nil, true, kafka.OpRead, "a ab b"},
		{"literal", []string{"allow User:alice READ a"}, false, kafka.OpRead, "a"},
		{"literal, the others have none", []string{"allow User:alice READ a"}, true, kafka.OpRead, "a ab b"},
		{"an ACL of somebody else shuts the resource", []string{"allow User:bob READ a"}, true, kafka.OpRead, "ab b"},
		{"prefixed", []string{"allow User:alice READ a*"}, false, kafka.OpRead, "a ab"},
		{"a longer prefix", []string{"allow User:alice READ abc*"}, false, kafka.OpRead, ""},
		{"wildcard", []string{"allow User:alice READ *"}, false, kafka.OpRead, "a ab b"},
		{"another's wildcard shuts all", []string{"allow User:bob READ *"}, true, kafka.OpRead, ""},
		{"everybody", []string{"allow User:* READ a"}, false, kafka.OpRead, "a"},
		{"a principal of another type", []string{"allow Group:alice READ a"}, false, kafka.OpRead, ""},
		{"another operation", []string{"allow User:alice WRITE a"}, false, kafka.OpRead, ""},
		{"all operations", []string{"allow User:alice ALL a"}, false, kafka.OpRead, "a"},
		{"a denial wins", []string{"allow User:alice READ *", "deny User:alice READ a"}, false, kafka.OpRead, "ab b"},
		{"a denied prefix wins", []string{"allow User:alice READ a", "allow User:alice READ ab", "deny User:alice READ a*"}, false, kafka.OpRead, ""},
		{"a denied wildcard wins", []string{"allow User:alice READ a", "deny User:* ALL *"}, false, kafka.OpRead, ""},
		{"a denial of another operation", []string{"allow User:alice READ a", "deny User:alice WRITE a"}, false, kafka.OpRead, "a"},
		{"a denial of somebody else", []string{"allow User:alice READ a", "deny User:bob READ a"}, false, kafka.OpRead, "a"},
		{"a denial alone", []string{"deny User:alice WRITE a"}, true, kafka.OpRead, "ab b"},
		{"READ brings DESCRIBE", []string{"allow User:alice READ a"}, false, kafka.OpDescribe, "a"},
		{"WRITE brings DESCRIBE", []string{"allow User:alice WRITE a"}, false, kafka.OpDescribe, "a"},
		{"DELETE brings DESCRIBE", []string{"allow User:alice DELETE a"}, false, kafka.OpDescribe, "a"},
		{"ALTER brings DESCRIBE", []string{"allow User:alice ALTER a"}, false, kafka.OpDescribe, "a"},
		{"CREATE brings nothing", []string{"allow User:alice CREATE a"}, false, kafka.OpDescribe, ""},
		{"ALTER_CONFIGS brings DESCRIBE_CONFIGS", []string{"allow User:alice ALTER_CONFIGS a"}, false, kafka.OpDescribeConfigs, "a"},
		{"but not DESCRIBE", []string{"allow User:alice ALTER_CONFIGS a"}, false, kafka.OpDescribe, ""},
		{"DESCRIBE does not bring READ", []string{"allow User:alice DESCRIBE a"}, false, kafka.OpRead, ""},
		{"a denied READ leaves DESCRIBE", []string{"allow User:alice ALL a", "deny User:alice READ a"}, false, kafka.OpDescribe, "a"},
		{"a denied DESCRIBE hides what READ implies", []string{"allow User:alice READ a", "deny User:alice DESCRIBE a"}, false, kafka.OpDescribe, ""},
		{"and READ stays", []string{"allow User:alice READ a", "deny User:alice DESCRIBE a"}, false, kafka.OpRead, "a"},
		{"from the host", []string{"allow User:alice READ a @10.0.0.7"}, false, kafka.OpRead, "a"},
		{"from the host, as Java writes it", []string{"allow User:alice READ a @::ffff:10.0.0.7"}, false, kafka.OpRead, "a"},
		{"from another host", []string{"allow User:alice READ a @10.0.0.8"}, false, kafka.OpRead, ""},
		{"denied from another host", []string{"allow User:alice READ a", "deny User:alice READ a @10.0.0.8"}, false, kafka.OpRead, "a"},
		{"denied from the host", []string{"allow User:alice READ a", "deny User:alice READ a @10.0.0.7"}, false, kafka.OpRead, ""},
		{"another type", []string{"allow User:alice READ kafka-cluster"}, false, kafka.OpRead, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var acls []kafka.ACL
			for _, words := range c.acls {
				acls = append(acls, acl(t, words))
			}
			s := standard(t, "", c.rest, acls...)
			var got []string
			for _, topic := range []string{"a", "ab", "b"} {
				if s.Authorize(alice, c.op, kafka.TopicResource(topic)) {
					got = append(got, topic)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnywhere(t *testing.T) {
	for _, c := range []struct {
		name string
		acls []string
		want bool
	}{
		{"no ACLs", nil, false},
		{"a literal", []string{"allow User:alice WRITE a"}, true},
		{"a prefix", []string{"allow User:alice WRITE a*"}, true},
		{"the wildcard", []string{"allow User:alice WRITE *"}, true},
		{"everybody", []string{"allow User:* ALL a"}, true},
		{"another operation", []string{"allow User:alice READ a"}, false},
		{"somebody else", []string{"allow User:bob WRITE a"}, false},
		{"from another host", []string{"allow User:alice WRITE a @10.0.0.8"}, false},
		{"a denied wildcard", []string{"allow User:alice WRITE a", "deny User:alice WRITE *"}, false},
		{"the literal is denied", []string{"allow User:alice WRITE a", "deny User:alice WRITE a"}, false},
		{"a prefix of the literal is denied", []string{"allow User:alice WRITE ab", "deny User:alice WRITE a*"}, false},
		{"a prefix of the prefix is denied", []string{"allow User:alice WRITE ab*", "deny User:alice WRITE a*"}, false},
		{"a part of the prefix is denied", []string{"allow User:alice WRITE a*", "deny User:alice WRITE ab*"}, true},
		{"one of two is left", []string{"allow User:alice WRITE ab", "allow User:alice WRITE b", "deny User:alice WRITE a*"}, true},
		{"the wildcard with a denied part", []string{"allow User:alice WRITE *", "deny User:alice WRITE a*"}, true},
		{"the cluster is no topic", []string{"allow User:alice WRITE kafka-cluster"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var acls []kafka.ACL
			for _, words := range c.acls {
				acls = append(acls, acl(t, words))
			}
			if got := standard(t, "", false, acls...).Anywhere(alice, kafka.OpWrite, kafka.ResourceTopic); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestHostHasOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "0:0:0:0:0:0:0:1": "::1", "::ffff:10.0.0.1": "10.0.0.1", "fe80::1%eth0": "fe80::1", "a.example": "a.example",
	} {
		if got := Host(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestIndexAsTheBook asks the index and a walk over all ACLs the same
// questions.
func TestIndexAsTheBook(t *testing.T) {
	names := []string{"a", "ab", "abc", "b", "*", "a*", "ab*", "b*"}
	ops := []kafka.Operation{kafka.OpAll, kafka.OpRead, kafka.OpWrite, kafka.OpDescribe, kafka.OpAlterConfigs, kafka.OpDescribeConfigs}
	next := uint32(1)
	pick := func(n int) int { next = next*1664525 + 1013904223; return int(next>>16) % n }
	for round := range 300 {
		var acls []kafka.ACL
		for range pick(6) {
			kind := []string{"allow", "allow", "deny"}[pick(3)]
			who := []string{"User:alice", "User:bob", "User:*"}[pick(3)]
			host := []string{"", " @10.0.0.7", " @10.0.0.8"}[pick(3)]
			acls = append(acls, acl(t, fmt.Sprintf("%s %s %s %s%s", kind, who, ops[pick(len(ops))], names[pick(len(names))], host)))
		}
		s := standard(t, "", round%2 == 0, acls...)
		for _, topic := range []string{"a", "ab", "abc", "abcd", "b", "c"} {
			for _, op := range ops[1:] {
				if got, want := s.Authorize(alice, op, kafka.TopicResource(topic)), byTheBook(acls, round%2 == 0, op, topic); got != want {
					t.Fatalf("%s %s with %v: got %v", op, topic, acls, got)
				}
			}
		}
	}
}

// byTheBook is Kafka's rules for alice, one after the other.
func byTheBook(acls []kafka.ACL, rest bool, op kafka.Operation, topic string) bool {
	found, allowed := false, false
	all := kafka.ACLFilter{Type: kafka.ResourceTopic, Name: &topic, Pattern: kafka.PatternMatch, Operation: kafka.OpAny, Permission: kafka.PermissionAny}
	for _, a := range acls {
		if !all.Matches(a) {
			continue
		}
		found = true
		if a.Principal != "User:alice" && a.Principal != "User:*" || a.Host != "*" && a.Host != alice.Host {
			continue
		}
		same := a.Operation == op || a.Operation == kafka.OpAll
		if a.Permission == kafka.PermissionDeny {
			if same {
				return false
			}
			continue
		}
		brings := op == kafka.OpDescribe && (a.Operation == kafka.OpRead || a.Operation == kafka.OpWrite) ||
			op == kafka.OpDescribeConfigs && a.Operation == kafka.OpAlterConfigs
		allowed = allowed || same || brings
	}
	return allowed || !found && rest
}

func BenchmarkAuthorize(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		acls := make([]kafka.ACL, 0, n+2)
		for i := range n {
			acls = append(acls, acl(b, fmt.Sprintf("allow User:user%d READ topic-%d", i%1000, i)))
		}
		acls = append(acls, acl(b, "allow User:alice READ team-*"), acl(b, "deny User:mallory ALL *"))
		s := standard(b, "", false, acls...)
		b.Run(fmt.Sprint("acls=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !s.Authorize(alice, kafka.OpRead, kafka.TopicResource("team-orders")) {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkNewIndex(b *testing.B) {
	var acls []kafka.ACL
	for i := range 10_000 {
		acls = append(acls, acl(b, fmt.Sprintf("allow User:user%d READ topic-%d", i%1000, i)))
	}
	for b.Loop() {
		NewIndex(acls)
	}
}
