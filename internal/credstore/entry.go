package credstore

import (
	"crypto/sha256"
	"fmt"
	"math"

	"kaasd/internal/kafka"
)

// entry is one element of users on its way to a User.
type entry struct {
	index int
	line  int
	user  *User
	bad   bool // something in it makes the file bad
}

// entry reads one element of users.
func (r *reader) entry() (entry, bool) {
	u := &User{Quotas: map[string]float64{}}
	seen := map[string]bool{}
	line, ok := r.object("", false, func(key string) {
		seen[key] = true
		r.field(u, key)
	})
	if !ok {
		return entry{}, false
	}
	for _, field := range []string{"username", "authType"} {
		if !seen[field] {
			r.find(Bad, line, field, "is missing")
		}
	}
	return entry{index: r.index, line: line, user: u}, true
}

func (r *reader) field(u *User, key string) {
	switch key {
	case "username":
		before := len(r.findings)
		if u.Username = r.text(key, false); u.Username == "" && len(r.findings) == before {
			r.find(Bad, r.here(), key, "is empty")
		}
	case "authType":
		u.AuthType = r.text(key, false)
	case "scram":
		u.Scram = r.scram()
	case "tlsCN":
		u.TLSCN = r.text(key, true)
	case "serviceAccount":
		u.ServiceAccount = r.serviceAccount()
	case "quotas":
		r.quotas(u.Quotas)
	case "plainPassword":
		r.password(u)
	default:
		r.unknown(key, key)
	}
}

func (r *reader) scram() *kafka.ScramCredential {
	var c kafka.ScramCredential
	ok := r.complete("scram", []string{"salt", "storedKey", "serverKey", "iterations"}, func(key string) {
		switch field := "scram." + key; key {
		case "salt":
			c.Salt = r.base64(field)
		case "storedKey":
			c.StoredKey = r.base64(field)
		case "serverKey":
			c.ServerKey = r.base64(field)
		case "iterations":
			c.Iterations = int(r.whole(field, 1, math.MaxInt32, false))
		default:
			r.unknown(field, field)
		}
	})
	if !ok {
		return nil
	}
	return &c
}

func (r *reader) serviceAccount() *ServiceAccount {
	var a ServiceAccount
	ok := r.complete("serviceAccount", []string{"name", "namespace"}, func(key string) {
		switch field := "serviceAccount." + key; key {
		case "name":
			a.Name = r.text(field, false)
		case "namespace":
			a.Namespace = r.text(field, false)
		default:
			r.unknown(field, field)
		}
	})
	if !ok {
		return nil
	}
	return &a
}

// complete reads an optional object whose fields are all required.
func (r *reader) complete(name string, required []string, read func(key string)) bool {
	seen := map[string]bool{}
	line, ok := r.object(name, true, func(key string) {
		seen[key] = true
		read(key)
	})
	for _, field := range required {
		if ok && !seen[field] {
			r.find(Bad, line, name+"."+field, "is missing")
		}
	}
	return ok
}

// quotas reads the base quotas. Zero means none, as null and absent do.
func (r *reader) quotas(quotas map[string]float64) {
	r.object("quotas", true, func(key string) {
		field := "quotas." + key
		for _, q := range quotaFields {
			if q.name != key {
				continue
			}
			if n := r.whole(field, 0, q.most, true); n > 0 {
				quotas[q.key] = float64(n)
			}
			return
		}
		r.unknown(field, field)
	})
}

func (r *reader) password(u *User) {
	password := r.text("plainPassword", true)
	if password == "" {
		return
	}
	sum := sha256.Sum256([]byte(password))
	u.password = &sum
	r.find(Readable, r.here(), "plainPassword", "holds a readable password")
}

// settle makes the users of the entries: the last entry of a name or a tlsCN
// wins.
func (r *reader) settle(entries []entry) map[string]*User {
	users := map[string]*User{}
	last := map[string]int{}
	for i, e := range entries {
		if _, twice := last[e.user.Username]; twice && e.user.Username != "" {
			r.about(e, Repeated, "username", "was there before: this later entry wins")
		}
		last[e.user.Username] = i
	}
	owner := map[string]*User{}
	for i, e := range entries {
		if last[e.user.Username] != i {
			continue
		}
		if before, twice := owner[e.user.TLSCN]; twice && e.user.TLSCN != "" {
			r.about(e, Repeated, "tlsCN", "belonged to user "+fmt.Sprintf("%.256q", before.Username)+" before: this later entry wins")
			before.TLSCN = ""
		}
		owner[e.user.TLSCN] = e.user
		users[e.user.Username] = e.user
	}
	for i, e := range entries {
		if last[e.user.Username] == i && !e.bad {
			r.judge(e)
		}
	}
	return users
}

func (r *reader) judge(e entry) {
	unused := e.user.password != nil
	e.user.judge()
	if ok, why := e.user.CanLogin(); !ok {
		r.about(e, Inert, "", "cannot log in: "+why)
	}
	if unused && e.user.password == nil {
		r.about(e, Inert, "plainPassword", "is not used: it needs authType plain or a SCRAM one")
	}
}

// about reports something that was seen only after the entry was read.
func (r *reader) about(e entry, k Kind, field, text string) {
	r.findings = append(r.findings, Finding{Kind: k, Line: e.line, Index: e.index, Name: e.user.Username, Field: field, Text: text})
}
