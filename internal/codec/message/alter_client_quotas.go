package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// AlterClientQuotasRequest sets and removes quotas of entities (key 49, KIP-546).
type AlterClientQuotasRequest struct {
	Entries      []AlterClientQuotasEntry
	ValidateOnly bool
}

// Fields is the wire order.
func (m *AlterClientQuotasRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Entries", "EntryData", &m.Entries, "quota changes, one per entity")
	c.Bool("ValidateOnly", &m.ValidateOnly, "check everything, change nothing")
}

// AlterClientQuotasEntry is the change of one entity.
type AlterClientQuotasEntry struct {
	Entity []AlterClientQuotasEntity
	Ops    []AlterClientQuotasOp
}

// Fields is the wire order.
func (m *AlterClientQuotasEntry) Fields(c *codec.Cursor) {
	codec.Array(c, "Entity", "EntityData", &m.Entity, "components of the entity")
	codec.Array(c, "Ops", "OpData", &m.Ops, "what to set and remove")
}

// AlterClientQuotasEntity is one component of an entity.
type AlterClientQuotasEntity struct {
	EntityType string
	EntityName *string
}

// Fields is the wire order.
func (m *AlterClientQuotasEntity) Fields(c *codec.Cursor) {
	c.String("EntityType", &m.EntityType, "type of the component: user, client-id or ip")
	c.NullString("EntityName", 0, &m.EntityName, "its name; null: the default")
}

// AlterClientQuotasOp sets or removes one quota.
type AlterClientQuotasOp struct {
	Key    string
	Value  float64
	Remove bool
}

// Fields is the wire order.
func (m *AlterClientQuotasOp) Fields(c *codec.Cursor) {
	c.String("Key", &m.Key, "which quota")
	c.Float64("Value", &m.Value, "value to set")
	c.Bool("Remove", &m.Remove, "remove the quota instead")
}

// AlterClientQuotasResponse answers for each entity.
type AlterClientQuotasResponse struct {
	ThrottleTimeMs int32
	Entries        []AlterClientQuotasResponseEntry
}

// Fields is the wire order.
func (m *AlterClientQuotasResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Entries", "EntryData", &m.Entries, "one answer per entity")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *AlterClientQuotasResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// AlterClientQuotasResponseEntry answers for one entity.
type AlterClientQuotasResponseEntry struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
	Entity       []AlterClientQuotasResponseEntity
}

// Fields is the wire order.
func (m *AlterClientQuotasResponseEntry) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this entity")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "Entity", "EntityData", &m.Entity, "components of the entity, as asked")
}

// AlterClientQuotasResponseEntity is one component of an entity.
type AlterClientQuotasResponseEntity struct {
	EntityType string
	EntityName *string
}

// Fields is the wire order.
func (m *AlterClientQuotasResponseEntity) Fields(c *codec.Cursor) {
	c.String("EntityType", &m.EntityType, "type of the component")
	c.NullString("EntityName", 0, &m.EntityName, "its name; null: the default")
}
