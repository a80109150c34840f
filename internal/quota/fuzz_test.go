package quota

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// feed turns bytes into the parts of a request.
type feed []byte

func (f *feed) byte() byte {
	if len(*f) == 0 {
		return 0
	}
	b := (*f)[0]
	*f = (*f)[1:]
	return b
}

func (f *feed) float() float64 {
	var raw [8]byte
	*f = (*f)[copy(raw[:], *f):]
	return math.Float64frombits(binary.BigEndian.Uint64(raw[:]))
}

// text is a known word, or some bytes.
func (f *feed) text(known ...string) string {
	n := int(f.byte())
	if n < len(known) {
		return known[n]
	}
	n = min(n%8, len(*f))
	text := string((*f)[:n])
	*f = (*f)[n:]
	return text
}

func (f *feed) name() *string {
	if f.byte()%4 == 0 {
		return nil
	}
	name := f.text("alice", "bob", "")
	return &name
}

// FuzzAlter: every entity is answered once; what is refused changes nothing,
// and what is taken is in force and can be described. Under both models.
func FuzzAlter(f *testing.F) {
	f.Add([]byte("\x01\x01\x00\x01\x00\x01\x00\x00\x40\x8f\x40\x00\x00\x00\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := feed(raw)
		var entries []Alteration
		for len(in) > 0 && len(entries) < 20 {
			var a Alteration
			for range in.byte() % 4 {
				a.Components = append(a.Components, Component{Type: in.text("user", "client-id", "ip"), Name: in.name()})
			}
			for range in.byte() % 4 {
				a.Ops = append(a.Ops, Op{
					Key: in.text(kafka.ProducerByteRate, kafka.ConsumerByteRate, kafka.RequestPercentage,
						kafka.ControllerMutationRate, kafka.ConnectionCreationRate),
					Remove: in.byte()%2 == 1, Value: in.float(),
				})
			}
			entries = append(entries, a)
		}
		for _, e := range []*Enforcer{newEnforcer(), newKafka()} {
			e.lookup = resolveHosts
			checkAlter(t, e, entries)
		}
	})
}

func checkAlter(t *testing.T, e *Enforcer, entries []Alteration) {
	distinct := map[string]bool{}
	for _, a := range entries {
		distinct[identity(e.model.distinct(a.Components))] = true
	}
	results := e.Alter(context.Background(), time.Now(), entries, false)
	if len(results) != len(distinct) {
		t.Errorf("%d results for %d entities", len(results), len(distinct))
	}
	stored := 0
	for _, r := range results {
		if r.Err != nil {
			if r.Err.Code != kafka.InvalidRequest && r.Err.Code != kafka.InvalidConfig || r.Err.Message == "" {
				t.Errorf("refused with %v", r.Err)
			}
			continue
		}
		if len(r.New) > 0 {
			stored++
		}
		for key, v := range r.New {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%s=%g was taken", key, v)
			}
		}
		entity := entityOf(r.Components)
		e.Client(entity.User.Name, entity.ClientID.Name).Charge(Produce, 1<<20, time.Now())
		e.Admit("L", peer, time.Now())
	}
	if all, err := e.Describe(Filter{}); err != nil || len(all) != stored {
		t.Errorf("described %d entities (%v), want %d", len(all), err, stored)
	}
}

// FuzzAddress: what is read as an address is written and read as the same one.
func FuzzAddress(f *testing.F) {
	for _, name := range []string{"1.2.3.4", "1.2.3", "[::1]", "fe80::1%1", "010.0.0.1", "16909060", "::ffff:1.2.3.4", "a.b", "1..", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		a, ok := parseAddress(name)
		if !ok {
			return
		}
		if again, ok := parseAddress(a.String()); !ok || again != a || canonical(a) != a {
			t.Errorf("%q is %v, that is %v", name, a, again)
		}
		if isHost(name) {
			t.Errorf("%q may be a host and is %v", name, a)
		}
	})
}

// FuzzDescribe: a filter is refused with one of two codes, or finds entities
// with values.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := feed(raw)
		filter := Filter{Strict: in.byte()%2 == 1}
		for len(in) > 0 && len(filter.Components) < 5 {
			filter.Components = append(filter.Components, FilterComponent{
				Type: in.text("user", "client-id", "ip"), Match: int8(in.byte()), Name: in.name(),
			})
		}
		e := newEnforcer()
		if in.byte()%2 == 1 {
			e = newKafka()
		}
		e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 1}, "bob": {kafka.ConsumerByteRate: 2}})
		entries, err := e.Describe(filter)
		if code := kafka.CodeOf(err); err != nil && (code != kafka.InvalidRequest && code != kafka.UnsupportedVersion || entries != nil) {
			t.Errorf("got %v with %v", err, entries)
		}
		for _, entry := range entries {
			if len(entry.Components) != 1 || len(entry.Values) != 1 {
				t.Errorf("got %+v", entry)
			}
		}
	})
}
