package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/pem"
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

// pair joins a certificate with its key.
func pair(certFile, keyFile string, c content) (tls.Certificate, error) {
	if len(blocks(c[certFile], "CERTIFICATE")) == 0 {
		return tls.Certificate{}, fmt.Errorf("tls.cert.file: %s: there is no certificate in it (PEM, BEGIN CERTIFICATE)", certFile)
	}
	if err := checkKey(c[keyFile]); err != nil {
		return tls.Certificate{}, fmt.Errorf("tls.key.file: %s: %w", keyFile, err)
	}
	made, err := tls.X509KeyPair(c[certFile], c[keyFile])
	switch {
	case err == nil:
		return made, nil
	case strings.Contains(err.Error(), "does not match"):
		return made, fmt.Errorf("tls.key.file: %s: the key is not that of the certificate in %s", keyFile, certFile)
	}
	return made, fmt.Errorf("tls.cert.file: %s with key %s: %w", certFile, keyFile, err)
}

// checkKey finds what the library has no words for.
func checkKey(data []byte) error {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return errors.New("the key is encrypted (kaasd asks for no passphrase: openssl pkey takes it off, the file's mode protects it)")
		}
		return nil
	}
	return errors.New("there is no private key in it (PEM, BEGIN PRIVATE KEY)")
}

// blocks are the contents of the PEM blocks of a type.
func blocks(data []byte, kind string) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == kind {
			all = append(all, block.Bytes)
		}
	}
	return all
}
