package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeClusterRequest asks for the brokers of the cluster (key 60, KIP-700).
type DescribeClusterRequest struct {
	IncludeClusterAuthorizedOperations bool
	EndpointType                       int8
	IncludeFencedBrokers               bool
}

// Fields is the wire order.
func (m *DescribeClusterRequest) Fields(c *codec.Cursor) {
	c.Bool("IncludeClusterAuthorizedOperations", &m.IncludeClusterAuthorizedOperations, "tell what the caller may do with the cluster")
	if c.Version >= 1 {
		c.Int8("EndpointType", &m.EndpointType, "1: brokers; 2: controllers")
	} else {
		codec.Default(c, &m.EndpointType, 1)
	}
	if c.Version >= 2 {
		c.Bool("IncludeFencedBrokers", &m.IncludeFencedBrokers, "tell brokers that are fenced too")
	}
}

// DescribeClusterResponse tells the brokers.
type DescribeClusterResponse struct {
	ThrottleTimeMs              int32
	ErrorCode                   kafka.Code
	ErrorMessage                *string
	EndpointType                int8
	ClusterID                   string
	ControllerID                int32
	Brokers                     []DescribeClusterResponseBroker
	ClusterAuthorizedOperations int32
}

// Fields is the wire order.
func (m *DescribeClusterResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	if c.Version >= 1 {
		c.Int8("EndpointType", &m.EndpointType, "1: brokers; 2: controllers")
	} else {
		codec.Default(c, &m.EndpointType, 1)
	}
	c.String("ClusterId", &m.ClusterID, "id of the cluster")
	c.Int32("ControllerId", &m.ControllerID, "broker that takes admin requests; -1: none")
	codec.Array(c, "Brokers", "DescribeClusterBroker", &m.Brokers, "every broker, as clients of this listener reach it")
	c.Int32("ClusterAuthorizedOperations", &m.ClusterAuthorizedOperations, "bits of what the caller may do with the cluster; int32 minimum: not asked")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeClusterResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeClusterResponseBroker is one broker.
type DescribeClusterResponseBroker struct {
	BrokerID int32
	Host     string
	Port     int32
	Rack     *string
	IsFenced bool
}

// Fields is the wire order.
func (m *DescribeClusterResponseBroker) Fields(c *codec.Cursor) {
	c.Int32("BrokerId", &m.BrokerID, "number of the broker")
	c.String("Host", &m.Host, "host name to connect to")
	c.Int32("Port", &m.Port, "port to connect to")
	c.NullString("Rack", 0, &m.Rack, "rack of the broker")
	if c.Version >= 2 {
		c.Bool("IsFenced", &m.IsFenced, "it may not lead partitions yet")
	}
}
