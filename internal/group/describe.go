package group

// Description is a group as it is at one moment. Protocol, and the bytes of
// the members, are there while it is stable.
type Description struct {
	State        State
	ProtocolType string
	Protocol     string
	Members      []DescribedMember
}

// DescribedMember is one member of a described group.
type DescribedMember struct {
	ID, InstanceID       string
	ClientID, ClientHost string
	Metadata, Assignment []byte
}

// describe shares the bytes with the machine, which never writes into them.
func (g *machine) describe() Description {
	d := Description{State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		d.Protocol = g.protocol
	}
	for _, m := range g.inOrder {
		shown := DescribedMember{ID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.host}
		if g.state == Stable {
			shown.Metadata, shown.Assignment = m.metadata(g.protocol), m.assignment
		}
		d.Members = append(d.Members, shown)
	}
	return d
}

// Listing is one line of a list of groups.
type Listing struct {
	Name         string
	ProtocolType string
	State        State
}
