package certificate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kaasd/internal/watch"
)

// maxSize is the most a file may hold, in bytes: a bundle of all public
// authorities has a quarter.
const maxSize = 1 << 20

// Files are where a set is read from, in PEM.
type Files struct {
	Certs    []string // certificate files, each with its chain, the own one first (tls.cert.file)
	Keys     []string // the private key of each, in their order (tls.key.file)
	ClientCA string   // authorities of client certificates; "" trusts none (tls.client.ca.file)
}

// Validate says whether the files can make a set; it does not read them.
func (f Files) Validate() error {
	switch {
	case len(f.Certs) == 0 && len(f.Keys) == 0:
		return errors.New("tls.cert.file: a listener with TLS needs a certificate, and tls.key.file its key")
	case len(f.Certs) == 0:
		return errors.New("tls.cert.file: tls.key.file needs the certificate to its key")
	case len(f.Keys) == 0:
		return errors.New("tls.key.file: tls.cert.file needs the key to its certificate")
	case len(f.Certs) != len(f.Keys):
		return fmt.Errorf("tls.key.file: %d keys for %d certificates (one for each, in their order)", len(f.Keys), len(f.Certs))
	}
	return nil
}

// named are the files of a setting.
type named struct {
	setting string
	paths   []string
}

func (f Files) named() []named {
	all := []named{{"tls.cert.file", f.Certs}, {"tls.key.file", f.Keys}}
	if f.ClientCA != "" {
		all = append(all, named{"tls.client.ca.file", []string{f.ClientCA}})
	}
	return all
}

// paths are all files, each once.
func (f Files) paths() []string {
	var all []string
	for _, n := range f.named() {
		all = append(all, n.paths...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// content is the bytes of the files, by path.
type content map[string][]byte

// read reads all files, and tells of each that cannot be read whose it is.
func (f Files) read() (content, error) {
	c := content{}
	var wrong unread
	for _, n := range f.named() {
		for _, path := range n.paths {
			if _, ok := c[path]; ok {
				continue // a key may stand behind its certificate
			}
			data, err := watch.Read(path, maxSize)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", n.setting, err))
				continue
			}
			c[path] = data
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return c, nil
}

// unread are files that cannot be read: one line in a log, many for a command.
type unread []error

func (u unread) Error() string {
	var texts []string
	for _, err := range u {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap are the errors of the single files.
func (u unread) Unwrap() []error { return u }

// sum tells contents from one another.
func (f Files) sum(c content) [sha256.Size]byte {
	h := sha256.New()
	for _, path := range f.paths() {
		fmt.Fprintf(h, "%d ", len(c[path]))
		h.Write(c[path])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// pair is the i-th certificate with its key.
func (f Files) pair(i int, c content) (*Pair, error) {
	return NewPair(NewPart("tls.cert.file", f.Certs[i], c[f.Certs[i]]), NewPart("tls.key.file", f.Keys[i], c[f.Keys[i]]))
}
