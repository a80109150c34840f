package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kaasd/internal/auth"
	"kaasd/internal/kafka"
)

// TestPasswordFromStdin: what is kept is what somebody can log in with.
func TestPasswordFromStdin(t *testing.T) {
	for _, tt := range []struct{ name, in, want, told string }{
		{"as echo writes it", "secret\n", "secret", ""},
		{"as PowerShell writes it", "\ufeffsecret\r\n", "secret", "the byte order mark before the password on stdin is left out\n"},
		{"a mark inside", "se\ufeffcret", "se\ufeffcret", ""},
		{"a mark alone", "\ufeff\n", "", "the byte order mark before the password on stdin is left out\nkaasd: the password on stdin is empty (is the variable it comes from set? --generate makes one up)\n"},
		{"a zero byte", "se\x00cret", "", "kaasd: the password on stdin holds a zero byte, which PLAIN cannot carry (is it UTF-16? UTF-8 is expected)\n"},
		{"not UTF-8", "se\xffcret\n", "", "kaasd: the password on stdin is not UTF-8, which log-ins are\n"},
		{"UTF-16", "\xff\xfes\x00e\x00", "", "kaasd: the password on stdin holds a zero byte, which PLAIN cannot carry (is it UTF-16? UTF-8 is expected)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var told strings.Builder
			a := &app{in: strings.NewReader(tt.in), err: &told}
			got, err := a.passwordFromStdin()
			if code := a.report(err); (code == exitUsage) != (tt.want == "") || told.String() != tt.told {
				t.Errorf("exit %d, %q, want %q", code, told.String(), tt.told)
			}
			if err == nil && got != tt.want {
				t.Errorf("the password is %q, want %q", got, tt.want)
			}
		})
	}
}

// nobody has no secrets.
type nobody struct{ auth.Secrets }

func (nobody) Scram(string, kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	return kafka.ScramCredential{}, false
}

// TestLoginNames: a user is made under every name that a log-in can bear, with a long
// nonce too, and under no other.
func TestLoginNames(t *testing.T) {
	for _, tt := range []struct{ name, user, want string }{
		{"the longest", strings.Repeat("a", kafka.MaxName), ""},
		{"one longer", strings.Repeat("a", kafka.MaxName+1), `the name "` + strings.Repeat("a", 64) + `"~ has 4097 bytes: 4096 is the most for a log-in`},
		{"commas", strings.Repeat(",", maxEscapedName/3), ""},
		{"commas, one more", strings.Repeat(",", maxEscapedName/3+1), `the name "` + strings.Repeat(",", 64) + `"~ takes 7683 bytes in a log-in, where commas and equals signs are three each: 7680 is the most`},
		{"a zero byte", "a\x00b", `the name "a\x00b" holds a zero byte, which no log-in can carry`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "credentials.json")
			for _, verb := range []string{"add", "set"} {
				code, _, errs := try(nil, "user", verb, tt.user, "--generate", "--file", file)
				if tt.want == "" && code != exitOK || tt.want != "" && (code != exitUsage || errs != "kaasd: "+tt.want+"\n") {
					t.Errorf("%s = %d %q, want %q", verb, code, errs, tt.want)
				}
			}
			if tt.want != "" {
				return
			}
			login, err := auth.NewExchange(auth.ScramSHA512, nobody{}, auth.Options{SaltKey: make([]byte, 16)})
			if err != nil {
				t.Fatal(err)
			}
			escaped := strings.NewReplacer(",", "=2C", "=", "=3D").Replace(tt.user)
			if _, _, err := login.Step([]byte("n,,n=" + escaped + ",r=" + strings.Repeat("n", 256))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEmptyKinds: a kind of log-in that is given and empty is told by its flag.
func TestEmptyKinds(t *testing.T) {
	for _, flag := range []string{"--tls-cn", "--service-account"} {
		for _, verb := range []string{"add", "set"} {
			code, _, errs := try(nil, "user", verb, "al", flag, "", "--file", "nowhere.json")
			if want := "kaasd: " + flag + " is empty (is the variable it comes from set?)\n"; code != exitUsage || errs != want {
				t.Errorf("%s %s = %d %q", verb, flag, code, errs)
			}
		}
	}
}

// TestEditsAreSeen: no word of an edit steers the terminal that it is shown on.
func TestEditsAreSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	for _, tt := range []struct{ args, want string }{
		{"user add c --tls-cn \x1b[2Jc", `added c (tls CN=\x1b[2Jc) to ` + file},
		{"user add j --service-account n/\x1b[2Jc", `added j (service account n/\x1b[2Jc) to ` + file},
		{"user add \x1b[2Jd --tls-cn d", `added \x1b[2Jd (tls CN=d) to ` + file},
		{"user remove \x1b[2Jd --yes", `removed \x1b[2Jd from ` + file},
	} {
		if code, out, errs := try(nil, append(strings.Split(tt.args, " "), "--file", file)...); code != exitOK || out != tt.want+"\n" {
			t.Errorf("= %d %q %q, want %q", code, out, errs, tt.want)
		}
	}
}

// TestFilesOfFlags: a file that cannot be read is told with the flag or property that
// names it.
func TestFilesOfFlags(t *testing.T) {
	dir := t.TempDir()
	properties := filepath.Join(dir, "client.properties")
	for _, tt := range []struct{ args, text, want string }{
		{"health --http https://localhost:1 --http-ca nowhere", "", "--http-ca: nowhere"},
		{"health --http https://localhost:1 --http-user u --http-password-file nowhere", "", "--http-password-file: nowhere"},
		{"quota describe --command-config nowhere", "", "--command-config: nowhere"},
		{"quota describe --tls-ca nowhere", "", "--tls-ca: nowhere"},
		{"quota describe --sasl-user u --sasl-password-file nowhere", "", "--sasl-password-file: nowhere"},
		{"quota describe --command-config " + properties, "security.protocol=SSL\nssl.truststore.location=nowhere\n", properties + ": ssl.truststore.location: nowhere"},
		{"quota describe --command-config " + properties, "security.protocol=SSL\nssl.keystore.location=nowhere\n", properties + ": ssl.keystore.location: nowhere"},
	} {
		t.Run(fmt.Sprint(tt.args, tt.text), func(t *testing.T) {
			if err := os.WriteFile(properties, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, errs := try(nil, strings.Fields(tt.args)...)
			if want := "kaasd: " + tt.want + ": no such file or directory\n"; code != exitInput || errs != want {
				t.Errorf("= %d %q, want %q", code, errs, want)
			}
		})
	}
}

// TestPageURL: the value is told, unless it may hold a password.
func TestPageURL(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:19404":           `--http: "localhost:19404" is not a URL (http://localhost:19404)`,
		"ftp://there":               `--http: "ftp://there" is not a URL (http://localhost:9404)`,
		"http://:secret@":           "--http: the value is not a URL (http://localhost:9404)",
		"u:secret@localhost:1":      "--http: the value is not a URL (http://localhost:9404)",
		"ftp://u:secret@there":      "--http: the value is not a URL (http://localhost:9404)",
		"http://u:secret@there:1":   "--http: others on this machine can read a password there (--http-user and --http-password-file)",
		"http://u:se%zzcret@there/": "--http: the value is not a URL (http://localhost:9404)",
	} {
		if _, err := checkURL(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
