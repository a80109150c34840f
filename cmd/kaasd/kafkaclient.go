package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// reachTimeout is how long a command tries to reach the broker, or the page.
const reachTimeout = 5 * time.Second

// maxClosings is how many connections the peer may close without an answer until
// it is taken to speak another protocol.
const maxClosings = 3

// clientFlags are those of every command that speaks Kafka.
type clientFlags struct {
	bootstrap, commandConfig, saslUser, saslPasswordFile, tlsCA string
}

func (f *clientFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.bootstrap, "bootstrap-server", "", "the cluster to ask, host:port (KAASD_BOOTSTRAP_SERVER; localhost:9092)")
	c.Flags().StringVar(&f.commandConfig, "command-config", "", "a file of Kafka client properties")
	c.Flags().StringVar(&f.saslUser, "sasl-user", "", "log in as this user, by whichever of SCRAM-SHA-512, SCRAM-SHA-256 and (over TLS) PLAIN knows it")
	c.Flags().StringVar(&f.saslPasswordFile, "sasl-password-file", "", "the file that holds the password")
	c.Flags().StringVar(&f.tlsCA, "tls-ca", "", "speak TLS and trust the certificates in this PEM file")
}

// remote is a cluster to be asked.
type remote struct {
	*kadm.Client
	address string // for messages
}

// connect reaches the cluster, or says why not. Of several ways to log in each is
// tried in turn: a broker that offers one may know the user by another.
func (a *app) connect(ctx context.Context, f *clientFlags) (*remote, error) {
	opts, mechanisms, address, err := f.options(a.variables())
	if err != nil {
		return nil, err
	}
	if len(mechanisms) == 0 {
		return connectBy(ctx, opts, address)
	}
	var refused, unsupported error // what is said of the user is told, rather than of a mechanism
	for _, m := range mechanisms {
		r, err := connectBy(ctx, append(slices.Clone(opts), kgo.SASL(m)), address)
		switch {
		case errors.Is(err, kerr.SaslAuthenticationFailed):
			refused = cmp.Or(refused, err)
		case errors.Is(err, kerr.UnsupportedSaslMechanism):
			unsupported = cmp.Or(unsupported, err)
		default:
			return r, err
		}
	}
	return nil, cmp.Or(refused, unsupported)
}

func connectBy(ctx context.Context, opts []kgo.Opt, address string) (*remote, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, usagef("%s: %w", address, err)
	}
	if err := reach(ctx, client, address); err != nil {
		client.Close()
		return nil, err
	}
	return &remote{kadm.NewClient(client), address}, nil
}

// reach tries until the time is up: the broker may be starting. A refused
// log-in does not get better by waiting, and hardly a peer that hangs up.
func reach(ctx context.Context, client *kgo.Client, address string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	var last error
	for closings := 0; ; {
		err := client.Ping(ctx)
		if err == nil {
			return nil
		}
		if refused := refusal(address, "the log-in", err); refused != nil {
			return refused
		}
		if cause := tlsCause(err); cause != "" {
			return exitWith(exitUnreachable, "cannot reach %s%s", address, cause)
		}
		if isClosed(err) {
			if closings++; closings == maxClosings {
				return exitWith(exitUnreachable, "cannot reach %s%s", address, dialCause(err))
			}
		}
		// A try that the end of our time has cut short tells nothing.
		if last == nil || ctx.Err() == nil && !isTimeout(err) {
			last = err
		}
		select {
		case <-ctx.Done():
			return exitWith(exitUnreachable, "cannot reach %s in %v%s", address, reachTimeout, dialCause(last))
		case <-pause.C:
		}
	}
}

// isClosed says whether the peer hung up without a word.
func isClosed(err error) bool {
	var closed *kgo.ErrFirstReadEOF
	return errors.As(err, &closed) || strings.Contains(err.Error(), "EOF")
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// dialCause is what is worth knowing beside the bare fact of not being there,
// and the way out.
func dialCause(err error) string {
	const another = " (is kaasd running? --bootstrap-server names another)"
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return ": no such host" + another
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, context.DeadlineExceeded):
		return another
	case isClosed(err):
		return ": it closes the connection (does it ask for a log-in? --sasl-user and --sasl-password-file, or --command-config; for TLS? --tls-ca)"
	}
	return ": " + err.Error() + another
}

// refusal is an exit 5 when the broker said no with a Kafka error code, or nil.
func refusal(address, what string, err error) error {
	var e *kerr.Error
	if !errors.As(err, &e) {
		return nil
	}
	detail := ""
	if full := err.Error(); !strings.HasPrefix(full, e.Message) {
		detail = strings.TrimSuffix(full, ": "+e.Error())
	}
	return refusedWith(address, what, e, detail)
}

// refusedWith is an exit 5 in the broker's own words, or those of the code
// when it has none.
func refusedWith(address, what string, err error, detail string) error {
	name := "UNKNOWN_SERVER_ERROR"
	var e *kerr.Error
	if errors.As(err, &e) {
		name, detail = e.Message, orElse(detail, e.Description)
	}
	return &exitError{exitRefused, &reworded{fmt.Sprintf("%s refused %s: %s: %s%s", address, what, name, detail, wayOut[name]), err}}
}

// reworded is an error in words of our own.
type reworded struct {
	words string
	cause error
}

func (e *reworded) Error() string { return e.words }
func (e *reworded) Unwrap() error { return e.cause }

// wayOut is what helps against a refusal whose words do not say so, by the name
// of its code.
var wayOut = map[string]string{
	kerr.ClusterAuthorizationFailed.Message: " (listing quotas takes DescribeConfigs on the cluster, changing them AlterConfigs: by an ACL, or as one of super.users)",
	kerr.SaslAuthenticationFailed.Message:   " (the user is not known, or the password is another, or its entry is for another mechanism, which --command-config can name; or too many from this address have failed within a minute)",
}

// failure is any error of a request: a refusal, or a broker that went away.
func failure(address, what string, err error) error {
	if refused := refusal(address, what, err); refused != nil {
		return refused
	}
	return exitWith(exitUnreachable, "%s did not answer %s: %w", address, what, err)
}

// options turns flags, variable and properties file into those of the client.
func (f *clientFlags) options(variables map[string]string) (_ []kgo.Opt, mechanisms []sasl.Mechanism, address string, err error) {
	properties := map[string]string{}
	if f.commandConfig != "" {
		if properties, err = readProperties(f.commandConfig); err != nil {
			return nil, nil, "", err
		}
	}
	address, err = f.address(variables["KAASD_BOOTSTRAP_SERVER"], properties["bootstrap.servers"])
	if err != nil {
		return nil, nil, "", err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(splitList(address, ",")...),
		kgo.ClientID(orElse(properties["client.id"], "kaasd-cli")),
		kgo.RequestTimeoutOverhead(reachTimeout),
		kgo.RetryTimeout(2 * reachTimeout),
	}
	config, mechanisms, err := f.security(properties)
	if err != nil {
		return nil, nil, "", err
	}
	if config != nil {
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	return opts, mechanisms, address, nil
}

// address is the first one that was named, by flag, variable or properties
// file.
func (f *clientFlags) address(variable, property string) (string, error) {
	for _, given := range []struct {
		text, where string
		code        int
	}{
		{f.bootstrap, "--bootstrap-server", exitUsage},
		{variable, "KAASD_BOOTSTRAP_SERVER", exitUsage},
		{property, f.commandConfig + ": bootstrap.servers", exitInput},
	} {
		if given.text == "" {
			continue
		}
		for _, word := range strings.Split(given.text, ",") {
			if err := checkAddress(strings.TrimSpace(word)); err != nil {
				return "", exitWith(given.code, "%s: %w", given.where, err)
			}
		}
		return given.text, nil
	}
	return "localhost:9092", nil
}

func checkAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
		return fmt.Errorf("%q is not host:port (such as localhost:9092)", text)
	}
	return nil
}

// security is TLS, nil for none, and the ways to log in.
func (f *clientFlags) security(properties map[string]string) (config *tls.Config, _ []sasl.Mechanism, err error) {
	protocol := strings.ToUpper(orElse(properties["security.protocol"], "PLAINTEXT"))
	if !slices.Contains(protocolNames, protocol) {
		return nil, nil, exitWith(exitInput, "%s: security.protocol: %q is not one of %s", f.commandConfig, protocol, strings.Join(protocolNames, ", "))
	}
	secure := strings.HasSuffix(protocol, "SSL") || f.tlsCA != ""
	if secure {
		if config, err = clientTLS(f.commandConfig, f.tlsCA, properties); err != nil {
			return nil, nil, err
		}
	}
	mechanisms, err := f.mechanisms(properties, strings.HasPrefix(protocol, "SASL"), secure)
	return config, mechanisms, err
}

// mechanisms are how to log in. A password goes out in the clear only where
// the properties file asks for PLAIN, or through TLS.
func (f *clientFlags) mechanisms(properties map[string]string, wanted, secure bool) ([]sasl.Mechanism, error) {
	if f.saslUser != "" {
		password, err := f.password()
		if err != nil {
			return nil, err
		}
		names := []string{"SCRAM-SHA-512", "SCRAM-SHA-256"}
		if secure {
			names = append(names, "PLAIN")
		}
		return mechanismsOf(names, f.saslUser, password), nil
	}
	if f.saslPasswordFile != "" {
		return nil, usagef("--sasl-password-file needs --sasl-user")
	}
	if !wanted {
		return nil, nil
	}
	name := orElse(properties["sasl.mechanism"], "GSSAPI")
	if !slices.Contains([]string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}, name) {
		return nil, exitWith(exitInput, "%s: sasl.mechanism %s is not supported (PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are)", f.commandConfig, name)
	}
	user, password, err := jaasLogin(properties["sasl.jaas.config"])
	if err != nil {
		return nil, exitWith(exitInput, "%s: %w", f.commandConfig, err)
	}
	return mechanismsOf([]string{name}, user, password), nil
}

func mechanismsOf(names []string, user, password string) []sasl.Mechanism {
	auth := scram.Auth{User: user, Pass: password}
	all := map[string]sasl.Mechanism{
		"SCRAM-SHA-512": auth.AsSha512Mechanism(),
		"SCRAM-SHA-256": auth.AsSha256Mechanism(),
		"PLAIN":         plain.Auth{User: user, Pass: password}.AsMechanism(),
	}
	var chosen []sasl.Mechanism
	for _, name := range names {
		chosen = append(chosen, all[name])
	}
	return chosen
}

func (f *clientFlags) password() (string, error) {
	if f.saslPasswordFile == "" {
		return "", usagef("--sasl-user needs --sasl-password-file")
	}
	return readPassword("--sasl-password-file", f.saslPasswordFile)
}

// readPassword is the content of a file, which the flag names, without the line end
// that editors add.
func readPassword(flag, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", exitWith(exitInput, "%s: %s: %w", flag, path, pathCause(err))
	}
	password := strings.TrimRight(string(raw), "\r\n")
	if password == "" {
		return "", exitWith(exitInput, "%s: %s: is empty", flag, path)
	}
	return password, nil
}
