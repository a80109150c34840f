package admin

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"

	"kaasd/internal/certificate"
	"kaasd/internal/watch"
)

// lock is the content of one good file and of those that it names. It is shared
// and must not be changed.
type lock struct {
	sum         [sha256.Size]byte // of all content
	files       []string          // the file itself first
	blank       bool              // there is nothing in the file
	tls         *tls.Config       // nil: pages are served in the clear
	pair        *certificate.Pair // what tls shows; nil without
	authorities certificate.Authorities
	sans        bool // clients' certificates must have certain names
	headers     map[string]string
	users       map[string][]byte // bcrypt hashes of passwords; none: no password is asked for
	nobody      []byte            // a hash that no password has, as slow as those of users
}

// lockBytes is above the size of any file that is meant.
const lockBytes = 1 << 20

// readLock reads a file in the format of exporter-toolkit.
func readLock(path string) (*lock, error) {
	content, err := watch.Read(path, lockBytes)
	if err != nil {
		return nil, err
	}
	c, err := decodeLock(path, content)
	if err != nil {
		return nil, err
	}
	l := &lock{blank: len(bytes.TrimSpace(content)) == 0, headers: c.HTTPConfig.Header, users: map[string][]byte{}}
	if err := l.enroll(c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := l.encrypt(path, content, &c.TLSConfig); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// decodeLock reads the document, with the defaults of exporter-toolkit.
func decodeLock(path string, content []byte) (*web.Config, error) {
	c := &web.Config{TLSConfig: web.TLSConfig{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13}}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, lockFile{path}.unreadable(content, err)
	}
	for _, root := range doc.Content { // none where there is nothing at all
		if err := (lockFile{path}).check("", root, reflect.TypeOf(*c)); err != nil {
			return nil, err
		}
		if err := root.Decode(c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c.TLSConfig.SetDirectory(filepath.Dir(path))
	return c, checkHeaders(path, c.HTTPConfig.Header)
}

// next is what the file holds now, if it may take the place of this one.
func (l *lock) next(path string, now time.Time) (*lock, error) {
	read, err := readLock(path)
	if err != nil {
		return nil, err
	}
	if err := l.mayBecome(read); err != nil {
		return nil, err
	}
	if err := read.timely(l, now); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}

// Why a lock stays although another one was read.
var (
	errToggled = errors.New("TLS cannot be turned on or off while running (a restart does it)")
	errEmptied = errors.New("the file is empty, as it is while it is written or where the disk is full (a restart takes it so)")
	errNoUsers = errors.New("basic_auth_users is not there any more, as where the file is half written: running pages are not opened (a restart does it)")
	errAnyone  = errors.New("client_auth_type asks less of clients than before, as where the file is half written: running pages are not opened (a restart does it)")
	errAnyName = errors.New("client_allowed_sans is not there any more, as where the file is half written: running pages are not opened (a restart does it)")
)

// mayBecome says why another lock must not take the place of this one without a
// restart: the beginning of a file is often a good file, which keeps out fewer.
func (l *lock) mayBecome(next *lock) error {
	switch {
	case next.blank && !l.blank:
		return errEmptied
	case (next.tls == nil) != (l.tls == nil):
		return errToggled
	case len(next.users) == 0 && len(l.users) > 0:
		return errNoUsers
	case next.severity() < l.severity():
		return errAnyone
	case l.sans && !next.sans:
		return errAnyName
	}
	return nil
}

// severity is how much a client's certificate must be to come in. Where names are
// asked for, who shows none has none.
func (l *lock) severity() severity {
	if l.tls == nil {
		return none
	}
	switch auth := l.tls.ClientAuth; {
	case auth == tls.RequireAndVerifyClientCert, auth == tls.VerifyClientCertIfGiven && l.sans:
		return signed
	case auth == tls.RequireAnyClientCert, auth == tls.RequestClientCert && l.sans:
		return madeUp
	}
	return none
}

// severity is what is asked of clients' certificates.
type severity int

const (
	none   severity = iota
	madeUp          // whoever makes it
	signed          // by an authority
)

// closed says whether some are kept out.
func (l *lock) closed() bool { return len(l.users) > 0 || l.severity() == signed }

// opening is what is missing where nobody is kept out; "" where some are.
func (l *lock) opening() string {
	const noUsers = "basic_auth_users is not in it"
	const noAuth = "client_auth_type is not RequireAndVerifyClientCert, and " + noUsers
	switch {
	case l.closed():
		return ""
	case l.blank:
		return "nobody is asked for a password or a certificate: it is empty"
	case l.severity() == madeUp:
		return "a certificate that anybody can make is enough: " + noAuth
	case l.tls != nil && l.tls.ClientAuth != tls.NoClientCert:
		return "nobody needs the certificate that is asked for: " + noAuth
	}
	return "nobody is asked for a password or a certificate: " + noUsers
}

// Certificate is what the pages show that are served with an http.config.file; nil
// where they are served in the clear.
func Certificate(path string) (*x509.Certificate, error) {
	content, err := watch.Read(path, lockBytes)
	if err != nil {
		return nil, err
	}
	c, err := decodeLock(path, content)
	if err != nil || !c.TLSConfig.IsEnabled() {
		return nil, err
	}
	var l lock
	if err := l.encrypt(path, content, &c.TLSConfig); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l.pair.TLS.Leaf, nil
}

// mostCost is the highest cost of a password: one log-in of it takes a second of a
// processor, and each step more doubles that. Passwords are looked at one at a time.
const mostCost = 14

// enroll takes the users, and makes the hash of nobody as slow as the slowest of
// theirs.
func (l *lock) enroll(c *web.Config) error {
	slowest := bcrypt.MinCost
	for name, hash := range c.Users {
		cost, err := bcrypt.Cost([]byte(hash))
		if err != nil {
			return fmt.Errorf("basic_auth_users: the password of %q is no bcrypt hash (htpasswd -nBC 10 NAME makes one)", name)
		}
		if cost > mostCost {
			return fmt.Errorf("basic_auth_users: the password of %q has the cost %d, and above %d nobody gets in while one is looked at (htpasswd -nBC 10 NAME makes one of 10)", name, cost, mostCost)
		}
		slowest = max(slowest, cost)
		l.users[name] = []byte(hash)
	}
	if len(l.users) == 0 {
		return nil
	}
	var err error
	l.nobody, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), slowest)
	return err
}
