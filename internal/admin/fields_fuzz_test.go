package admin

import (
	"strings"
	"testing"
)

// FuzzLockFile: a file is read, or what is wrong with it is told in plain words.
func FuzzLockFile(f *testing.F) {
	for _, text := range []string{"", "~", "basic_auth_users: {a: b}", "basic_auth_users: [hunter2]", "tls_server_config: &x {cert: *x}",
		"&x {tls_server_config: *x}", "http_server_config: {http2: 1, headers: {<<: {a: b}}}", "? [a]\n: b", "--- a\n---\nb", "a: *b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeLock("web.yml", []byte(text))
		if err == nil && c == nil || err != nil && !strings.HasPrefix(err.Error(), "web.yml:") {
			t.Errorf("got %v, %v", c, err)
		}
		for _, words := range []string{"unmarshal", "web.", "config."} {
			if err != nil && strings.Contains(strings.TrimPrefix(err.Error(), "web.yml"), words) && !strings.Contains(text, words) {
				t.Errorf("not in plain words: %v", err)
			}
		}
	})
}
