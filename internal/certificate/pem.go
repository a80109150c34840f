package certificate

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What is wrong with a file as such.
var (
	errNoCertificate = errors.New("there is no certificate in it (PEM, BEGIN CERTIFICATE)")
	errNoKey         = errors.New("there is no private key in it (PEM, BEGIN PRIVATE KEY)")
	errEncrypted     = errors.New("the key is encrypted (kaasd asks for no passphrase: openssl pkey takes it off, the file's mode protects it)")
	errUTF16         = errors.New("it is UTF-16, as some editors of Windows write (save it as UTF-8 or ASCII)")
)

// plain takes away the marks of byte order that UTF-8 files may begin with, also
// where such a file was put behind another: the block that follows would not count.
func plain(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte("\uFEFF"), nil)
}

// begin is where a block begins. Behind the end of another, without a line feed, it
// is one that was meant.
var begin = regexp.MustCompile(`(?m)(^|-----)-----BEGIN `)

// blocks are the blocks of PEM. One that cannot be read is an error: the library
// passes it over, and a chain or a bundle that is cut off would be a shorter one.
func blocks(data []byte) ([]*pem.Block, error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, errUTF16
	}
	var all []*pem.Block
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block)
	}
	begun := begin.FindAllIndex(data, -1)
	if len(all) >= len(begun) {
		return all, nil
	}
	if last := begun[len(begun)-1]; !bytes.Contains(data[last[0]:], []byte("\n-----END ")) {
		return nil, fmt.Errorf("block %d has no end (-----END): the file is cut off", len(begun))
	}
	return nil, fmt.Errorf("of %d blocks %d can be read (lines of base64 between -----BEGIN and -----END): the file is damaged", len(begun), len(all))
}

func checkCertificate(data []byte) error {
	found, err := blocks(data)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(b *pem.Block) bool { return b.Type == "CERTIFICATE" }) {
		return errNoCertificate
	}
	return nil
}

// checkKey finds what the library has no words for.
func checkKey(data []byte) error {
	found, err := blocks(data)
	if err != nil {
		return err
	}
	for _, block := range found {
		switch {
		case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return errEncrypted
		default:
			return nil
		}
	}
	return errNoKey
}
