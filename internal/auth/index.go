package auth

import (
	"net/netip"
	"slices"
	"strings"

	"kaasd/internal/kafka"
)

// Index is a set of ACLs, ready to be asked by Kafka's StandardAuthorizer's
// rules. It never changes. The nil Index holds none.
type Index struct {
	types [kafka.ResourceUser + 1]patterns
}

// patterns are the ACLs of one resource type.
type patterns struct {
	literal  map[string]*rules // Wildcard among them
	prefixed map[string]*rules
	lengths  []int // of the prefixes, each once, rising
}

// rules are the ACLs of one resource pattern, by principal (Type:name).
type rules struct {
	byPrincipal map[kafka.Principal][]rule
}

// rule is what one principal may and may not do from one host: one bit for
// each operation, with those that are implied.
type rule struct {
	host        string // canonical; "" is every host
	allow, deny uint32
}

// everybody is the principal that stands for all.
var everybody = kafka.User(kafka.Wildcard)

// NewIndex makes an index of ACLs.
func NewIndex(acls []kafka.ACL) *Index {
	x := new(Index)
	for _, a := range acls {
		if a.Type <= kafka.ResourceAny || int(a.Type) >= len(x.types) {
			continue
		}
		x.types[a.Type].add(a)
	}
	return x
}

func (p *patterns) add(a kafka.ACL) {
	names := &p.literal
	if a.Pattern == kafka.PatternPrefixed {
		names = &p.prefixed
		if i, ok := slices.BinarySearch(p.lengths, len(a.Name)); !ok {
			p.lengths = slices.Insert(p.lengths, i, len(a.Name))
		}
	}
	if *names == nil {
		*names = map[string]*rules{}
	}
	r := (*names)[a.Name]
	if r == nil {
		r = &rules{byPrincipal: map[kafka.Principal][]rule{}}
		(*names)[a.Name] = r
	}
	r.add(a)
}

func (r *rules) add(a kafka.ACL) {
	kind, name, _ := strings.Cut(a.Principal, ":")
	who, host := kafka.Principal{Type: kind, Name: name}, Host(a.Host)
	if a.Host == kafka.Wildcard {
		host = ""
	}
	list := r.byPrincipal[who]
	i := slices.IndexFunc(list, func(known rule) bool { return known.host == host })
	if i < 0 {
		i, list = len(list), append(list, rule{host: host})
	}
	if a.Permission == kafka.PermissionDeny {
		list[i].deny |= covered(a.Operation)
	} else {
		list[i].allow |= covered(a.Operation) | implied(a.Operation)
	}
	r.byPrincipal[who] = list
}

// covered are the operations that a rule names.
func covered(op kafka.Operation) uint32 {
	if op == kafka.OpAll {
		return ^uint32(0)
	}
	return 1 << op
}

// implied are the operations that come with an allowed one. What is denied
// takes nothing else with it.
func implied(op kafka.Operation) uint32 {
	switch op {
	case kafka.OpRead, kafka.OpWrite, kafka.OpDelete, kafka.OpAlter:
		return 1 << kafka.OpDescribe
	case kafka.OpAlterConfigs:
		return 1 << kafka.OpDescribeConfigs
	}
	return 0
}

// Host is the one form of an address in which hosts are compared; what is no
// address stays as it is.
func Host(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return text
}

// verdict is what the ACLs say of one request.
type verdict uint8

const (
	silent  verdict = iota // the resource has no ACL
	refused                // it has, and none allows
	granted
	denied
)

// judge asks the ACLs of every pattern that the resource falls under: a denial
// wins over everything.
func (x *Index) judge(who Caller, op kafka.Operation, r kafka.Resource) verdict {
	if x == nil || r.Type <= kafka.ResourceAny || int(r.Type) >= len(x.types) {
		return silent
	}
	p, v := &x.types[r.Type], silent
	if rules := p.literal[r.Name]; rules != nil {
		v = max(v, rules.judge(who, op))
	}
	if rules := p.literal[kafka.Wildcard]; rules != nil {
		v = max(v, rules.judge(who, op))
	}
	for _, n := range p.lengths {
		if n > len(r.Name) || v == denied {
			break
		}
		if rules := p.prefixed[r.Name[:n]]; rules != nil {
			v = max(v, rules.judge(who, op))
		}
	}
	return v
}

func (r *rules) judge(who Caller, op kafka.Operation) verdict {
	v := refused
	for _, p := range [...]kafka.Principal{who.Principal, everybody} {
		for i := range r.byPrincipal[p] {
			v = max(v, r.byPrincipal[p][i].judge(who.Host, op))
		}
	}
	return v
}

func (r *rule) judge(host string, op kafka.Operation) verdict {
	switch bit := uint32(1) << op; {
	case r.host != "" && r.host != host:
		return refused
	case r.deny&bit != 0:
		return denied
	case r.allow&bit != 0:
		return granted
	}
	return refused
}

// anywhere says whether the caller may do op to some resource of a type, by the
// ACLs alone: there is an allowed pattern that no denial covers as a whole
// (KIP-679).
func (x *Index) anywhere(who Caller, op kafka.Operation, t kafka.ResourceType) bool {
	if x == nil || t <= kafka.ResourceAny || int(t) >= len(x.types) {
		return false
	}
	p := &x.types[t]
	if rules := p.literal[kafka.Wildcard]; rules != nil {
		switch rules.judge(who, op) {
		case denied:
			return false
		case granted:
			return true
		}
	}
	for name, rules := range p.literal {
		if name != kafka.Wildcard && rules.judge(who, op) == granted && !p.deniedBefore(who, op, name) {
			return true
		}
	}
	for name, rules := range p.prefixed {
		if rules.judge(who, op) == granted && !p.deniedBefore(who, op, name) {
			return true
		}
	}
	return false
}

// deniedBefore says whether a denied prefix covers all of a pattern.
func (p *patterns) deniedBefore(who Caller, op kafka.Operation, name string) bool {
	for _, n := range p.lengths {
		if n > len(name) {
			return false
		}
		if rules := p.prefixed[name[:n]]; rules != nil && rules.judge(who, op) == denied {
			return true
		}
	}
	return false
}
