package broker_test

import (
	"crypto/pbkdf2"
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// give sets a credential over the Kafka API, as clients do.
func (p *peer) give(a account) {
	p.t.Helper()
	const iterations = 4096
	salt := []byte("a salt of the test")
	salted, err := pbkdf2.Key(a.mechanism.Hash, a.password, salt, iterations, a.mechanism.KeySize())
	if err != nil {
		p.t.Fatal(err)
	}
	p.alterScram(&message.AlterUserScramCredentialsRequest{Upsertions: []message.AlterUserScramCredentialsUpsertion{{
		Name: a.name, Mechanism: int8(a.mechanism), Iterations: iterations, Salt: salt, SaltedPassword: salted,
	}}})
}

func (p *peer) take(a account) {
	p.t.Helper()
	p.alterScram(&message.AlterUserScramCredentialsRequest{
		Deletions: []message.AlterUserScramCredentialsDeletion{{Name: a.name, Mechanism: int8(a.mechanism)}},
	})
}

func (p *peer) alterScram(req *message.AlterUserScramCredentialsRequest) {
	p.t.Helper()
	for _, r := range call[message.AlterUserScramCredentialsResponse](p, 0, req).Results {
		if r.ErrorCode != kafka.NoError {
			p.t.Fatalf("%s: %s %s", r.User, r.ErrorCode, *r.ErrorMessage)
		}
	}
}

// arrive logs in with SCRAM and gives the code of the last answer.
func (p *peer) arrive(a account) kafka.Code {
	p.t.Helper()
	all, _ := logInBy(p, a.as(), func() {})
	return all[len(all)-1].ErrorCode
}

// A credential of the Kafka API is good at once, over the file's, and until it
// is removed; then the file's is good again.
func TestLoginByGivenCredentials(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, carol))
	admin := dial(t, b.Plain)
	other := account{"carol", "another", kafka.ScramSHA512}
	fresh := account{"fresh", "f-secret", kafka.ScramSHA256}
	admin.give(other)
	admin.give(fresh)
	for who, want := range map[account]kafka.Code{carol: kafka.SASLAuthenticationFailed, other: kafka.NoError, fresh: kafka.NoError} {
		if got := dial(t, b.SASL).arrive(who); got != want {
			t.Errorf("%s with %s: %s", who.name, who.password, got)
		}
	}
	session := dial(t, b.SASL)
	session.arrive(other)
	admin.take(other)
	session.versions() // the file still knows her
	for who, want := range map[account]kafka.Code{carol: kafka.NoError, other: kafka.SASLAuthenticationFailed} {
		if got := dial(t, b.SASL).arrive(who); got != want {
			t.Errorf("after the removal, %s with %s: %s", who.name, who.password, got)
		}
	}
}

// Whose last credential is removed loses the sessions; the one who asks for it
// himself gets the answer first.
func TestRemovedCredentialsEndSessions(t *testing.T) {
	b := brokertest.Start(t)
	admin := dial(t, b.Plain)
	one, two := account{"u", "one", kafka.ScramSHA256}, account{"u", "two", kafka.ScramSHA512}
	admin.give(one)
	admin.give(two)
	stays := dial(t, b.SASL)
	admin.give(account{"v", "v", kafka.ScramSHA256})
	stays.arrive(account{"v", "v", kafka.ScramSHA256})
	session, asks := dial(t, b.SASL), dial(t, b.SASL)
	session.arrive(one)
	asks.arrive(two)
	admin.take(two)
	session.versions()
	asks.take(one)
	asks.mustEnd()
	session.mustEnd()
	stays.versions()
}

// Users stay, and removed ones stay removed, over restarts.
func TestGivenCredentialsSurviveRestarts(t *testing.T) {
	folder := withFolder(t)
	b := brokertest.Start(t, folder)
	admin := dial(t, b.Plain)
	stays, goes := account{"stays", "s", kafka.ScramSHA512}, account{"goes", "g", kafka.ScramSHA512}
	admin.give(stays)
	admin.give(goes)
	admin.take(goes)
	b.Stop()
	b = brokertest.Start(t, folder)
	for who, want := range map[account]kafka.Code{stays: kafka.NoError, goes: kafka.SASLAuthenticationFailed} {
		if got := dial(t, b.SASL).arrive(who); got != want {
			t.Errorf("%s: %s", who.name, got)
		}
	}
}

// Who leaves the file and has a credential of the Kafka API can still log in, and
// keeps the sessions.
func TestGivenCredentialsOutliveTheFile(t *testing.T) {
	b, path := startWithFile(t, credentials(t, carol, bob))
	given := account{"carol", "given", kafka.ScramSHA256}
	dial(t, b.Plain).give(given)
	session, gone := dial(t, b.SASL), dialAs(t, b.SASL, "bob", "b-secret")
	session.arrive(given)
	newFile(t, b, path, `{"users":[]}`)
	gone.mustEnd()
	session.versions()
	for who, want := range map[account]kafka.Code{carol: kafka.SASLAuthenticationFailed, given: kafka.NoError} {
		if got := dial(t, b.SASL).arrive(who); got != want {
			t.Errorf("%s with %s: %s", who.name, who.password, got)
		}
	}
}

// A credential that is removed between the steps of a log-in is not good for it
// any more.
func TestCredentialTakenDuringALogin(t *testing.T) {
	b := brokertest.Start(t)
	admin := dial(t, b.Plain)
	given := account{"u", "u-secret", kafka.ScramSHA512}
	admin.give(given)
	p := dial(t, b.SASL)
	all, _ := logInBy(p, given.as(), func() { admin.take(given) })
	if got := all[len(all)-1].ErrorCode; got != kafka.SASLAuthenticationFailed {
		t.Errorf("got %s", got)
	}
	p.mustEnd()
}
