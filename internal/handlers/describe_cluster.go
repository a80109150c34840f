package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// The kinds of endpoints that DescribeCluster may ask for (KIP-919).
const (
	endpointBrokers     = 1
	endpointControllers = 2
)

// DescribeCluster (key 60, KIP-700, KIP-919): v0-2, always flexible. The
// cluster is this broker, under the address of the listener that was asked.
func (h *Handlers) describeCluster(c *call, req *message.DescribeClusterRequest) (*message.DescribeClusterResponse, error) {
	resp := &message.DescribeClusterResponse{
		EndpointType: req.EndpointType, ControllerID: -1, ClusterAuthorizedOperations: message.NoOperations,
	}
	if err := checkEndpointType(req.EndpointType); err != nil {
		resp.ErrorCode, resp.ErrorMessage = c.code(err), text(err)
		return resp, nil
	}
	host, port := c.address()
	resp.ClusterID, resp.ControllerID = h.ClusterID, int32(h.NodeID)
	resp.Brokers = []message.DescribeClusterResponseBroker{{BrokerID: int32(h.NodeID), Host: host, Port: port}}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = c.clusterOperations()
	}
	return resp, nil
}

func checkEndpointType(t int8) error {
	switch t {
	case endpointBrokers:
		return nil
	case endpointControllers:
		return kafka.Errorf(kafka.MismatchedEndpointType, "this is a broker: ask it for brokers (endpoint type 1), it has no controller endpoints")
	}
	return kafka.Errorf(kafka.UnsupportedEndpointType, "endpoint type %d is not known", t)
}
