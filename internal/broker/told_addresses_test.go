package broker_test

import (
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Every answer that names a broker tells the address of the listener that was
// asked, in every version; an address of IPv6 comes without brackets, which
// Java takes for a part of the name.
func TestAddressesOfEachListener(t *testing.T) {
	b := brokertest.Start(t, withFile(t, credentials(t, alice)), func(c *broker.Config) {
		c.Listeners[0].Host, c.Listeners[0].Port = "::1", 9992
		c.Listeners[1].Host, c.Listeners[1].Port = "broker.example.com", 19992
	})
	inside, outside := dial(t, b.Listeners()[0].Address), dialAs(t, b.Listeners()[1].Address, "alice", "a-secret")
	for p, want := range map[*peer]string{inside: "[::1]:9992", outside: "broker.example.com:19992"} {
		told := map[string]string{}
		for version := range int16(14) {
			meta := call[message.MetadataResponse](p, version, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{}})
			told["Metadata"] = hostPort(meta.Brokers[0].Host, meta.Brokers[0].Port)
			if len(meta.Brokers) != 1 || told["Metadata"] != want || version > 0 && meta.ControllerID != meta.Brokers[0].NodeID {
				t.Errorf("Metadata %d: %+v, controller %d", version, meta.Brokers, meta.ControllerID)
			}
		}
		for version := range int16(6) {
			found := call[message.FindCoordinatorResponse](p, version, &message.FindCoordinatorRequest{Key: "g", CoordinatorKeys: []string{"g"}})
			host, port, code := found.Host, found.Port, found.ErrorCode
			if version >= 4 {
				host, port, code = found.Coordinators[0].Host, found.Coordinators[0].Port, found.Coordinators[0].ErrorCode
			}
			if code != kafka.NoError || hostPort(host, port) != want {
				t.Errorf("FindCoordinator %d: %s, %s %d", version, code, host, port)
			}
		}
		for version := range int16(3) {
			cluster := call[message.DescribeClusterResponse](p, version, &message.DescribeClusterRequest{EndpointType: 1})
			if got := cluster.Brokers[0]; len(cluster.Brokers) != 1 || hostPort(got.Host, got.Port) != want || cluster.ControllerID != got.BrokerID {
				t.Errorf("DescribeCluster %d: %+v, controller %d", version, cluster.Brokers, cluster.ControllerID)
			}
		}
	}
}
