package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// IncrementalAlterConfigsRequest changes single configs (key 44, KIP-339).
type IncrementalAlterConfigsRequest struct {
	Resources    []IncrementalAlterConfigsResource
	ValidateOnly bool
}

// Fields is the wire order.
func (m *IncrementalAlterConfigsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Resources", "AlterConfigsResource", &m.Resources, "whose configs to change")
	c.Bool("ValidateOnly", &m.ValidateOnly, "check everything, change nothing")
}

// IncrementalAlterConfigsResource is one topic or broker.
type IncrementalAlterConfigsResource struct {
	ResourceType int8
	ResourceName string
	Configs      []IncrementalAlterConfigsConfig
}

// Fields is the wire order.
func (m *IncrementalAlterConfigsResource) Fields(c *codec.Cursor) {
	c.Int8("ResourceType", &m.ResourceType, "2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group")
	c.String("ResourceName", &m.ResourceName, "name of the resource")
	codec.Array(c, "Configs", "AlterableConfig", &m.Configs, "configs to change")
}

// IncrementalAlterConfigsConfig is one change.
type IncrementalAlterConfigsConfig struct {
	Name            string
	ConfigOperation int8
	Value           *string
}

// Fields is the wire order.
func (m *IncrementalAlterConfigsConfig) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the config")
	c.Int8("ConfigOperation", &m.ConfigOperation, "0 set, 1 delete, 2 append, 3 subtract")
	c.NullString("Value", 0, &m.Value, "value to set, append or subtract")
}

// IncrementalAlterConfigsResponse answers for each resource.
type IncrementalAlterConfigsResponse struct {
	ThrottleTimeMs int32
	Responses      []IncrementalAlterConfigsResponseResource
}

// Fields is the wire order.
func (m *IncrementalAlterConfigsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Responses", "AlterConfigsResourceResponse", &m.Responses, "one answer per resource")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *IncrementalAlterConfigsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// IncrementalAlterConfigsResponseResource answers for one resource.
type IncrementalAlterConfigsResponseResource struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
	ResourceType int8
	ResourceName string
}

// Fields is the wire order.
func (m *IncrementalAlterConfigsResponseResource) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this resource")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	c.Int8("ResourceType", &m.ResourceType, "type of the resource")
	c.String("ResourceName", &m.ResourceName, "name of the resource")
}
