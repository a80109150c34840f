package quota

import "kaasd/internal/kafka"

// moves are the owners whose buckets keep their limit while a change of settings
// takes some of their clients elsewhere. Who loses all clients loses the limit, so
// these are few: a setting of a pair takes the pair from its user and its client
// id, one of a user takes that user's clients from the client ids, and one of a
// client id under every user takes those clients from the users.
type moves struct {
	owners               []kafka.Entity
	allUsers, allClients bool
}

func movesOf(changed []kafka.Entity) moves {
	var m moves
	for _, e := range changed {
		switch user, client := isNamed(e.User), isNamed(e.ClientID); {
		case user && client:
			m.owners = append(m.owners, ofUser.of(e.User.Name, ""), ofClient.of("", e.ClientID.Name))
		case user:
			m.allClients = true
		case client && e.User.Default:
			m.allUsers = true
		}
	}
	return m
}

// wake has the muted connections of those owners look whether they are among
// the clients that moved. The caller holds mu, and has raised the generation.
func (e *Enforcer) wake(m moves) {
	for _, owner := range m.owners {
		if a := e.accounts.get(owner); a != nil {
			a.wake()
		}
	}
	if m.allUsers {
		for _, a := range e.accounts.users {
			a.wake()
		}
	}
	if m.allClients {
		for _, a := range e.accounts.clients {
			a.wake()
		}
	}
}

func (a *account) wake() {
	for _, b := range a.buckets {
		if b != nil && b.muted.Load() > 0 {
			b.limit.Load().wake()
		}
	}
}
