package auth

import (
	"testing"

	"kaasd/internal/kafka"
)

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
			s, err := NewSuperUsers(list, c.rest)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Authorize(c.principal, kafka.OpAlterConfigs, kafka.Cluster); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSuperUsersMalformed(t *testing.T) {
	for _, list := range []string{"alice", "User:", "Group:a", "User:alice;bob", "user:alice", "User:alice,User:bob;x"} {
		if _, err := NewSuperUsers(list, false); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
}

func TestEveryone(t *testing.T) {
	if !(Everyone{}).Authorize(kafka.Anonymous, kafka.OpWrite, kafka.TopicResource("t")) {
		t.Error("refused")
	}
}
