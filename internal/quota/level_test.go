package quota

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// TestPrecedenceOfKafka is Kafka's own story of the eight levels, step by step: who
// gets which limit, and who shares it.
func TestPrecedenceOfKafka(t *testing.T) {
	const key = kafka.ProducerByteRate
	e, now := newKafka(), time.Now()
	for entity, v := range map[string]float64{
		"user": 1000, "client-id": 2000, "user, client-id": 3000,
		"user=userA": 4000, "user=userA, client-id=client1": 5000,
		"user=userB": 6000, "user=userB, client-id=client1": 7000, "user=userB, client-id": 8000,
		"user=userC": 10000, "client-id=client1": 9000,
	} {
		giveAt(t, e, now, entity, key, v)
	}
	limit := func(user, client string, want float64) *bucket {
		t.Helper()
		c := e.Client(user, client)
		if got := limitOf(c, Produce); got != want {
			t.Errorf("%s, %s has %g, want %g", user, client, got, want)
		}
		return c.bucket(Produce)
	}
	shared := func(want bool, a, b *bucket) {
		t.Helper()
		if (a == b) != want {
			t.Errorf("shared: %v, want %v", a == b, want)
		}
	}
	a1 := limit("userA", "client1", 5000)
	a2 := limit("userA", "client2", 4000)
	shared(true, a2, limit("userA", "client3", 4000))
	shared(false, a1, a2)
	limit("userB", "client1", 7000)
	shared(false, limit("userB", "client2", 8000), limit("userB", "client3", 8000))
	limit("userC", "client1", 10000)
	d1, d2, e1 := limit("userD", "client1", 3000), limit("userD", "client2", 3000), limit("userE", "client1", 3000)
	shared(false, d1, d2)
	shared(false, d1, e1)

	e.Client("userD", "client1").Charge(Produce, 60000, now)
	giveAt(t, e, now, "user, client-id", key, 0)
	shared(false, d1, limit("userD", "client1", 1000))
	if got := e.Client("userD", "client1").Charge(Produce, 10000, now).Millis(); got != 0 {
		t.Errorf("the bucket of userD does not start full: %d ms", got)
	}
	shared(true, limit("userF", "client4", 1000), limit("userF", "client5", 1000))

	giveAt(t, e, now, "user", key, 0)
	limit("userF", "client4", 2000)
	shared(true, limit("userF", "client5", 2000), limit("userG", "client5", 2000))

	e.Client("userA", "client2").Charge(Produce, 48000, now) // 8000 owed
	giveAt(t, e, now, "user=userA", key, 8000)
	limit("userA", "client2", 8000)
	if got := e.Client("userA", "client3").Charge(Produce, 0, now).Millis(); got != 1000 {
		t.Errorf("the debt in bytes is worth %d ms at the new rate, want 1000", got)
	}
	giveAt(t, e, now, "user=userA, client-id=client1", key, 0)
	shared(true, a2, limit("userA", "client1", 8000))

	giveAt(t, e, now, "user=userA, client-id=client6", key, 11000)
	e.Client("userA", "client6").Charge(Produce, 110_000+24000, now)
	a6 := limit("userA", "client6", 11000)
	giveAt(t, e, now, "user=userA, client-id", key, 12000)
	giveAt(t, e, now, "user=userA, client-id=client6", key, 0)
	shared(true, a6, limit("userA", "client6", 12000))
	if got := e.Client("userA", "client6").Charge(Produce, 0, now).Millis(); got != 2000 {
		t.Errorf("the same bucket under another level owes %d ms, want 2000", got)
	}
	// Nobody pays from the bucket of userA any more.
	if !a2.limit.Load().isUnlimited() {
		t.Errorf("the bucket of userA still has %g", a2.limit.Load().rate)
	}
}

// TestWhoShares holds T13 and T15 to T20: what one client charges is what the
// other one owes.
func TestWhoShares(t *testing.T) {
	const mega = 1e6
	type client struct{ user, id string }
	for _, c := range []struct {
		name     string
		settings map[string]float64
		charged  client
		others   map[client]bool // whether they owe it too
	}{
		{"T13 a user named <default>", map[string]float64{"user=<default>": mega, "user": mega}, client{"<default>", "c"},
			map[client]bool{{"<default>", "d"}: true, {"alice", "c"}: false}},
		{"T15 an empty client id under a user's default", map[string]float64{"user": mega}, client{"x", ""},
			map[client]bool{{"x", "c"}: true, {"y", ""}: false}},
		{"T16 an empty client id under the client default", map[string]float64{"client-id": mega}, client{"x", ""},
			map[client]bool{{"y", ""}: true, {"x", "c"}: false}},
		{"T17 each client of alice", map[string]float64{"user=alice, client-id": 5 * mega}, client{"alice", "c1"},
			map[client]bool{{"alice", "c2"}: false, {"alice", ""}: false}},
		{"T18 alice", map[string]float64{"user=alice": 5 * mega}, client{"alice", "c1"},
			map[client]bool{{"alice", "c2"}: true, {"alice", ""}: true, {"bob", "c1"}: false}},
		{"T19 a client id", map[string]float64{"client-id=c": mega}, client{"alice", "c"},
			map[client]bool{{"bob", "c"}: true, {"alice", "d"}: false}},
		{"each user under a default with that client", map[string]float64{"user, client-id=c": mega}, client{"alice", "c"},
			map[client]bool{{"bob", "c"}: false, {"alice", "d"}: false}},
		{"pairs", map[string]float64{"user=alice, client-id=c": mega}, client{"alice", "c"},
			map[client]bool{{"bob", "c"}: false, {"alice", "d"}: false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, now := newKafka(), time.Now()
			for entity, v := range c.settings {
				giveAt(t, e, now, entity, kafka.ProducerByteRate, v)
			}
			if got := e.Client(c.charged.user, c.charged.id).Charge(Produce, 1e9, now); !got.Muted() {
				t.Error("not throttled")
			}
			for other, owes := range c.others {
				if got := e.Client(other.user, other.id).Charge(Produce, 1, now); got.Muted() != owes {
					t.Errorf("%v owes: %v, want %v", other, got.Muted(), owes)
				}
			}
		})
	}
}

// TestPerKey holds T20: a pair that has one key leaves the other to the user.
func TestPerKey(t *testing.T) {
	e := newKafka()
	give(t, e, "user=alice, client-id=c1", kafka.ProducerByteRate, 100)
	give(t, e, "user=alice", kafka.ConsumerByteRate, 200)
	c := e.Client("alice", "c1")
	if limitOf(c, Produce) != 100 || limitOf(c, Fetch) != 200 || limitOf(c, Request) != 0 {
		t.Errorf("got %g and %g", limitOf(c, Produce), limitOf(c, Fetch))
	}
	if c.bucket(Fetch) != e.Client("alice", "c2").bucket(Fetch) {
		t.Error("the consumer limit of alice is not shared")
	}
	if limitOf(e.Client("alice", "c2"), Produce) != 0 {
		t.Error("c2 has the producer limit of c1")
	}
}

// reference is the precedence in the plainest form: the settings and a list.
type reference struct{ base, set map[kafka.Entity]Limits }

func (r *reference) value(e kafka.Entity, key string) (float64, bool) {
	if v, ok := r.set[e][key]; ok {
		return v, true
	}
	v, ok := r.base[e][key]
	return v, ok
}

// pays gives the limit of a client and who owns the bucket.
func (r *reference) pays(user, client, key string) (limit float64, owner kafka.Entity) {
	named, def := kafka.Named, kafka.EntityName{Present: true, Default: true}
	u, c := named(user), named(client)
	pair, ofU, ofC := kafka.Entity{User: u, ClientID: c}, kafka.Entity{User: u}, kafka.Entity{ClientID: c}
	for _, step := range []struct{ stored, owner kafka.Entity }{
		{pair, pair},
		{kafka.Entity{User: u, ClientID: def}, pair},
		{ofU, ofU},
		{kafka.Entity{User: def, ClientID: c}, pair},
		{kafka.Entity{User: def, ClientID: def}, pair},
		{kafka.Entity{User: def}, ofU},
		{ofC, ofC},
		{kafka.Entity{ClientID: def}, ofC},
	} {
		if v, ok := r.value(step.stored, key); ok {
			return v, step.owner
		}
	}
	return 0, kafka.Entity{}
}

// TestAgainstReference alters entities in any order, with clients that stay
// connected: after every change each one has the limit and the bucket that the
// reference names, and a bucket that nobody pays from any more has no limit.
func TestAgainstReference(t *testing.T) {
	users, clients := []string{"a", "b", "c"}, []string{"x", "y", "z", ""}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		e, ref := newKafka(), &reference{map[kafka.Entity]Limits{}, map[kafka.Entity]Limits{}}
		handles := map[[2]string]*Client{}
		for _, u := range users {
			for _, c := range clients {
				handles[[2]string{u, c}] = e.Client(u, c)
			}
		}
		for step := range 120 {
			if r.IntN(10) == 0 {
				changeBase(e, ref, r)
			} else {
				changeSome(t, e, ref, r)
			}
			checkReference(t, e, ref, handles)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
		for entity := range maps.Keys(ref.set) {
			for key := range ref.set[entity] {
				e.Alter(context.Background(), time.Now(), []Alteration{{components(entity), []Op{remove(key)}}}, false)
			}
		}
		e.SetBase(nil)
		sweepAll(e, time.Now().Add(2*time.Hour))
		if n := len(e.accounts.all); n != 0 || e.accounts.named != 0 || e.accounts.pairs != 0 || e.held != 0 || e.settings != [maxLevels]int{} {
			t.Fatalf("seed %d: %d accounts, %d named, %d pairs, %d bytes of overrides, %v are left over", seed, n, e.accounts.named, e.accounts.pairs, e.held, e.settings)
		}
	}
}

func changeBase(e *Enforcer, ref *reference, r *rand.Rand) {
	users := map[string]Limits{}
	ref.base = map[kafka.Entity]Limits{}
	for _, u := range []string{"a", "b"} {
		if r.IntN(2) == 0 {
			l := Limits{kafka.ProducerByteRate: float64(1 + r.IntN(1000)), kafka.RequestPercentage: 50}
			users[u], ref.base[kafka.UserEntity(u)] = l, l
		}
	}
	e.SetBase(users)
}

func changeSome(t *testing.T, e *Enforcer, ref *reference, r *rand.Rand) {
	var entries []Alteration
	seen := map[kafka.Entity]bool{}
	for range 1 + r.IntN(3) {
		entity := randomEntity(r)
		if seen[entity] {
			continue
		}
		seen[entity] = true
		a, next := Alteration{Components: components(entity)}, maps.Clone(ref.set[entity])
		if next == nil {
			next = Limits{}
		}
		for _, key := range []string{kafka.ProducerByteRate, kafka.ConsumerByteRate, kafka.RequestPercentage, kafka.ControllerMutationRate} {
			_, inFile := ref.base[entity][key]
			_, set := next[key]
			switch {
			case r.IntN(3) > 0:
			case r.IntN(2) == 0:
				v := float64(1 + r.IntN(1000))
				a.Ops, next[key] = append(a.Ops, Op{Key: key, Value: v}), v
			case !inFile || set:
				a.Ops = append(a.Ops, remove(key))
				delete(next, key)
			}
		}
		if ref.set[entity] = next; len(next) == 0 {
			delete(ref.set, entity)
		}
		entries = append(entries, a)
	}
	for _, result := range e.Alter(context.Background(), time.Now(), entries, false) {
		if result.Err != nil {
			t.Fatalf("%v: %v", show(result.Components), result.Err)
		}
	}
}

func randomEntity(r *rand.Rand) (e kafka.Entity) {
	for e == (kafka.Entity{}) {
		name := func(names ...string) kafka.EntityName {
			switch i := r.IntN(len(names) + 3); {
			case i < len(names):
				return kafka.Named(names[i])
			case i == len(names):
				return kafka.EntityName{Present: true, Default: true}
			}
			return kafka.EntityName{}
		}
		e = kafka.Entity{User: name("a", "b", "c"), ClientID: name("x", "y", "z")}
	}
	return e
}

func checkReference(t *testing.T, e *Enforcer, ref *reference, handles map[[2]string]*Client) {
	t.Helper()
	payers := map[Kind]map[kafka.Entity]float64{}
	for k, key := range keyOf {
		payers[k] = map[kafka.Entity]float64{}
		scale := 1.0
		if k == Request {
			scale = percent
		}
		for who, c := range handles {
			want, owner := ref.pays(who[0], who[1], key)
			if got := limitOf(c, k); got != want*scale {
				t.Errorf("%q has %v %g, want %g", who, k, got, want*scale)
			}
			if want > 0 {
				payers[k][owner] = want * scale
				if a := e.accounts.get(owner); a == nil || a.buckets[k] != c.bucket(k) {
					t.Errorf("%q pays %v from another bucket than that of %v", who, k, owner)
				}
			}
		}
	}
	for _, a := range e.accounts.all {
		for k, b := range a.buckets {
			if b == nil {
				continue
			}
			got := b.limit.Load().rate
			if want, paid := payers[Kind(k)][a.owner]; paid && got != want || !paid && got != unlimited && !mayPay(ref, a.owner, keyOf[Kind(k)]) {
				t.Errorf("the bucket of %v has %v %g", a.owner, Kind(k), got)
			}
		}
	}
}

// mayPay says whether somebody who is not connected would pay from a bucket.
func mayPay(ref *reference, owner kafka.Entity, key string) bool {
	return slices.ContainsFunc([]string{owner.User.Name, "stranger"}, func(u string) bool {
		return slices.ContainsFunc([]string{owner.ClientID.Name, "stranger"}, func(c string) bool {
			_, payer := ref.pays(u, c, key)
			return payer == owner
		})
	})
}

// TestOverflowOfClients: client ids that nobody has room for share the bucket
// of the default that they fall under, and who is full is forgotten first.
func TestOverflowOfClients(t *testing.T) { synctest.Test(t, testOverflowOfClients) }

func testOverflowOfClients(t *testing.T) {
	e, reg := watchedKafka(DefaultOptions())
	now := time.Now()
	give(t, e, "client-id", kafka.ProducerByteRate, 1000)
	for i := range maxUnnamed {
		e.Client("u", fmt.Sprint("c", i)).Charge(Produce, 20_000, now)
	}
	late, later := e.Client("u", "late"), e.Client("u", "later")
	if late.bucket(Produce) != later.bucket(Produce) || limitOf(late, Produce) != 1000 {
		t.Errorf("two clients beyond the bound do not share: limits %g, %g", limitOf(late, Produce), limitOf(later, Produce))
	}
	if got := len(e.accounts.all); got != maxUnnamed+1 {
		t.Errorf("%d accounts", got)
	}
	late.Mute(late.Charge(Produce, 20_000, now)).Done()
	told := scrape(t, reg)
	for name, want := range map[string]float64{"bytes_total": 20_000, "throttled_requests_total": 1} {
		if v := told["kaasd_quota_entity_"+name+`{client_id="_other",quota="produce",user="_other"}`]; v != want {
			t.Errorf("%s of those who share is %g, want %g", name, v, want)
		}
	}
	e.sweep(e.ticksOf(now.Add(time.Second)))
	if got := len(e.accounts.all); got != maxUnnamed+1 {
		t.Errorf("%d accounts: somebody in debt was forgotten", got)
	}
	e.sweep(e.ticksOf(now.Add(21 * time.Second)))
	if got := len(e.accounts.all); got != 1 {
		t.Errorf("%d accounts after all are full again, want the default's", got)
	}
	told = scrape(t, reg)
	if v := told[`kaasd_quota_entity_series{state="folded"}`]; v != 0 {
		t.Errorf("%g are folded when nobody shares any more", v)
	}
	if v := told[`kaasd_quota_entity_bytes_total{client_id="_other",quota="produce",user="_other"}`]; v != 20_000 {
		t.Errorf("those who shared have %g bytes, want them kept", v)
	}
	if late.bucket(Produce) == later.bucket(Produce) {
		t.Error("two clients share a bucket although there is room")
	}
}
