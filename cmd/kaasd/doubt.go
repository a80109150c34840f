package main

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"go.uber.org/zap"

	"kaasd/internal/certificate"
	"kaasd/internal/credstore"
	"kaasd/internal/server"
)

// doubt is something that an operator may not have meant, with the way out. It is
// valid: a start and a check of the settings warn of it.
type doubt struct {
	text   string
	fields []zap.Field
}

func doubtf(format string, args ...any) doubt { return doubt{text: fmt.Sprintf(format, args...)} }

// doubts are all there are about the settings.
func (s *settings) doubts() []doubt {
	return slices.Concat(s.accessDoubts(), s.superUserDoubts(), s.tlsDoubts(), s.passwordDoubts(), s.pageDoubts())
}

// accessDoubts are about who comes in, and may do what.
func (s *settings) accessDoubts() []doubt {
	var all []doubt
	switch {
	case !s.asksForLogin() && s.AsksForCertificates():
	case !s.asksForLogin() && s.CredentialsFile == "":
		all = append(all, doubtf("no credentials file: every client is User:ANONYMOUS"))
	case !s.asksForLogin():
		all = append(all, doubtf("no listener asks for a log-in: every client is User:ANONYMOUS"))
	case s.CredentialsFile == "":
		all = append(all, doubtf("no credentials file: nobody can log in"))
	}
	if !s.Access.Enabled {
		all = append(all, doubtf("no authorizer: clients can change quotas, their own too (authorizer.class.name)"))
	}
	return all
}

func (s *settings) asksForLogin() bool {
	return slices.ContainsFunc(s.Listeners, func(l server.Listener) bool { return l.Protocol.SASL() })
}

// joinedUsers is a list with commas, which no two users of super.users have between
// them: names may hold a comma.
var joinedUsers = regexp.MustCompile(`,\s*User:`)

func (s *settings) superUserDoubts() []doubt {
	var all []doubt
	if len(s.Access.SuperUsers) > 0 && !s.Access.Enabled {
		all = append(all, doubtf("super.users has no effect: there is no authorizer (authorizer.class.name: acl)"))
	}
	for _, principal := range s.Access.SuperUsers {
		if joinedUsers.MatchString(principal) {
			all = append(all, doubtf("super.users: %q is one user with commas in the name (several have ; between them)", principal))
		}
	}
	return all
}

// tlsDoubts are about settings of TLS that no listener takes.
func (s *settings) tlsDoubts() []doubt {
	var all []doubt
	asked := func(l server.Listener) bool { // ssl.client.auth counts there
		_, own := s.TLS.ListenerClientAuth[l.Name]
		return l.Protocol.TLS() && !l.Protocol.SASL() && !own
	}
	speaks := slices.ContainsFunc(s.Listeners, func(l server.Listener) bool { return l.Protocol.TLS() })
	if given := s.tlsGiven(); !speaks && len(given) > 0 {
		all = append(all, doubtf("no listener speaks TLS: no effect of %s (listeners: SSL or SASL_SSL)", strings.Join(given, ", ")))
	}
	if speaks && s.TLS.ClientAuth != certificate.None && !slices.ContainsFunc(s.Listeners, asked) {
		all = append(all, doubtf("ssl.client.auth: %s asks nobody, it is for SSL listeners (listener.name.NAME.ssl.client.auth is for one, of SASL_SSL too)", s.TLS.ClientAuth))
	}
	for _, l := range s.Listeners {
		if auth, ok := s.TLS.ListenerClientAuth[l.Name]; ok && auth != certificate.None && !l.Protocol.TLS() {
			all = append(all, doubtf("listener.name.%s.ssl.client.auth: %s asks nobody, the listener is %s (listeners: SSL or SASL_SSL)", strings.ToLower(l.Name), auth, l.Protocol))
		}
	}
	return all
}

// tlsGiven are the settings that only a listener with TLS has a use for.
func (s *settings) tlsGiven() []string {
	var keys []string
	for _, set := range []struct {
		key   string
		given bool
	}{
		{"tls.cert.file", len(s.TLS.Files.Certs) > 0},
		{"tls.key.file", len(s.TLS.Files.Keys) > 0},
		{"tls.client.ca.file", s.TLS.Files.ClientCA != ""},
		{"ssl.client.auth", s.TLS.ClientAuth != "" && s.TLS.ClientAuth != certificate.None},
	} {
		if set.given {
			keys = append(keys, set.key)
		}
	}
	return keys
}

// passwordDoubts are about passwords that the network can read.
func (s *settings) passwordDoubts() []doubt {
	var all []doubt
	for _, l := range s.Listeners {
		if l.Protocol == server.SASLPlaintext && slices.Contains(s.SASLMechanisms, "PLAIN") && outside(l.Address) {
			all = append(all, doubtf("listener %s: PLAIN sends passwords in the clear on %s (SASL_SSL encrypts them, SCRAM-SHA-512 alone in sasl.enabled.mechanisms sends none)", l.Name, l.Address))
		}
	}
	return all
}

func (s *settings) pageDoubts() []doubt {
	if s.HTTP.Listen == "" || s.HTTP.File != "" || !outside(s.HTTP.Listen) {
		return nil
	}
	return []doubt{doubtf("http.listen: the pages on %s are open to everybody, in the clear (http.config.file asks for passwords and has TLS)", s.HTTP.Listen)}
}

// outside says whether others than this machine's can come to an address.
func outside(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// userDoubts are about users of the credentials file whom no listener lets in.
func (s *settings) userDoubts(file *credstore.Snapshot) []doubt {
	if !s.asksForLogin() && !s.AsksForCertificates() {
		return nil // nobody logs in at all, which is told
	}
	if s.asksForLogin() && len(file.Users) == 0 {
		return []doubt{doubtf("credentials: nobody is in the file (kaasd user add makes a user; only SCRAM credentials of the Kafka API let somebody log in)")}
	}
	left := map[string][]string{}
	for _, u := range file.Sorted() {
		if can, _ := u.CanLogin(); can && !s.letsIn(u) {
			left[u.AuthType] = append(left[u.AuthType], u.Username)
		}
	}
	var all []doubt
	for _, kind := range sortedKeys(left) {
		names := left[kind]
		d := doubtf("credentials: users whose log-in no listener takes (%s)", waysIn[kind])
		d.fields = []zap.Field{zap.String("authType", kind), zap.Int("count", len(names)), zap.Strings("users", names[:min(len(names), maxNames)])}
		all = append(all, d)
	}
	return all
}

// maxNames is how many users one doubt names.
const maxNames = 10

// waysIn are what lets users in, by their authType.
var waysIn = map[string]string{
	credstore.AuthScramSHA512: "SCRAM-SHA-512 in sasl.enabled.mechanisms, SASL_SSL in listeners",
	credstore.AuthScramSHA256: "SCRAM-SHA-256 in sasl.enabled.mechanisms, SASL_SSL in listeners",
	credstore.AuthPlain:       "PLAIN in sasl.enabled.mechanisms, SASL_SSL in listeners",
	credstore.AuthTLS:         "SSL in listeners, and ssl.client.auth",
}

// letsIn says whether some listener speaks what the user logs in with.
func (s *settings) letsIn(u *credstore.User) bool {
	if u.AuthType == credstore.AuthTLS {
		return s.AsksForCertificates()
	}
	speaks := func(mechanism string) bool { return slices.Contains(s.SASLMechanisms, mechanism) }
	scram := u.Scram != nil && speaks(u.Scram.Mechanism.String())
	return s.asksForLogin() && (scram || u.HasPlainPassword() && speaks("PLAIN"))
}

// warn tells all doubts.
func (s *settings) warn(log *zap.Logger) {
	for _, d := range s.doubts() {
		log.Warn(d.text, d.fields...)
	}
	s.warnOfUsers(log)
}

// warnOfUsers tells those about the users in the credentials file. A file that cannot
// be read is told by whoever reads it for use.
func (s *settings) warnOfUsers(log *zap.Logger) {
	if s.CredentialsFile == "" {
		return
	}
	users, err := readCredentials(s.CredentialsFile)
	if err != nil {
		return
	}
	for _, d := range s.userDoubts(users) {
		log.Warn(d.text, d.fields...)
	}
}
