package quota

import "kaasd/internal/kafka"

// scope is the owners and clients that a change of settings can have reached.
type scope struct {
	everybody      bool
	addresses      bool
	users, clients map[string]bool
	pairs          map[[2]string]bool // a user with a client id
	entities       []kafka.Entity     // the changed ones themselves
	strongest      int8               // the first level that changed: who is limited before it is not reached
}

// scopeOf finds the scope of a change. A user's setting hides those of
// the defaults from all pairs of the user, the setting of a user's default client
// is for all of them, and so on; a default that names nobody is for everybody.
func (m *Model) scopeOf(changed []kafka.Entity) scope {
	s := scope{users: map[string]bool{}, clients: map[string]bool{}, pairs: map[[2]string]bool{}, entities: changed, strongest: maxLevels}
	for _, e := range changed {
		s.strongest = min(s.strongest, m.levelOf(e))
		switch {
		case e.IP.Present:
			s.addresses = true
		case !isNamed(e.User) && !isNamed(e.ClientID):
			s.everybody = true
		case isNamed(e.User) && !isNamed(e.ClientID):
			s.users[e.User.Name] = true
		case isNamed(e.ClientID) && !isNamed(e.User):
			s.clients[e.ClientID.Name] = true
		default:
			s.pairs[[2]string{e.User.Name, e.ClientID.Name}] = true
		}
	}
	return s
}

func (s *scope) reaches(owner kafka.Entity) bool {
	if owner.IP.Present {
		return s.addresses
	}
	return s.everybody || isNamed(owner.User) && s.users[owner.User.Name] || isNamed(owner.ClientID) && s.clients[owner.ClientID.Name]
}

// concerns says whether one of the changed settings is for a client: its bucket
// may have another limit, or leave its limit to others and be the client's no more.
func (s *scope) concerns(c *Client) bool {
	return s.everybody || s.users[c.user] || s.clients[c.clientID] || s.pairs[[2]string{c.user, c.clientID}]
}

// rejudge gives the buckets of a scope the limits that are in force now. The
// caller holds mu.
func (e *Enforcer) rejudge(s scope, now int64) {
	for _, entity := range s.entities {
		e.rejudgeOne(e.accounts.get(entity), s.strongest, now)
	}
	if s.everybody || s.addresses || e.accounts.pairs > 0 && len(s.users)+len(s.clients) > 0 {
		for _, a := range e.accounts.all {
			if s.reaches(a.owner) {
				e.rejudgeOne(a, s.strongest, now)
			}
		}
		return
	}
	for user := range s.users {
		e.rejudgeOne(e.accounts.users[user], s.strongest, now)
	}
	for clientID := range s.clients {
		e.rejudgeOne(e.accounts.clients[clientID], s.strongest, now)
	}
}

// rejudgeOne judges the buckets of an account that a change from a level on
// can have reached, and makes those that its own setting asks for.
func (e *Enforcer) rejudgeOne(a *account, from int8, now int64) {
	if a == nil {
		return
	}
	owns := shapeOf(a.owner)
	for k, b := range a.buckets {
		if b != nil && b.level < from && !b.limit.Load().isUnlimited() {
			continue
		}
		if b != nil || a.limits[k] > 0 && owns != ofNobody && owns != ofAddress {
			e.rate(a, Kind(k), now)
		}
	}
}
