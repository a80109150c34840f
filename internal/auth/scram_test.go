package auth

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"kaasd/internal/kafka"
)

// one is a Secrets that knows a single credential.
type one struct {
	user       string
	credential kafka.ScramCredential
}

func (o one) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	return o.credential, user == o.user && m == o.credential.Mechanism
}
func (o one) Plain(string) (func(string) bool, bool) { return nil, false }

// The exchange printed in RFC 7677 section 3.
func TestScramOfRFC7677(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	c, err := kafka.NewScramCredential(kafka.ScramSHA256, "pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	s := newScramLogin(kafka.ScramSHA256, one{"user", c}, options, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
	for _, step := range []struct{ client, server string }{
		{"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
			"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		{"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
			"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
	} {
		reply, _, failure := s.step([]byte(step.client))
		if failure != nil || string(reply) != step.server {
			t.Fatalf("to %s\n got %s, %v\nwant %s", step.client, reply, failure, step.server)
		}
	}
}

func TestScramFirstMessages(t *testing.T) {
	for name, c := range map[string]struct {
		token string
		good  bool
	}{
		"plain":                        {"n,,n=alice,r=abc", true},
		"own authorization id":         {"n,a=alice,n=alice,r=abc", true},
		"extension":                    {"n,,n=alice,r=abc,x=1,tokenauth=true", true},
		"escaped":                      {"n,,n=a=2Cb=3D,r=abc", true},
		"other authorization id":       {"n,a=bob,n=alice,r=abc", false},
		"empty authorization id":       {"n,a=,n=alice,r=abc", false},
		"channel binding":              {"p=tls-unique,,n=alice,r=abc", false},
		"client could bind":            {"y,,n=alice,r=abc", false},
		"no header":                    {"n=alice,r=abc", false},
		"empty":                        {"", false},
		"mandatory extension":          {"n,,m=x,n=alice,r=abc", false},
		"mandatory extension at end":   {"n,,n=alice,r=abc,m=x", false},
		"nonce twice":                  {"n,,n=alice,r=abc,r=abc", false},
		"extension twice":              {"n,,n=alice,r=abc,x=1,x=2", false},
		"no nonce":                     {"n,,n=alice", false},
		"empty nonce":                  {"n,,n=alice,r=", false},
		"space in nonce":               {"n,,n=alice,r=a b", false},
		"nonce not ASCII":              {"n,,n=alice,r=\u00fc", false},
		"no name":                      {"n,,r=abc", false},
		"empty name":                   {"n,,n=,r=abc", false},
		"bad escape":                   {"n,,n=a=XXb,r=abc", false},
		"lower case escape":            {"n,,n=a=2cb,r=abc", false},
		"cut escape":                   {"n,,n=a=,r=abc", false},
		"zero byte":                    {"n,,n=a\x00b,r=abc", false},
		"not key=value":                {"n,,n=alice,r=abc,x", false},
		"digit as key":                 {"n,,n=alice,r=abc,1=x", false},
		"wrong order":                  {"n,,r=abc,n=alice", false},
		"a thousand little attributes": {"n,,n=alice,r=abc" + strings.Repeat(",x=1", 1000), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := begin(t, ScramSHA512, users{}).Step([]byte(c.token))
			if (err == nil) != c.good {
				t.Errorf("got %v", err)
			}
			if err != nil && kafka.CodeOf(err) != kafka.SASLAuthenticationFailed {
				t.Errorf("got %v, want 58", err)
			}
		})
	}
}

// client computes a client's last message by hand, so that tests can bend it.
type client struct {
	password                    string
	bare, server                string // what was said so far
	channel, nonce, extra, tail string
}

func (c client) final(t *testing.T) string {
	t.Helper()
	var salt []byte
	for part := range strings.SplitSeq(c.server, ",") {
		if text, ok := strings.CutPrefix(part, "s="); ok {
			var err error
			if salt, err = base64.StdEncoding.DecodeString(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := kafka.ScramSHA256
	salted := saltedPassword(t, c.password, salt)
	key := m.HMAC(salted, "Client Key")
	without := "c=" + c.channel + ",r=" + c.nonce + c.extra
	signature := m.HMAC(m.Sum(key), c.bare+","+c.server+","+without)
	for i := range key {
		key[i] ^= signature[i]
	}
	return without + ",p=" + base64.StdEncoding.EncodeToString(key) + c.tail
}

func TestScramLastMessages(t *testing.T) {
	for name, c := range map[string]struct {
		bend  func(c *client)
		after func(token string) string
		good  bool
	}{
		"right":                       {good: true},
		"extension":                   {bend: func(c *client) { c.extra = ",x=1" }, good: true},
		"own nonce repeated":          {bend: func(c *client) { c.nonce = "abc" + c.nonce }, good: true},
		"own nonce repeated twice":    {bend: func(c *client) { c.nonce = "abcabc" + c.nonce }},
		"another's nonce in front":    {bend: func(c *client) { c.nonce = "xyz" + c.nonce }},
		"only the client's nonce":     {bend: func(c *client) { c.nonce = "abc" }},
		"only the server's nonce":     {bend: func(c *client) { c.nonce = c.nonce[3:] }},
		"nonce cut":                   {bend: func(c *client) { c.nonce = c.nonce[:len(c.nonce)-1] }},
		"nonce longer":                {bend: func(c *client) { c.nonce += "x" }},
		"wrong password":              {bend: func(c *client) { c.password = "guess" }},
		"channel y":                   {bend: func(c *client) { c.channel = "eSws" }},
		"channel of another header":   {bend: func(c *client) { c.channel = base64.StdEncoding.EncodeToString([]byte("n,a=alice,")) }},
		"mandatory extension":         {bend: func(c *client) { c.extra = ",m=1" }},
		"duplicate channel":           {bend: func(c *client) { c.extra = ",c=biws" }},
		"duplicate nonce":             {bend: func(c *client) { c.extra = ",r=" + c.nonce }},
		"something after the proof":   {bend: func(c *client) { c.tail = ",x=1" }},
		"line feed in the proof":      {bend: func(c *client) { c.tail = "\n" }},
		"no proof":                    {after: func(s string) string { return s[:strings.Index(s, ",p=")] }},
		"empty proof":                 {after: func(s string) string { return s[:strings.Index(s, ",p=")+3] }},
		"short proof":                 {after: func(s string) string { return s[:strings.Index(s, ",p=")+7] }},
		"proof not base64":            {after: func(s string) string { return s[:len(s)-4] + "!!!!" }},
		"empty":                       {after: func(string) string { return "" }},
		"the first message once more": {after: func(string) string { return "n,,n=alice,r=abc" }},
	} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, ScramSHA256, users{"alice": "secret"})
			server, _, err := e.Step([]byte("n,,n=alice,r=abc"))
			if err != nil {
				t.Fatal(err)
			}
			nonce, _, _ := strings.Cut(strings.TrimPrefix(string(server), "r="), ",")
			cl := client{password: "secret", bare: "n=alice,r=abc", server: string(server), channel: "biws", nonce: nonce}
			if c.bend != nil {
				c.bend(&cl)
			}
			token := cl.final(t)
			if c.after != nil {
				token = c.after(token)
			}
			reply, done, err := e.Step([]byte(token))
			if done != c.good || (err == nil) != c.good {
				t.Errorf("got %q, done %v, %v", reply, done, err)
			}
			if err != nil && kafka.CodeOf(err) != kafka.SASLAuthenticationFailed {
				t.Errorf("got %v, want 58", err)
			}
		})
	}
}

func TestScramSaltOfUnknownUsers(t *testing.T) {
	challenge := func(mechanism, user string, o Options) string {
		e, err := NewExchange(mechanism, users{}, o)
		if err != nil {
			t.Fatal(err)
		}
		reply, _, err := e.Step([]byte("n,,n=" + user + ",r=abc"))
		if err != nil {
			t.Fatal(err)
		}
		_, salt, _ := strings.Cut(string(reply), ",")
		return salt
	}
	first := challenge(ScramSHA512, "bob", options)
	if again := challenge(ScramSHA512, "bob", options); again != first {
		t.Errorf("%s at first, then %s", first, again)
	}
	for name, other := range map[string]string{
		"another name":      challenge(ScramSHA512, "eve", options),
		"another mechanism": challenge(ScramSHA256, "bob", options),
		"another broker":    challenge(ScramSHA512, "bob", Options{SaltKey: []byte("other")}),
	} {
		if other == first {
			t.Errorf("%s has the same salt", name)
		}
	}
	if !strings.HasSuffix(first, ",i=8192") {
		t.Errorf("iterations of %s", first)
	}
}

// A proof made with the keys shown for unknown users is no way in: they are
// all zero, so anyone can sign with them.
func TestScramUnknownUserCannotBeProven(t *testing.T) {
	e := begin(t, ScramSHA256, users{})
	server, _, err := e.Step([]byte("n,,n=bob,r=abc"))
	if err != nil {
		t.Fatal(err)
	}
	nonce, _, _ := strings.Cut(strings.TrimPrefix(string(server), "r="), ",")
	m := kafka.ScramSHA256
	without := "c=biws,r=" + nonce
	proof := m.HMAC(make([]byte, m.KeySize()), "n=bob,r=abc,"+string(server)+","+without)
	_, done, err := e.Step([]byte(without + ",p=" + base64.StdEncoding.EncodeToString(proof)))
	if done || kafka.CodeOf(err) != kafka.SASLAuthenticationFailed {
		t.Errorf("done %v, %v", done, err)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "a=2Cb": "a,b", "a=3Db": "a=b", "a=3D2Cb": "a=2Cb", "=2C=3D": ",="} {
		if got, ok := unescape(in); got != want || !ok {
			t.Errorf("%s: got %q %v, want %q", in, got, ok, want)
		}
	}
}

func saltedPassword(t *testing.T, password string, salt []byte) []byte {
	t.Helper()
	// Hi of RFC 5802, written out: 4096 rounds as in users.Scram.
	m := kafka.ScramSHA256
	u := m.HMAC([]byte(password), string(salt)+"\x00\x00\x00\x01")
	sum := bytes.Clone(u)
	for range 4095 {
		u = m.HMAC([]byte(password), string(u))
		for i := range sum {
			sum[i] ^= u[i]
		}
	}
	return sum
}

// A SCRAM log-in costs the broker a handful of hashes, whatever the
// iterations: those are the client's work.
func BenchmarkScramLogin(b *testing.B) {
	credential, err := kafka.NewScramCredential(kafka.ScramSHA512, "secret", []byte("salt"), 4096)
	if err != nil {
		b.Fatal(err)
	}
	secrets := one{"alice", credential}
	first := []byte("n,,n=alice,r=abc")
	proof := base64.StdEncoding.EncodeToString(make([]byte, 64))
	b.ReportAllocs()
	for b.Loop() {
		e := begin(b, ScramSHA512, secrets)
		server, _, err := e.Step(first)
		if err != nil {
			b.Fatal(err)
		}
		nonce, _, _ := strings.Cut(strings.TrimPrefix(string(server), "r="), ",")
		if _, _, err := e.Step([]byte("c=biws,r=" + nonce + ",p=" + proof)); kafka.CodeOf(err) != kafka.SASLAuthenticationFailed {
			b.Fatal(err)
		}
	}
}
