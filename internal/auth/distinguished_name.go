package auth

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// distinguishedName is the text of a DER-encoded name as Java's
// X500Principal.getName() writes it, since that is what ACLs, quotas and rules
// made for Kafka speak of: RFC 2253, the most specific part first, attributes of
// one part in the order of the certificate. pkix.Name.String differs from it in
// the order, in escapes and in the attributes it knows.
//
// A value that is not UTF-8 is refused: Java writes U+FFFD for what it cannot
// read, so that different certificates get one name.
func distinguishedName(der []byte) (string, error) {
	var name []relativeNameSET
	rest, err := asn1.Unmarshal(der, &name)
	if err != nil {
		return "", fmt.Errorf("read a distinguished name: %w", err)
	}
	if len(rest) > 0 {
		return "", errors.New("read a distinguished name: bytes after its end")
	}
	var parts []string
	for _, relative := range slices.Backward(name) {
		part, err := relative.text()
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ","), nil
}

// relativeNameSET is one part of a name: a SET, which encoding/asn1 tells by the
// end of the type's name.
type relativeNameSET []nameAttribute

func (r relativeNameSET) text() (string, error) {
	var all []string
	for _, a := range r {
		s, err := a.text()
		if err != nil {
			return "", err
		}
		all = append(all, s)
	}
	return strings.Join(all, "+"), nil
}

// nameAttribute is a type and a value. The type is kept as bytes: its numbers may
// be larger than encoding/asn1 reads.
type nameAttribute struct {
	Type  asn1.RawValue
	Value asn1.RawValue
}

// keywords are the types that RFC 2253 section 2.3 has a word for. Values of all
// others are written as bytes.
var keywords = map[string]string{
	"2.5.4.3":                    "CN",
	"2.5.4.6":                    "C",
	"2.5.4.7":                    "L",
	"2.5.4.8":                    "ST",
	"2.5.4.9":                    "STREET",
	"2.5.4.10":                   "O",
	"2.5.4.11":                   "OU",
	"0.9.2342.19200300.100.1.1":  "UID",
	"0.9.2342.19200300.100.1.25": "DC",
}

func (a nameAttribute) text() (string, error) {
	var oid x509.OID
	if err := oid.UnmarshalBinary(a.Type.Bytes); err != nil || a.Type.Tag != asn1.TagOID {
		return "", errors.New("read a distinguished name: the type of an attribute is not an object identifier")
	}
	word, known := keywords[oid.String()]
	switch {
	case !known:
		return oid.String() + "=#" + hex.EncodeToString(a.Value.FullBytes), nil
	case !isText(a.Value):
		return word + "=#" + hex.EncodeToString(a.Value.FullBytes), nil
	case !utf8.Valid(a.Value.Bytes):
		return "", fmt.Errorf("the %s of the certificate's subject is not UTF-8", word)
	}
	return word + "=" + escape(string(a.Value.Bytes)), nil
}

// isText says whether Java takes the value for text. It reads all kinds as
// UTF-8, also those that are not.
func isText(v asn1.RawValue) bool {
	if v.Class != asn1.ClassUniversal || v.IsCompound {
		return false
	}
	switch v.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String, asn1.TagGeneralString, asn1.TagBMPString:
		return true
	}
	return false
}

// escape writes a value of RFC 2253 section 2.4 as Java does: with a backslash
// before what separates, before every # and =, and before blanks at both ends.
func escape(value string) string {
	const blanks = " \r"
	from := len(value) - len(strings.TrimLeft(value, blanks))
	to := len(strings.TrimRight(value, blanks))
	var b strings.Builder
	for i, r := range value {
		switch {
		case r == 0:
			b.WriteString(`\00`)
			continue
		case i < from, i >= to, strings.ContainsRune(`,=+<>#;"\`, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
