package kafka

import "net/netip"

// Network is what counts as one address where clients are limited: an address of
// IPv4, also where it is written as one of IPv6, and the /64 of others, since who has
// one address of it has them all. Of no address it is not valid.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	network, _ := a.Prefix(bits) // fails only beyond BitLen
	return network
}
