package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// clientTLS reads the ssl.* properties of Kafka's clients, as far as they are
// PEM. The file of --tls-ca goes before ssl.truststore.*.
func clientTLS(file, ca string, properties map[string]string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if path := orElse(ca, properties["ssl.truststore.location"]); path != "" {
		flag := "--tls-ca"
		if ca == "" {
			flag = file + ": ssl.truststore.location"
		}
		config, err = trustOnly(flag, path)
	} else if pem := properties["ssl.truststore.certificates"]; pem != "" {
		config.RootCAs, err = pool(file+": ssl.truststore.certificates", []byte(pem))
	}
	if err != nil {
		return nil, err
	}
	if err := showCertificate(config, file, properties); err != nil {
		return nil, err
	}
	if err := limitVersions(config, properties["ssl.enabled.protocols"]); err != nil {
		return nil, exitWith(exitInput, "%s: ssl.enabled.protocols: %w", file, err)
	}
	if name, set := properties["ssl.endpoint.identification.algorithm"]; set && !strings.EqualFold(name, "https") {
		if name != "" {
			return nil, exitWith(exitInput, "%s: ssl.endpoint.identification.algorithm: %q is not known (https, or empty to leave host names unchecked)", file, name)
		}
		leaveNamesUnchecked(config)
	}
	return config, nil
}

// trustOnly trusts what the authorities of a PEM file have signed, which the flag or
// property names.
func trustOnly(flag, path string) (*tls.Config, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, exitWith(exitInput, "%s: %s: %w", flag, path, pathCause(err))
	}
	roots, err := pool(flag+": "+path, pem)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, err
}

func pool(where string, pem []byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, exitWith(exitInput, "%s: holds no PEM certificate (a Java key store must be exported to PEM)", where)
	}
	return roots, nil
}

// showCertificate takes the client's certificate and key: from one file that
// holds both, as Kafka's PEM stores do, or from the properties themselves.
func showCertificate(config *tls.Config, file string, properties map[string]string) error {
	where, cert, key := file, []byte(properties["ssl.keystore.certificate.chain"]), []byte(properties["ssl.keystore.key"])
	if path := properties["ssl.keystore.location"]; path != "" {
		both, err := os.ReadFile(path)
		if err != nil {
			return exitWith(exitInput, "%s: ssl.keystore.location: %s: %w", file, path, pathCause(err))
		}
		where, cert, key = path, both, both
	}
	switch {
	case len(cert) == 0 && len(key) == 0:
		return nil
	case bytes.Contains(key, []byte("ENCRYPTED PRIVATE KEY")):
		return exitWith(exitInput, "%s: the private key is encrypted, which is not supported (openssl pkey writes it without)", where)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return exitWith(exitInput, "%s: %s (a certificate chain and its private key in PEM are expected; a Java key store must be exported)", where, strings.TrimPrefix(err.Error(), "tls: "))
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}

// limitVersions takes a list such as TLSv1.2,TLSv1.3.
func limitVersions(config *tls.Config, text string) error {
	for i, name := range splitList(text, ",") {
		version, known := map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}[name]
		if !known {
			return fmt.Errorf("%q is not TLSv1.2 or TLSv1.3", name)
		}
		if i == 0 {
			config.MinVersion, config.MaxVersion = version, version
		}
		config.MinVersion, config.MaxVersion = min(config.MinVersion, version), max(config.MaxVersion, version)
	}
	return nil
}

// leaveNamesUnchecked trusts whatever the authorities signed, for any host.
func leaveNamesUnchecked(config *tls.Config) {
	roots := config.RootCAs
	config.InsecureSkipVerify = true // what VerifyConnection does instead
	config.VerifyConnection = func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		if _, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
		}
		return nil
	}
}

var errOtherCertificate = errors.New("it shows another certificate than http.config.file names")

// trustCertificate trusts one certificate and no other.
func trustCertificate(config *tls.Config, leaf *x509.Certificate) {
	config.InsecureSkipVerify = true // what VerifyConnection does instead
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if !s.PeerCertificates[0].Equal(leaf) {
			return errOtherCertificate
		}
		return nil
	}
}

// untrusted says whether an error is about the certificate of the other side.
func untrusted(err error) bool {
	var failed *tls.CertificateVerificationError
	return errors.As(err, &failed)
}

// tlsCause is what there is to say of a handshake that does not get better by
// waiting, and the way out; "" for other errors.
func tlsCause(err error) string {
	var failed *tls.CertificateVerificationError
	var alert tls.AlertError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &failed):
		return ": " + failed.Error() + " (--tls-ca names a PEM file with its authority)"
	case errors.As(err, &alert):
		return ": it ends the TLS handshake: " + alert.Error() + " (does it ask for a certificate? ssl.keystore.* in --command-config)"
	case errors.As(err, &header):
		return ": it does not speak TLS (is this the port of another listener?)"
	case strings.Contains(err.Error(), "remote error: tls:"):
		return ": " + err.Error() + " (does it ask for a certificate? ssl.keystore.* in --command-config)"
	}
	return ""
}
