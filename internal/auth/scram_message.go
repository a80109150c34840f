package auth

import (
	"encoding/base64"
	"strings"
)

// clientFirst is the client's first message, taken apart.
type clientFirst struct {
	header  string // gs2 header with its commas: "n,," or "n,a=...,"
	bare    string // the rest, part of what is signed
	authzid string
	user    string
	nonce   string
}

// clientFinal is the client's last message, taken apart.
type clientFinal struct {
	withoutProof string // part of what is signed
	channel      string
	nonce        string
	proof        []byte
}

// maxFirst is the longest first message, in bytes. What is in it is kept some times
// over until the last one comes, of who may have no password. It has room for a name
// as long as certificates make them and any nonce that is made in earnest.
const maxFirst = 8 << 10

// parseClientFirst reads n,[a=authzid],n=user,r=nonce[,ext...]. Where it
// cannot, the reason is not empty and fit for the client.
func parseClientFirst(token string) (*clientFirst, string) {
	if len(token) > maxFirst {
		return nil, "it is longer than 8 KiB"
	}
	flag, rest, _ := strings.Cut(token, ",")
	id, bare, found := strings.Cut(rest, ",")
	if flag != "n" || !found {
		return nil, "it must begin with n, since channel binding is not supported"
	}
	m := &clientFirst{header: token[:len(token)-len(bare)], bare: bare}
	var ok bool
	if id != "" {
		name, is := strings.CutPrefix(id, "a=")
		if m.authzid, ok = unescape(name); !is || !ok {
			return nil, "the authorization id is malformed"
		}
	}
	attributes, reason := split(bare)
	if reason != "" {
		return nil, reason
	}
	if len(attributes) < 2 || attributes[0].key != "n" || attributes[1].key != "r" {
		return nil, "the user name and the nonce are expected"
	}
	if m.user, ok = unescape(attributes[0].value); !ok {
		return nil, "the user name is empty or wrongly escaped"
	}
	if m.nonce = attributes[1].value; !printable(m.nonce) {
		return nil, "the nonce is empty or not printable"
	}
	return m, ""
}

// parseClientFinal reads c=channel,r=nonce[,ext...],p=proof.
func parseClientFinal(token string) (*clientFinal, string) {
	attributes, reason := split(token)
	if reason != "" {
		return nil, reason
	}
	last := len(attributes) - 1
	switch {
	case last < 1 || attributes[0].key != "c" || attributes[1].key != "r":
		return nil, "the channel binding and the nonce are expected"
	case attributes[last].key != "p":
		return nil, "the proof is missing"
	}
	proof, err := base64.StdEncoding.Strict().DecodeString(attributes[last].value)
	if err != nil || strings.ContainsAny(attributes[last].value, "\r\n") {
		return nil, "the proof is not base64"
	}
	return &clientFinal{
		withoutProof: token[:strings.LastIndexByte(token, ',')],
		channel:      attributes[0].value,
		nonce:        attributes[1].value,
		proof:        proof,
	}, ""
}

// attribute is one key=value of a message.
type attribute struct{ key, value string }

// maxAttributes bounds what a message may hold; real ones have at most four.
const maxAttributes = 16

// split takes a message apart at its commas. A key that comes twice is
// refused, and so is m=, which announces an extension that must be understood.
// Other extensions are passed over, as RFC 5802 section 5.1 wants it.
func split(message string) ([]attribute, string) {
	var attributes []attribute
	for part := range strings.SplitSeq(message, ",") {
		key, value, found := strings.Cut(part, "=")
		switch {
		case !found || !letters(key) || strings.ContainsRune(value, 0):
			return nil, "an attribute is not of the form key=value"
		case key == "m":
			return nil, "mandatory extensions are not supported"
		case len(attributes) == maxAttributes:
			return nil, "it has too many attributes"
		}
		for _, a := range attributes {
			if a.key == key {
				return nil, "an attribute comes twice"
			}
		}
		attributes = append(attributes, attribute{key, value})
	}
	return attributes, ""
}

// unescape reads a name in which =2C is a comma and =3D an equals sign. No
// other equals sign may be in it, and it may not be empty.
func unescape(name string) (string, bool) {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(name, "=")
		b.WriteString(plain)
		switch {
		case !found:
			return b.String(), b.Len() > 0
		case strings.HasPrefix(rest, "2C"):
			b.WriteByte(',')
		case strings.HasPrefix(rest, "3D"):
			b.WriteByte('=')
		default:
			return "", false
		}
		name = rest[2:]
	}
}

// letters says whether s is an attribute's key: ASCII letters. RFC 5802 has
// keys of one letter, Kafka also longer ones (tokenauth, KIP-48).
func letters(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}

// printable says whether s can be a nonce: ASCII without spaces and commas.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == ',' {
			return false
		}
	}
	return s != ""
}
