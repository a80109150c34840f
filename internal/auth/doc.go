// Package auth says who calls and what they may do: the server's side of the
// SASL mechanisms, and the authorizer that is asked before each request.
//
// An Exchange is one log-in as a pure machine: the client's tokens go in, the
// server's come out, and at the end there is a principal or a *kafka.Error
// SASLAuthenticationFailed. It looks the user up once, at the first token,
// and ends against what it found, so that a reload of the credentials in the
// middle of a log-in changes nothing for it. Whether a user exists cannot be
// seen from outside: an unknown name gets a salt made from itself and a secret
// of this broker, salt and iterations as those in force have them (Looks), the
// same number of steps, the same work and the same answer as a wrong password.
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
// MappingRules are the names of clients with a certificate: the subject in the
// form of RFC 2253, letter for letter as Java writes it, and what the rules of
// ssl.principal.mapping.rules make of it. Both are held to files of testdata that
// Java and Kafka's own mapper wrote.
//
// The authorizer (Standard) is Kafka's StandardAuthorizer: an immutable Index of
// the ACLs behind an atomic pointer, which a change of the ACLs replaces. What an
// ACL implies is worked out when the index is made, so that a question is a few
// look-ups by name and principal and a test of bits:
//
//	super user                                        allowed
//	a DENY for the principal or User:*, from the host  denied
//	an ALLOW for them                                  allowed
//	the resource has an ACL (of anybody)               denied
//	it has none                                        allow.everyone.if.no.acl.found
//
// A resource falls under the ACLs of its name, of "*" and of every prefix of its
// name. ALLOW of READ, WRITE, DELETE or ALTER brings DESCRIBE, and ALTER_CONFIGS
// brings DESCRIBE_CONFIGS; a DENY brings nothing. Hosts are compared as
// addresses, whichever way they are written.
//
// Left to others: the frames tokens travel in, the delay after a failure and
// what is counted (handlers), where secrets come from (metadata and credstore,
// joined by broker through Secrets), where ACLs are kept (metadata).
package auth
