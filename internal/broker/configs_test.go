package broker_test

import (
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Configs of a broker are those of this one, or of all: for another id the
// answer is 42 in every version, whatever is asked.
func TestConfigsOfAnotherBroker(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	for name, want := range map[string]kafka.Code{"1": kafka.NoError, "": kafka.NoError, "2": kafka.InvalidRequest, "-1": kafka.InvalidRequest, "one": kafka.InvalidRequest} {
		for version := int16(1); version <= 4; version++ {
			resp := call[message.DescribeConfigsResponse](p, version, &message.DescribeConfigsRequest{
				Resources: []message.DescribeConfigsResource{{ResourceType: 4, ResourceName: name}}, IncludeSynonyms: true,
			})
			if got := resp.Results[0]; got.ErrorCode != want || got.ResourceName != name || want != kafka.NoError && len(got.Configs) > 0 {
				t.Errorf("describe %d of %q: %s with %d configs", version, name, got.ErrorCode, len(got.Configs))
			}
		}
		for version := range int16(2) {
			resp := call[message.IncrementalAlterConfigsResponse](p, version, &message.IncrementalAlterConfigsRequest{
				Resources: []message.IncrementalAlterConfigsResource{{ResourceType: 4, ResourceName: name,
					Configs: []message.IncrementalAlterConfigsConfig{{Name: "log.retention.ms", Value: ptr("7200000")}}}},
			})
			if got := resp.Responses[0]; got.ErrorCode != want || got.ResourceName != name {
				t.Errorf("alter %d of %q: %s", version, name, got.ErrorCode)
			}
		}
	}
}
