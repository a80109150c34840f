package quota

import "kaasd/internal/kafka"

// Whoever may alter quotas could do so for any number of names, and all of them are
// in memory and in every answer that lists them. So all overrides together take
// maxHeld at most: each counts the bytes of its names, aroundEntity, and aroundKey
// for each value, which has a bucket. That is what they take where the journal keeps
// them in memory too, and less where nothing does.
const (
	maxHeld      = 32 << 20
	aroundEntity = 512
	aroundKey    = 256
)

// weigh is what an override of an entity with so many values counts.
func weigh(e kafka.Entity, values int) int {
	if values == 0 {
		return 0
	}
	return len(e.User.Name) + len(e.ClientID.Name) + len(e.IP.Name) + aroundEntity + aroundKey*values
}

// admit says why there is no room for a change beside the overrides and what came
// before it in its request; else more is what it adds to them. What adds nothing is
// never refused, however much is there. The caller holds mu.
func (e *Enforcer) admit(c *change, before int) (more int, err *kafka.Error) {
	if c.touched == 0 {
		return 0, nil
	}
	there := len(e.override(c.entity))
	more = weigh(c.entity, len(c.next)) - weigh(c.entity, there)
	switch long, kind := longest(c.entity); {
	case more <= 0:
	case there == 0 && len(long) > kafka.MaxName:
		return 0, kafka.Errorf(kafka.InvalidRequest, "the %s %.64q~ has %d bytes: %d is the most for one with a quota", kind, long, len(long), kafka.MaxName)
	case e.held+before+more > maxHeld:
		return 0, kafka.Errorf(kafka.PolicyViolation, "all quotas set through the API would take more than %d bytes (%d for an entity, %d for a value, and the names): "+
			"remove some, or let a default or the credentials file stand for many", maxHeld, aroundEntity, aroundKey)
	}
	return more, nil
}

// longest is the longest name in an entity, and of what it is.
func longest(e kafka.Entity) (name, kind string) {
	name, kind = e.User.Name, kafka.EntityUser
	if len(e.ClientID.Name) > len(name) {
		name, kind = e.ClientID.Name, kafka.EntityClientID
	}
	if len(e.IP.Name) > len(name) {
		name, kind = e.IP.Name, kafka.EntityIP
	}
	return name, kind
}
