package credstore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"kaasd/internal/kafka"
)

// Document is a credentials file being edited. What an edit does not mean to
// change stays as it is: fields that kaasd does not know, their order, the
// notation of numbers.
type Document struct {
	top   object
	users []object
}

// Change is what to set in an entry. At most one of Scram, TLSCN and
// ServiceAccount is given; it makes the entry one of that kind and removes
// what another kind left in it, a readable password too.
type Change struct {
	Scram          *kafka.ScramCredential
	TLSCN          string
	ServiceAccount *ServiceAccount
	Quotas         map[string]int64 // by Kafka's key; 0 removes the quota
}

// parseDocument reads a good file; no bytes are a file without users.
func parseDocument(data []byte) (*Document, error) {
	if len(data) == 0 {
		return &Document{top: object{{"version", json.RawMessage("1")}}}, nil
	}
	if _, _, err := Parse(data); err != nil {
		return nil, err
	}
	top, err := parseObject(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(top.get("users"), &entries); err != nil {
		return nil, err
	}
	d := &Document{top: top}
	for _, entry := range entries {
		user, err := parseObject(entry)
		if err != nil {
			return nil, err
		}
		d.users = append(d.users, user)
	}
	return d, nil
}

// text is the whole file, indented by two spaces.
func (d *Document) text() ([]byte, error) {
	users := []byte{'['}
	for i, u := range d.users {
		if i > 0 {
			users = append(users, ',')
		}
		users = append(users, u.text()...)
	}
	d.top.set("users", append(users, ']'))
	var b bytes.Buffer
	if err := json.Indent(&b, d.top.text(), "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	if _, _, err := Parse(b.Bytes()); err != nil {
		return nil, fmt.Errorf("the edit would make a bad file: %w", err)
	}
	return b.Bytes(), nil
}

// find is the index of the entry in force for the name: the last one, or -1.
func (d *Document) find(name string) int {
	for i, u := range slices.Backward(d.users) {
		var username string
		if json.Unmarshal(u.get("username"), &username) == nil && username == name {
			return i
		}
	}
	return -1
}

// Add adds an entry of the kind that the change gives.
func (d *Document) Add(name string, c Change) error {
	switch {
	case name == "":
		return errors.New("the user name is empty")
	case !utf8.ValidString(name):
		return fmt.Errorf("the user name %s is not UTF-8", strconv.Quote(name))
	case d.find(name) >= 0:
		return fmt.Errorf("user %s is in the file already (to change it: kaasd user set %s)", strconv.Quote(name), name)
	case c.kinds() == 0:
		return fmt.Errorf("user %s needs a password, a TLS name or a service account", strconv.Quote(name))
	}
	d.users = append(d.users, object{{"username", quoted(name)}})
	return d.Set(name, c)
}

// Set changes an entry.
func (d *Document) Set(name string, c Change) error {
	i := d.find(name)
	switch {
	case i < 0:
		return unknownUser(name)
	case c.kinds() > 1:
		return fmt.Errorf("user %s can be of one kind only: password, TLS name or service account", strconv.Quote(name))
	case c.kinds() == 0 && len(c.Quotas) == 0:
		return fmt.Errorf("nothing to change for user %s (a quota, a password or another kind of log-in)", strconv.Quote(name))
	case !utf8.ValidString(c.TLSCN):
		return fmt.Errorf("the TLS name %s is not UTF-8", strconv.Quote(c.TLSCN))
	}
	if owner, taken := d.owner(c.TLSCN); taken && owner != name {
		return fmt.Errorf("the TLS name %s belongs to user %s, and would be taken away from there", strconv.Quote(c.TLSCN), strconv.Quote(owner))
	}
	c.kind(&d.users[i])
	return c.quotas(&d.users[i])
}

// owner is the user whose certificates bear the name.
func (d *Document) owner(tlsCN string) (name string, ok bool) {
	for _, u := range slices.Backward(d.users) {
		var cn string
		if tlsCN == "" || json.Unmarshal(u.get("tlsCN"), &cn) != nil || cn != tlsCN {
			continue
		}
		err := json.Unmarshal(u.get("username"), &name)
		return name, err == nil
	}
	return "", false
}

// Remove removes every entry of the name.
func (d *Document) Remove(name string) error {
	if d.find(name) < 0 {
		return unknownUser(name)
	}
	for i := d.find(name); i >= 0; i = d.find(name) {
		d.users = slices.Delete(d.users, i, i+1)
	}
	return nil
}

func unknownUser(name string) error {
	return fmt.Errorf("there is no user %s in the file (kaasd user list shows who is, kaasd user add makes one)", strconv.Quote(name))
}

func (c Change) kinds() int {
	n := 0
	for _, given := range []bool{c.Scram != nil, c.TLSCN != "", c.ServiceAccount != nil} {
		if given {
			n++
		}
	}
	return n
}

// kind makes the entry one of the kind given.
func (c Change) kind(user *object) {
	set := func(authType, field string, value json.RawMessage) {
		user.set("authType", quoted(authType))
		user.set(field, value)
		user.remove(slices.DeleteFunc([]string{"scram", "tlsCN", "serviceAccount", "plainPassword"}, func(f string) bool { return f == field })...)
	}
	switch {
	case c.Scram != nil:
		set(scramAuthType(c.Scram.Mechanism), "scram", c.scram(user.get("scram")))
	case c.TLSCN != "":
		set(AuthTLS, "tlsCN", quoted(c.TLSCN))
	case c.ServiceAccount != nil:
		account := object{{"name", quoted(c.ServiceAccount.Name)}, {"namespace", quoted(c.ServiceAccount.Namespace)}}
		set(AuthServiceAccount, "serviceAccount", account.text())
	}
}

// scram is the keys as JSON, with the unknown fields of before.
func (c Change) scram(before json.RawMessage) json.RawMessage {
	var o object
	if before != nil {
		o, _ = parseObject(before) // the file was found good
	}
	bytes64 := func(b []byte) json.RawMessage { return quoted(base64.StdEncoding.EncodeToString(b)) }
	o.set("salt", bytes64(c.Scram.Salt))
	o.set("storedKey", bytes64(c.Scram.StoredKey))
	o.set("serverKey", bytes64(c.Scram.ServerKey))
	o.set("iterations", json.RawMessage(strconv.Itoa(c.Scram.Iterations)))
	return o.text()
}

// quotas sets and removes the quotas given.
func (c Change) quotas(user *object) error {
	var o object
	if before := user.get("quotas"); before != nil {
		o, _ = parseObject(before) // the file was found good
	}
	left := len(c.Quotas)
	for _, q := range quotaFields {
		value, given := c.Quotas[q.key]
		switch {
		case !given:
			continue
		case value < 0 || value > q.most:
			return fmt.Errorf("%s=%d is not a quota: it must be from 0 (none) to %d", q.key, value, q.most)
		case value == 0:
			o.remove(q.name)
		default:
			o.set(q.name, json.RawMessage(strconv.FormatInt(value, 10)))
		}
		left--
	}
	switch {
	case left > 0:
		return errors.New("a quota of the file is one of producer_byte_rate, consumer_byte_rate, request_percentage")
	case len(o) > 0:
		user.set("quotas", o.text())
	case len(c.Quotas) > 0:
		user.remove("quotas")
	}
	return nil
}
