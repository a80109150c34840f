package broker_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// alterer alters the quotas of one entity, again and again, until its
// connection ends.
type alterer struct {
	entity       []message.AlterClientQuotasEntity
	asked, acked float64 // the last value that was sent, and that was answered
	answers      int
}

// alterUntilCut gives the entity one value after the other.
func (a *alterer) alterUntilCut(p *peer) {
	for {
		a.asked++
		frame := p.frame(1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{{
			Entity: a.entity, Ops: ops(set(kafka.ProducerByteRate, a.asked), set(kafka.RequestPercentage, a.asked+0.5)),
		}}})
		if _, err := p.Write(frame); err != nil {
			return
		}
		answer, err := p.frameOrEnd()
		if err != nil {
			return
		}
		// correlation id, tags, throttle, one entry, its code
		if code := kafka.Code(int16(answer[10])<<8 | int16(answer[11])); code != kafka.NoError {
			p.t.Errorf("alter to %v: %s", a.asked, code)
			return
		}
		a.acked = a.asked
		a.answers++
	}
}

// TestQuotasOutliveKills kills the broker while quotas of all kinds of entities
// are altered: what was answered is there, and of what was under way all or
// nothing.
func TestQuotasOutliveKills(t *testing.T) {
	k := &killed{dir: t.TempDir(), address: freeAddress(t), model: "kafka"}
	user, client := named(kafka.EntityUser, "u\xff"), named(kafka.EntityClientID, "c")
	all := []*alterer{
		{entity: entityOf(user)}, {entity: entityOf(client)}, {entity: entityOf(user, client)},
		{entity: entityOf(byDefault(kafka.EntityUser), client)}, {entity: entityOf(byDefault(kafka.EntityClientID))},
	}
	k.start(t)
	defer func() { k.kill(t) }()
	kills := killCount(t)
	for range kills {
		var alterers sync.WaitGroup
		for _, a := range all {
			p := dialUp(t, k.address)
			alterers.Go(func() { a.alterUntilCut(p) })
		}
		<-time.After(time.Duration(rand.IntN(50)) * time.Millisecond)
		k.kill(t)
		alterers.Wait()
		k.start(t)
		got := dialUp(t, k.address).everything()
		for _, a := range all {
			a.check(t, got)
		}
	}
	answers := 0
	for _, a := range all {
		answers += a.answers
	}
	if answers == 0 {
		t.Error("no alteration was answered before a kill")
	}
	t.Logf("%d alterations answered over %d kills, none lost", answers, kills)
}

// check says that what is there is what was answered last, or asked last, as a
// whole, and goes on from there.
func (a *alterer) check(t *testing.T, got map[string]map[string]float64) {
	t.Helper()
	name := nameOf(a.entity)
	rate, percent := got[name][kafka.ProducerByteRate], got[name][kafka.RequestPercentage]
	if rate != a.acked && rate != a.asked || rate != 0 && percent != rate+0.5 {
		t.Errorf("%s has %v, %v was answered and %v asked", name, got[name], a.acked, a.asked)
	}
	a.acked = rate
}

// dialUp connects as soon as the broker listens.
func dialUp(t *testing.T, address string) *peer {
	t.Helper()
	eventually(t, "the broker listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
	return dial(t, address)
}
