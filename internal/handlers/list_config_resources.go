package handlers

import (
	"slices"
	"strconv"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// ListConfigResources (key 74, KIP-714, KIP-1142): v0-1, always flexible. Topics
// and the broker have configs. Groups and clients' metrics have none here, so
// that none is listed; version 0 asks for those of metrics alone.
func (h *Handlers) listConfigResources(c *call, req *message.ListConfigResourcesRequest) (*message.ListConfigResourcesResponse, error) {
	resp := &message.ListConfigResourcesResponse{ConfigResources: []message.ListConfigResourcesResponseResource{}}
	err := c.allow(kafka.OpDescribeConfigs, kafka.Cluster)
	if err == nil {
		err = checkListed(req.ResourceTypes)
	}
	if err != nil || c.header.Version == 0 {
		resp.ErrorCode = c.code(err)
		return resp, nil
	}
	self := strconv.Itoa(int(h.NodeID))
	add := func(kind int8, name string) {
		if len(req.ResourceTypes) == 0 || slices.Contains(req.ResourceTypes, kind) {
			resp.ConfigResources = append(resp.ConfigResources, message.ListConfigResourcesResponseResource{ResourceName: name, ResourceType: kind})
		}
	}
	add(configBrokerLogger, self)
	add(configBroker, self)
	for _, t := range c.image.Topics() {
		add(configTopic, t.Name)
	}
	return resp, nil
}

func checkListed(kinds []int8) error {
	for _, kind := range kinds {
		switch kind {
		case configTopic, configBroker, configBrokerLogger, configClientMetrics, configGroup:
		default:
			return kafka.Errorf(kafka.UnsupportedVersion, "resources of type %d cannot be listed", kind)
		}
	}
	return nil
}
