package quota

import (
	"context"
	"maps"
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
	Components []Component // as asked, for the echo
	Err        *kafka.Error
	Old, New   Limits // in force before and after; nil when refused
}

const (
	// maxChanges is how many values one request may change, as in Kafka.
	maxChanges = 10_000
	// maxNames is the most bytes that the names of all overrides may have
	// together: they live in memory and in every answer that lists them.
	maxNames = 16 << 20
)

// change is an entry on its way through Alter.
type change struct {
	result  Result
	entity  kafka.Entity
	ops     []Op
	touched int // values that differ afterwards, or are pinned
	asked   int // entries that named the entity
}

// Alter judges every entry and applies the good ones: live buckets are at
// their new rate when it returns. There is one result for each distinct entity,
// in order of first appearance; an entity that is named twice has none of its
// entries applied. With validateOnly nothing is applied.
func (e *Enforcer) Alter(ctx context.Context, now time.Time, entries []Alteration, validateOnly bool) []Result {
	changes := e.model.gather(entries)
	e.mu.Lock()
	defer e.mu.Unlock()
	total, names := 0, e.names
	for _, c := range changes {
		if c.result.Err != nil {
			continue
		}
		c.merge(e.effective(c.entity))
		total += c.touched
		if more := e.adds(c); names+more > maxNames {
			c.refuse("the names of all quotas set through the API would have more than %d bytes", maxNames)
		} else {
			names += more
		}
	}
	if total > maxChanges {
		for _, c := range changes {
			c.refuse("the request changes %d values, %d is the most: split it", total, maxChanges)
		}
	}
	results := make([]Result, len(changes))
	for i, c := range changes {
		if !validateOnly {
			e.finish(c, now)
		}
		results[i] = c.result
	}
	return results
}

// gather judges the entries one by one, without a look at what is stored.
func (m *Model) gather(entries []Alteration) []*change {
	var changes []*change
	seen := map[string]*change{}
	for _, entry := range entries {
		id := identity(entry.Components)
		if c := seen[id]; c != nil {
			c.asked++
			c.result.Err = kafka.Errorf(kafka.InvalidRequest, "duplicate entity: %s is named %d times in the request, none of it is applied",
				show(entry.Components), c.asked)
			continue
		}
		c := &change{result: Result{Components: entry.Components}, ops: entry.Ops, asked: 1}
		if c.entity, c.result.Err = m.entity(entry.Components); c.result.Err == nil {
			c.result.Err = m.checkOps(entry.Ops)
		}
		seen[id] = c
		changes = append(changes, c)
	}
	return changes
}

// checkOps gives the first fault of the operations, in order, the key before
// the value.
func (m *Model) checkOps(ops []Op) *kafka.Error {
	seen := map[string]bool{}
	for _, op := range ops {
		k, known := m.key(op.Key)
		switch {
		case !known:
			return kafka.Errorf(m.unknownKey, "unknown quota key %q: %s are known", op.Key, m.keyNames())
		case seen[op.Key]:
			return kafka.Errorf(kafka.InvalidRequest, "duplicate quota key %s: an entry may name a key once", op.Key)
		}
		seen[op.Key] = true
		if op.Remove {
			continue
		}
		if err := k.check(op.Value); err != nil {
			return err
		}
	}
	return nil
}

// merge applies the operations to what is in force.
func (c *change) merge(old Limits) {
	next := maps.Clone(old)
	if next == nil {
		next = Limits{}
	}
	for _, op := range c.ops {
		_, was := next[op.Key]
		switch {
		case !op.Remove:
			next[op.Key] = op.Value
			c.touched++
		case was:
			delete(next, op.Key)
			c.touched++
		}
	}
	c.result.Old, c.result.New = old, next
}

// finish installs a good change. One that touches nothing (an entry without
// operations, the removal of what is not set) does not pin the values of the
// file as an override.
func (e *Enforcer) finish(c *change, now time.Time) {
	if c.result.Err != nil {
		e.rejected++
		return
	}
	e.applied++
	if c.touched == 0 {
		return
	}
	e.names += e.adds(c)
	if _, there := e.overrides[c.entity]; there && len(c.result.New) == 0 {
		e.names -= nameBytes(c.entity)
		delete(e.overrides, c.entity)
	} else if len(c.result.New) > 0 {
		e.overrides[c.entity] = c.result.New
	}
	e.apply(c.entity, e.ticksOf(now))
	c.result.New = e.effective(c.entity)
}

// adds is the bytes of the name that a change brings along.
func (e *Enforcer) adds(c *change) int {
	if _, there := e.overrides[c.entity]; there || c.touched == 0 || len(c.result.New) == 0 {
		return 0
	}
	return nameBytes(c.entity)
}

func nameBytes(e kafka.Entity) int { return len(e.User.Name) + len(e.ClientID.Name) + len(e.IP.Name) }

// refuse gives up a change for what it would cost the broker.
func (c *change) refuse(format string, args ...any) {
	c.result = Result{Components: c.result.Components, Err: kafka.Errorf(kafka.PolicyViolation, format, args...)}
}
