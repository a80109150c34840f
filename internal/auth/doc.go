// Package auth says who calls and what they may do: the server's side of the
// SASL mechanisms, and the authorizer that is asked before each request.
//
// An Exchange is one log-in as a pure machine: the client's tokens go in, the
// server's come out, and at the end there is a principal or a *kafka.Error
// SASLAuthenticationFailed. It looks the user up once, at the first token,
// and ends against what it found, so that a reload of the credentials in the
// middle of a log-in changes nothing for it. Whether a user exists cannot be
// seen from outside: an unknown name gets a salt made from itself and a secret
// of this broker, the same number of steps, the same work and the same answer
// as a wrong password.
//
//	PLAIN        C: [authzid] NUL user NUL password
//	             S: (empty)
//
//	SCRAM-*      C: n,[a=authzid],n=user,r=cnonce[,ext...]
//	             S: r=cnonce+snonce,s=salt,i=iterations
//	             C: c=base64(n,[a=authzid],),r=cnonce+snonce[,ext...],p=proof
//	             S: v=signature
//
// SCRAM is RFC 5802 (RFC 7677 for SHA-256) without channel binding and
// without SASLprep: names are compared byte for byte, as Kafka does.
//
// Left to others: the frames tokens travel in, the delay after a failure and
// what is counted (handlers), where secrets come from (credstore, joined by
// broker through Secrets).
package auth
