package quota

import (
	"context"
	"maps"
	"net/netip"
	"time"

	"kaasd/internal/kafka"
)

// Op sets or removes the value of one key. The value of a removal is ignored.
type Op struct {
	Key    string
	Value  float64
	Remove bool
}

// Alteration is what one entry of AlterClientQuotas asks (KIP-546).
type Alteration struct {
	Components []Component
	Ops        []Op
}

// Result is what became of one distinct entity. All operations of the entry
// were applied, or none and Err says why.
type Result struct {
	// Components are those asked for, for the echo; of a type that was named
	// twice the last one where that is the one that counts.
	Components []Component
	Err        *kafka.Error
	Old, New   Limits // in force before and after; nil when refused
}

// maxChanges is how many values one request may change, as in Kafka.
const maxChanges = 10_000

// change is an entry on its way through Alter.
type change struct {
	result  Result
	entity  kafka.Entity
	address netip.Addr // of an ip entity with a name
	ops     []Op
	next    Limits // the override that comes of it
	touched int    // values of the override that are set or removed
	asked   int    // entries that named the entity
}

// Alter judges every entry and applies the good ones: they are kept in the
// journal, if there is one, and live buckets are at their new rate when it
// returns. There is one result for each distinct entity, in order of first
// appearance; an entity that is named twice has none of its entries applied. What
// cannot be kept is refused and changes nothing. With validateOnly nothing is
// applied.
func (e *Enforcer) Alter(ctx context.Context, now time.Time, entries []Alteration, validateOnly bool) []Result {
	changes := e.model.gather(entries)
	e.locate(ctx, changes)
	for _, c := range changes {
		if c.result.Err == nil {
			c.result.Err = e.model.checkOps(c.entity, c.ops)
		}
	}
	waited := beginWait(ctx)
	e.altering.Lock()
	defer e.altering.Unlock()
	waited()
	e.plan(changes)
	if !validateOnly {
		e.carryOut(ctx, now, changes)
	}
	results := make([]Result, len(changes))
	for i, c := range changes {
		results[i] = c.result
	}
	return results
}

// gather judges the entities of the entries, without a look at what is stored.
func (m *Model) gather(entries []Alteration) []*change {
	var changes []*change
	seen := map[string]*change{}
	for _, entry := range entries {
		parts := m.distinct(entry.Components)
		id := identity(parts)
		if c := seen[id]; c != nil {
			c.asked++
			c.result.Err = kafka.Errorf(kafka.InvalidRequest, "duplicate entity: %s is named %d times in the request, none of it is applied",
				show(parts), c.asked)
			continue
		}
		c := &change{result: Result{Components: parts}, ops: entry.Ops, asked: 1}
		c.entity, c.result.Err = m.entity(parts)
		seen[id] = c
		changes = append(changes, c)
	}
	return changes
}

// plan works out what each good change comes to, and refuses what is more than
// a request or the broker may hold.
func (e *Enforcer) plan(changes []*change) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	total, held := 0, 0
	for _, c := range changes {
		if c.result.Err != nil {
			continue
		}
		e.merge(c)
		total += c.touched
		more, err := e.admit(c, held)
		if held += more; err != nil {
			c.refuse(err)
		}
	}
	if total > maxChanges {
		for _, c := range changes {
			c.refuse(kafka.Errorf(kafka.PolicyViolation, "the request changes %d values, %d is the most: split it", total, maxChanges))
		}
	}
}

// merge applies the operations to what is in force, or to what was set alone,
// as the model says.
func (e *Enforcer) merge(c *change) {
	base := e.base[c.entity]
	c.result.Old = e.effective(c.entity)
	if e.model.whole {
		c.next = maps.Clone(c.result.Old)
	} else {
		c.next = e.override(c.entity).limits()
	}
	if c.next == nil {
		c.next = Limits{}
	}
	for _, op := range c.ops {
		was, there := c.next[op.Key]
		switch _, inFile := base[op.Key]; {
		case !op.Remove:
			if !there || was != op.Value || e.model.whole {
				c.next[op.Key] = op.Value
				c.touched++
			}
		case there:
			delete(c.next, op.Key)
			c.touched++
		case inFile && !e.model.whole:
			c.refuse(kafka.Errorf(kafka.InvalidRequest, "%s of %s comes from the credentials file: change it there", op.Key, c.entity))
			return
		}
	}
	c.result.New = e.model.combine(c.next, base)
}

// carryOut keeps the good changes and puts them in force.
func (e *Enforcer) carryOut(ctx context.Context, now time.Time, changes []*change) {
	e.keep(ctx, changes)
	e.mu.Lock()
	defer e.mu.Unlock()
	var changed []kafka.Entity
	for _, c := range changes {
		if c.result.Err != nil {
			e.rejected++
			continue
		}
		e.applied++
		if c.touched > 0 {
			e.put(c.setting())
			changed = append(changed, c.entity)
		}
	}
	e.apply(changed, e.ticksOf(now))
}

// keep has the journal keep the good changes, or refuses them. A change that
// touches nothing (no operations, the removal of what is not set) is not one:
// it does not pin the values of the file as an override.
func (e *Enforcer) keep(ctx context.Context, changes []*change) {
	var settings []Setting
	for _, c := range changes {
		if c.result.Err == nil && c.touched > 0 {
			settings = append(settings, c.setting())
		}
	}
	switch {
	case len(settings) == 0:
		return
	case e.journal == nil:
		if !e.model.durable {
			e.warnOnce()
		}
		return
	}
	waited := beginWait(ctx)
	err := e.journal.Keep(ctx, settings)
	waited()
	if err == nil {
		return
	}
	for _, c := range changes {
		if c.result.Err == nil && c.touched > 0 {
			c.refuse(kafka.Errorf(kafka.CodeOf(err), "%s", kafka.MessageOf(err)))
		}
	}
}

// warnOnce says that alterations are kept in memory, when the first one is made.
func (e *Enforcer) warnOnce() {
	e.warned.Do(func() {
		e.log.Warn("quotas set through the Kafka API live in memory and end with this process (quota.model=kafka keeps them)")
	})
}

func (c *change) setting() Setting {
	return Setting{Entity: c.entity, Limits: c.next, Address: c.address}
}

// refuse gives up a change.
func (c *change) refuse(err *kafka.Error) {
	c.result = Result{Components: c.result.Components, Err: err}
}
