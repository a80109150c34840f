package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ledger is what one client has altered: its entities are altered by nobody else.
type ledger struct {
	entities []entity
	acked    map[entity]values
	asked    map[entity]values // what the request without an answer makes of its entities
	answered int
}

func newLedgers() []*ledger {
	ledgers := []*ledger{
		{entities: []entity{{user: "alice"}, {user: "bob"}, {user: byDefault}, {user: "ANONYMOUS"}}},
		{entities: []entity{{client: byDefault}, {client: "c1"}, {client: "quotakill"}}},
		{entities: []entity{{user: "alice", client: "c1"}, {user: "alice", client: byDefault}, {user: byDefault, client: "c1"}, {user: byDefault, client: byDefault}}},
		{entities: []entity{{ip: "127.0.0.1"}, {ip: "10.0.0.1"}, {ip: "::1"}, {ip: byDefault}}},
	}
	for _, l := range ledgers {
		l.acked = map[entity]values{}
	}
	return ledgers
}

// alter sends one request after the other until there is no broker any more.
func (l *ledger) alter(ctx context.Context, address string, answers chan<- struct{}) error {
	client, err := connect(address)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		answer, err := client.SeedBrokers()[0].Request(ctx, l.request())
		if err != nil {
			return ctx.Err()
		}
		for _, e := range answer.(*kmsg.AlterClientQuotasResponse).Entries {
			if e.ErrorCode != 0 {
				return fmt.Errorf("alter: error %d for %+v", e.ErrorCode, e.Entity)
			}
		}
		maps.Copy(l.acked, l.asked)
		l.asked = nil
		l.answered++
		select {
		case answers <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// request changes some of the entities.
func (l *ledger) request() *kmsg.AlterClientQuotasRequest {
	request := kmsg.NewPtrAlterClientQuotasRequest()
	l.asked = map[entity]values{}
	for _, i := range rand.Perm(len(l.entities))[:1+rand.IntN(len(l.entities))] {
		e := l.entities[i]
		entry, changed := e.change(l.acked[e])
		request.Entries = append(request.Entries, entry)
		l.asked[e] = changed
	}
	return request
}

// tally counts requests.
type tally struct{ acked, there, gone int }

func (t *tally) add(o tally) {
	t.acked, t.there, t.gone = t.acked+o.acked, t.there+o.there, t.gone+o.gone
}

func (t tally) String() string {
	return fmt.Sprintf("%d alterations acknowledged and there; of those without an answer %d there, %d not", t.acked, t.there, t.gone)
}

// settle holds what the broker describes against the ledgers.
func settle(ledgers []*ledger, described map[entity]values) (tally, error) {
	var t tally
	known := 0
	for _, l := range ledgers {
		t.acked, l.answered = t.acked+l.answered, 0
		changed := maps.Clone(l.acked)
		maps.Copy(changed, l.asked)
		switch {
		case l.holds(l.acked, described):
			if l.asked != nil && !l.holds(changed, described) {
				t.gone++
			}
		case l.holds(changed, described):
			t.there++
			l.acked = changed
		default:
			return t, fmt.Errorf("described are\n%v\nacknowledged were\n%v\nand asked for\n%v", l.mine(described), l.acked, l.asked)
		}
		l.asked = nil
		known += len(l.mine(described))
	}
	if known != len(described) {
		return t, fmt.Errorf("%d entities are described that nobody has altered: %v", len(described)-known, described)
	}
	return t, nil
}

// mine are the described entities of the ledger.
func (l *ledger) mine(described map[entity]values) map[entity]values {
	found := map[entity]values{}
	for _, e := range l.entities {
		if v, ok := described[e]; ok {
			found[e] = v
		}
	}
	return found
}

// holds says whether exactly these values are described. An entity without
// values is not described.
func (l *ledger) holds(want, described map[entity]values) bool {
	for _, e := range l.entities {
		got, ok := described[e]
		if ok != (len(want[e]) > 0) || !maps.Equal(got, want[e]) && len(want[e]) > 0 {
			return false
		}
	}
	return true
}
