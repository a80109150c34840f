package message

import (
	"kaasd/internal/codec"
)

// LeaderIDAndEpoch says who leads a partition.
type LeaderIDAndEpoch struct {
	LeaderID    int32
	LeaderEpoch int32
}

// Fields is the wire order.
func (m *LeaderIDAndEpoch) Fields(c *codec.Cursor) {
	c.Int32("LeaderId", &m.LeaderID, "broker that leads; -1: unknown")
	c.Int32("LeaderEpoch", &m.LeaderEpoch, "epoch of that leader; -1: unknown")
}

// NodeEndpoint is the address of a leader (KIP-951).
type NodeEndpoint struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   *string
}

// Fields is the wire order.
func (m *NodeEndpoint) Fields(c *codec.Cursor) {
	c.Int32("NodeId", &m.NodeID, "number of the broker")
	c.String("Host", &m.Host, "host name to connect to")
	c.Int32("Port", &m.Port, "port to connect to")
	c.NullString("Rack", 0, &m.Rack, "rack of the broker")
}
