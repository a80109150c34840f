package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ListConfigResourcesRequest asks what has configs (key 74, KIP-714, KIP-1142).
type ListConfigResourcesRequest struct {
	ResourceTypes []int8
}

// Fields is the wire order.
func (m *ListConfigResourcesRequest) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int8s("ResourceTypes", &m.ResourceTypes, "types asked for; empty: all")
	}
}

// ListConfigResourcesResponse names what has configs.
type ListConfigResourcesResponse struct {
	ThrottleTimeMs  int32
	ErrorCode       kafka.Code
	ConfigResources []ListConfigResourcesResponseResource
}

// Fields is the wire order.
func (m *ListConfigResourcesResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	codec.Array(c, "ConfigResources", "ConfigResource", &m.ConfigResources, "the resources")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ListConfigResourcesResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ListConfigResourcesResponseResource is one resource.
type ListConfigResourcesResponseResource struct {
	ResourceName string
	ResourceType int8
}

// Fields is the wire order.
func (m *ListConfigResourcesResponseResource) Fields(c *codec.Cursor) {
	c.String("ResourceName", &m.ResourceName, "name of the resource")
	if c.Version >= 1 {
		c.Int8("ResourceType", &m.ResourceType, "2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group")
	} else {
		codec.Default(c, &m.ResourceType, 16)
	}
}
