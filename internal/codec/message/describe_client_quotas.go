package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeClientQuotasRequest asks for the quotas of entities (key 48, KIP-546).
type DescribeClientQuotasRequest struct {
	Components []DescribeClientQuotasComponent
	Strict     bool
}

// Fields is the wire order.
func (m *DescribeClientQuotasRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Components", "ComponentData", &m.Components, "what an entity must be made of")
	c.Bool("Strict", &m.Strict, "leave out entities with further components")
}

// DescribeClientQuotasComponent is a condition on one component of an entity.
type DescribeClientQuotasComponent struct {
	EntityType string
	MatchType  int8
	Match      *string
}

// Fields is the wire order.
func (m *DescribeClientQuotasComponent) Fields(c *codec.Cursor) {
	c.String("EntityType", &m.EntityType, "type of the component: user, client-id or ip")
	c.Int8("MatchType", &m.MatchType, "0: that name; 1: the default; 2: any name")
	c.NullString("Match", 0, &m.Match, "the name; null for the default and any")
}

// DescribeClientQuotasResponse lists entities with their quotas.
type DescribeClientQuotasResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	Entries        []DescribeClientQuotasResponseEntry
}

// Fields is the wire order.
func (m *DescribeClientQuotasResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.NullArray(c, "Entries", "EntryData", 0, &m.Entries, "the entities; null with an error")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeClientQuotasResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeClientQuotasResponseEntry is one entity.
type DescribeClientQuotasResponseEntry struct {
	Entity []DescribeClientQuotasResponseEntity
	Values []DescribeClientQuotasResponseValue
}

// Fields is the wire order.
func (m *DescribeClientQuotasResponseEntry) Fields(c *codec.Cursor) {
	codec.Array(c, "Entity", "EntityData", &m.Entity, "components of the entity")
	codec.Array(c, "Values", "ValueData", &m.Values, "quotas of the entity")
}

// DescribeClientQuotasResponseEntity is one component of an entity.
type DescribeClientQuotasResponseEntity struct {
	EntityType string
	EntityName *string
}

// Fields is the wire order.
func (m *DescribeClientQuotasResponseEntity) Fields(c *codec.Cursor) {
	c.String("EntityType", &m.EntityType, "type of the component")
	c.NullString("EntityName", 0, &m.EntityName, "its name; null: the default")
}

// DescribeClientQuotasResponseValue is one quota.
type DescribeClientQuotasResponseValue struct {
	Key   string
	Value float64
}

// Fields is the wire order.
func (m *DescribeClientQuotasResponseValue) Fields(c *codec.Cursor) {
	c.String("Key", &m.Key, "which quota")
	c.Float64("Value", &m.Value, "its value")
}
