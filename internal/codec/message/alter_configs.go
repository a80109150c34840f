package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// AlterConfigsRequest replaces all configs of a resource (key 33, KIP-133).
type AlterConfigsRequest struct {
	Resources    []AlterConfigsResource
	ValidateOnly bool
}

// Fields is the wire order.
func (m *AlterConfigsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Resources", "AlterConfigsResource", &m.Resources, "whose configs to replace")
	c.Bool("ValidateOnly", &m.ValidateOnly, "check everything, change nothing")
}

// AlterConfigsResource is one topic or broker.
type AlterConfigsResource struct {
	ResourceType int8
	ResourceName string
	Configs      []AlterConfigsConfig
}

// Fields is the wire order.
func (m *AlterConfigsResource) Fields(c *codec.Cursor) {
	c.Int8("ResourceType", &m.ResourceType, "2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group")
	c.String("ResourceName", &m.ResourceName, "name of the resource")
	codec.Array(c, "Configs", "AlterableConfig", &m.Configs, "all its configs; those not named are reset")
}

// AlterConfigsConfig is one config.
type AlterConfigsConfig struct {
	Name  string
	Value *string
}

// Fields is the wire order.
func (m *AlterConfigsConfig) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the config")
	c.NullString("Value", 0, &m.Value, "value of the config")
}

// AlterConfigsResponse answers for each resource.
type AlterConfigsResponse struct {
	ThrottleTimeMs int32
	Responses      []AlterConfigsResponseResource
}

// Fields is the wire order.
func (m *AlterConfigsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Responses", "AlterConfigsResourceResponse", &m.Responses, "one answer per resource")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *AlterConfigsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// AlterConfigsResponseResource answers for one resource.
type AlterConfigsResponseResource struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
	ResourceType int8
	ResourceName string
}

// Fields is the wire order.
func (m *AlterConfigsResponseResource) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this resource")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	c.Int8("ResourceType", &m.ResourceType, "type of the resource")
	c.String("ResourceName", &m.ResourceName, "name of the resource")
}
