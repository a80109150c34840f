package quota

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"kaasd/internal/kafka"
)

// maxLookup is how long the names of one request may take to be resolved, in
// all.
const maxLookup = 5 * time.Second

// locate finds the addresses that the names of ip entities mean. A name that
// is set already and cannot be resolved any more keeps its address, so that it
// can be removed. It waits for the name service and holds no lock.
func (e *Enforcer) locate(ctx context.Context, changes []*change) {
	ctx, cancel := context.WithTimeout(ctx, maxLookup)
	defer cancel()
	for _, c := range changes {
		if c.result.Err != nil || !isNamed(c.entity.IP) {
			continue
		}
		var found bool
		if c.address, found = e.resolveName(ctx, c.entity.IP.Name); found {
			continue
		}
		e.mu.RLock()
		c.address, found = e.addresses[c.entity]
		e.mu.RUnlock()
		if !found {
			c.result.Err = kafka.Errorf(kafka.InvalidRequest, "%q is not a valid IP or resolvable host", c.entity.IP.Name)
		}
	}
}

func (e *Enforcer) resolveName(ctx context.Context, name string) (netip.Addr, bool) {
	if a, ok := parseAddress(name); ok {
		return a, true
	}
	if !isHost(name) {
		return netip.Addr{}, false
	}
	waited := beginWait(ctx)
	all, err := e.lookup(ctx, "ip", name)
	waited()
	if err != nil || len(all) == 0 {
		return netip.Addr{}, false
	}
	// The first one counts, IPv4 before IPv6, as in Java.
	if i := slices.IndexFunc(all, func(a netip.Addr) bool { return a.Unmap().Is4() }); i >= 0 {
		return canonical(all[i]), true
	}
	return canonical(all[0]), true
}

// canonical is one form for all spellings of an address. The zone is left out:
// it names an interface of whoever speaks.
func canonical(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// parseAddress reads an address as Java does: IPv6 also in brackets, IPv4 also
// with fewer than four parts, of which the last one fills what is left, and
// with leading zeros, which are no octal.
func parseAddress(name string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return netip.Addr{}, false
		}
		name = inner
	}
	if strings.Contains(name, ":") {
		a, err := netip.ParseAddr(name)
		return canonical(a), err == nil
	}
	return parseIPv4(name)
}

func parseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var bits uint64
	for i, p := range parts {
		width := 8
		if i == len(parts)-1 {
			width = 8 * (5 - len(parts))
		}
		v, err := strconv.ParseUint(p, 10, 32)
		if err != nil || p[0] == '+' || v >= 1<<width {
			return netip.Addr{}, false
		}
		bits = bits<<width | v
	}
	return netip.AddrFrom4([4]byte{byte(bits >> 24), byte(bits >> 16), byte(bits >> 8), byte(bits)}), true
}

// isHost says whether a name service may be asked for the name. What ends like
// a number is a broken address, whatever a name service makes of it.
func isHost(name string) bool {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notInHost) {
			return false
		}
	}
	return len(name) <= 253 && !isNumber(labels[len(labels)-1])
}

// isNumber says whether a label is digits, or hexadecimal ones after 0x.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(strings.ToLower(label), "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func notInHost(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// addressEntity is the owner of what comes from an address.
func addressEntity(a netip.Addr) kafka.Entity { return kafka.Entity{IP: kafka.Named(a.String())} }

// alias notes what address an ip entity means from now on; the zero one when
// it is removed. The caller holds mu.
func (e *Enforcer) alias(entity kafka.Entity, address netip.Addr) {
	if old, there := e.addresses[entity]; there {
		delete(e.addresses, entity)
		rest := slices.DeleteFunc(e.aliases[old], func(o kafka.Entity) bool { return o == entity })
		if e.aliases[old] = rest; len(rest) == 0 {
			delete(e.aliases, old)
		}
	}
	if address.IsValid() {
		e.addresses[entity] = address
		e.aliases[address] = append(e.aliases[address], entity)
	}
}

// judgeAddress is decideAddress for an owner. A name that is no address has no
// bucket: its address pays.
func (e *Enforcer) judgeAddress(owner kafka.Entity) (by *account) {
	address, err := netip.ParseAddr(owner.IP.Name)
	if err != nil {
		return nil
	}
	return e.decideAddress(address)
}

// decideAddress is the account of the entity whose value applies to an address:
// the lowest of those that were set under its names, else the default's, or nil.
// The caller holds mu.
func (e *Enforcer) decideAddress(address netip.Addr) *account {
	var by *account
	for _, entity := range e.aliases[address] {
		a := e.accounts.get(entity)
		if a != nil && a.limits[Connection] > 0 && (by == nil || a.limits[Connection] < by.limits[Connection]) {
			by = a
		}
	}
	if by != nil {
		return by
	}
	if a := e.accounts.get(ipDefault); a != nil && a.limits[Connection] > 0 {
		return a
	}
	return nil
}

var ipDefault = kafka.Entity{IP: kafka.EntityName{Present: true, Default: true}}
