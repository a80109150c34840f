package kafka

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// The keys of RFC 7677 section 3: user "user", password "pencil". The RFC
// prints the messages only; the stored and server key follow from them.
func TestScramCredentialOfRFC7677(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewScramCredential(ScramSHA256, "pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := base64.StdEncoding.EncodeToString(c.StoredKey), "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="; got != want {
		t.Errorf("stored key %s, want %s", got, want)
	}
	if got, want := base64.StdEncoding.EncodeToString(c.ServerKey), "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="; got != want {
		t.Errorf("server key %s, want %s", got, want)
	}
}

func TestScramCredentialPrintsNoKeys(t *testing.T) {
	c := ScramCredential{Mechanism: ScramSHA512, Salt: []byte("seasalt"), StoredKey: []byte("stored!"), ServerKey: []byte("server!"), Iterations: 4096}
	for _, verb := range []string{"%v", "%+v", "%s"} {
		got := fmt.Sprintf(verb, struct{ C *ScramCredential }{&c}) + fmt.Sprintf(verb, c)
		if strings.Contains(got, "stored!") || strings.Contains(got, "115 116 111") {
			t.Errorf("%s prints keys: %s", verb, got)
		}
	}
	if got, want := c.String(), "SCRAM-SHA-512, 4096 iterations"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
