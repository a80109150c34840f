package quota

import "kaasd/internal/kafka"

// account is what is known of one entity: the limits that settings give it,
// and, when it is the owner of traffic, the buckets that pay for it. It is
// guarded by the Enforcer's mu.
type account struct {
	// limits are what the settings of this very entity give, in units a second;
	// 0 is none. With the buckets they stand first, on as few cache lines as can be.
	limits  [kinds]float64
	buckets [kinds]*bucket // made when first needed
	level   int8           // at which its settings count
	series  series
	index   int // in accounts.all
	owner   kafka.Entity
	// override is what the API has set for this very entity.
	override packed
}

// accounts is the table of the entities that have a setting or a bucket.
type accounts struct {
	users, clients map[string]*account // named, alone: the usual ones
	others         map[kafka.Entity]*account
	all            []*account
	pairs          int // with a user and a client id, both named
	named          int // with a setting
}

func newAccounts() *accounts {
	return &accounts{users: map[string]*account{}, clients: map[string]*account{}, others: map[kafka.Entity]*account{}}
}

// get is the account of an entity, or nil.
func (t *accounts) get(e kafka.Entity) *account {
	switch shapeOf(e) {
	case ofUser:
		return t.users[e.User.Name]
	case ofClient:
		return t.clients[e.ClientID.Name]
	}
	return t.others[e]
}

// open makes the account of an entity that has none.
func (t *accounts) open(e kafka.Entity, level int8) *account {
	a := &account{owner: e, index: len(t.all), level: level}
	t.all = append(t.all, a)
	switch shapeOf(e) {
	case ofUser:
		t.users[e.User.Name] = a
	case ofClient:
		t.clients[e.ClientID.Name] = a
	case ofPair:
		t.pairs++
		t.others[e] = a
	default:
		t.others[e] = a
	}
	return a
}

func (t *accounts) remove(a *account) {
	last := t.all[len(t.all)-1]
	t.all[a.index], last.index = last, a.index
	t.all[len(t.all)-1] = nil
	t.all = t.all[:len(t.all)-1]
	switch shapeOf(a.owner) {
	case ofUser:
		delete(t.users, a.owner.User.Name)
	case ofClient:
		delete(t.clients, a.owner.ClientID.Name)
	case ofPair:
		t.pairs--
		delete(t.others, a.owner)
	default:
		delete(t.others, a.owner)
	}
}

// unnamed is how many there are without a setting.
func (t *accounts) unnamed() int { return len(t.all) - t.named }
