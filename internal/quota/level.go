package quota

import "kaasd/internal/kafka"

// part is how a level names one component of an entity.
type part uint8

const (
	absent part = iota
	byName
	byDefault
)

func (p part) of(name string) kafka.EntityName {
	switch p {
	case byName:
		return kafka.Named(name)
	case byDefault:
		return kafka.EntityName{Present: true, Default: true}
	}
	return kafka.EntityName{}
}

func partOf(n kafka.EntityName) part {
	switch {
	case !n.Present:
		return absent
	case n.Default:
		return byDefault
	}
	return byName
}

// level is one step of the precedence: for each key the first level that holds
// a value decides. The entity that holds it is made of the client's names or of
// defaults; the owner, whose bucket pays, is of a shape of its own.
type level struct {
	name               string
	user, clientID, ip part
	owner              shape
}

// levelNone is the level of those whom no setting limits.
const levelNone = "none"

// noLevel stands for it, and for an entity the model has not, in place of an
// index.
const noLevel int8 = -1

func (l *level) stored(user, clientID string) kafka.Entity {
	return kafka.Entity{User: l.user.of(user), ClientID: l.clientID.of(clientID)}
}

// own says whether the entity that holds the value is the owner as well.
func (l *level) own() bool {
	return l.user != byDefault && l.clientID != byDefault && l.ip != byDefault
}

// reaches says whether the level can decide for an owner: it asks for no name
// that its clients do not have in common.
func (l *level) reaches(owner kafka.Entity) bool {
	return l.ip == absent &&
		(l.user != byName || owner.User.Present) && (l.clientID != byName || owner.ClientID.Present)
}

// levelOf is the level whose settings are kept under such an entity.
func (m *Model) levelOf(e kafka.Entity) int8 {
	for i := range m.levels {
		l := &m.levels[i]
		if l.user == partOf(e.User) && l.clientID == partOf(e.ClientID) && l.ip == partOf(e.IP) {
			return int8(i)
		}
	}
	return noLevel
}

func (m *Model) levelName(i int8) string { return m.levels[i].name }

// decide walks the levels for a client: for each kind the account of the entity
// whose value applies, or nil. The caller holds mu.
func (e *Enforcer) decide(user, clientID string) (by [kinds]*account) {
	for i := range e.model.levels {
		l := &e.model.levels[i]
		if e.settings[i] == 0 || l.ip != absent {
			continue
		}
		a := e.accounts.get(l.stored(user, clientID))
		if a == nil {
			continue
		}
		for k := range by {
			if by[k] == nil && a.limits[k] > 0 {
				by[k] = a
			}
		}
	}
	return by
}

// judge finds whose value is the limit of an owner's bucket. It is nobody's
// where this owner is not whom its clients pay at. The walk is that of a client
// that nobody names: what is said of a name is said of a bucket of its own. The
// caller holds mu.
func (e *Enforcer) judge(owner kafka.Entity, k Kind) (by *account) {
	shape := shapeOf(owner)
	switch shape {
	case ofAddress:
		return e.judgeAddress(owner)
	case ofNobody: // pays for those for whom there was no room
		if a := e.accounts.get(owner); a != nil && a.limits[k] > 0 {
			return a
		}
		return nil
	}
	for i := range e.model.levels {
		l := &e.model.levels[i]
		if e.settings[i] == 0 || !l.reaches(owner) {
			continue
		}
		a := e.accounts.get(l.stored(owner.User.Name, owner.ClientID.Name))
		if a == nil || a.limits[k] == 0 {
			continue
		}
		if l.owner == shape {
			return a
		}
		return nil
	}
	return nil
}
