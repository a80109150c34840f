package metadata

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

func TestQuotasThatDoNotFit(t *testing.T) {
	named, byDefault := kafka.Named("n"), kafka.EntityName{Present: true, Default: true}
	for _, c := range []struct {
		name   string
		entity kafka.Entity
		rate   float64
	}{
		{"of nobody", kafka.Entity{}, 1},
		{"of an ip and a user", kafka.Entity{IP: named, User: byDefault}, 1},
		{"of an ip and a client-id", kafka.Entity{IP: byDefault, ClientID: named}, 1},
		{"of an empty name", kafka.Entity{User: kafka.Named("")}, 1},
		{"of a default with a name", kafka.Entity{User: kafka.EntityName{Present: true, Default: true, Name: "n"}}, 1},
		{"zero", kafka.UserEntity("u"), 0},
		{"below zero", kafka.UserEntity("u"), -1},
		{"not a number", kafka.UserEntity("u"), math.NaN()},
		{"infinite", kafka.UserEntity("u"), math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, &memoryLog{})
			before := commit(t, s, quotaOf(lonely, 1))
			_, err := s.Commit(t.Context(), quotaOf(odd, 1), quotaOf(c.entity, c.rate))
			if err == nil || s.Image() != before || before.QuotaCount() != 1 {
				t.Errorf("got %v with %d quotas", err, s.Image().QuotaCount())
			}
		})
	}
}

// A change replaces all that the entity had; images before it stay.
func TestQuotasAreReplaced(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	alice := kafka.UserEntity("alice")
	values := map[string]float64{kafka.ProducerByteRate: 1, kafka.RequestPercentage: 12.5}
	first := commit(t, s, NewQuotaSet(alice, values, netip.Addr{}), quotaOf(lonely, 3))
	values[kafka.ProducerByteRate] = 99
	second := commit(t, s, NewQuotaSet(alice, map[string]float64{kafka.ConsumerByteRate: 2}, netip.Addr{}))
	third := commit(t, s, NewQuotaSet(alice, nil, netip.Addr{}), NewQuotaSet(kafka.UserEntity("nobody"), nil, netip.Addr{}))
	ip := `"ip localhost" map[connection_creation_rate:3] ::1` + "\n"
	for i, want := range []struct {
		image  *Image
		quotas string
		count  int
	}{
		{first, ip + `"user alice" map[producer_byte_rate:1 request_percentage:12.5] invalid IP` + "\n", 2},
		{second, ip + `"user alice" map[consumer_byte_rate:2] invalid IP` + "\n", 2},
		{third, ip, 1},
		{open(t, log).Image(), ip, 1},
	} {
		if got := sketch(want.image); !strings.HasPrefix(got, want.quotas+"producers") || want.image.QuotaCount() != want.count {
			t.Errorf("image %d: got %s with %d entities, want %s with %d", i, got, want.image.QuotaCount(), want.quotas, want.count)
		}
	}
}

// What the log keeps is what a later version reads: the form may not change.
func TestQuotaForm(t *testing.T) {
	for _, c := range []struct {
		change QuotaSet
		form   string
	}{
		{quotaOf(kafka.UserEntity("alice"), 9223372036854775808), `{"user":{"name":"alice"},"values":{"later":1,"producer_byte_rate":9223372036854776000}}`},
		{quotaOf(odd, 1e-7), `{"user":{"name":{"bytes":"df8APGRlZmF1bHQ+"}},"clientId":{"default":true},"values":{"later":1,"producer_byte_rate":1e-7}}`},
		{quotaOf(lonely, 20), `{"ip":{"name":"localhost"},"values":{"connection_creation_rate":20},"address":"::1"}`},
		{NewQuotaSet(kafka.Entity{ClientID: kafka.Named("c")}, nil, netip.Addr{}), `{"clientId":{"name":"c"}}`},
	} {
		text, err := json.Marshal(c.change)
		if err != nil || string(text) != c.form {
			t.Errorf("got %s, %v, want %s", text, err, c.form)
		}
		back, _, err := decodeAs[QuotaSet](&reader{}, text)
		if diff := cmp.Diff(c.change, back, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); err != nil || diff != "" {
			t.Errorf("%s is read as another change: %v %s", text, err, diff)
		}
	}
}

func quotasOfTenThousand() []Change {
	var changes []Change
	for i := range 10_000 {
		e := kafka.Entity{User: kafka.Named(fmt.Sprintf("user-%05d", i)), ClientID: kafka.Named("client")}
		changes = append(changes, NewQuotaSet(e, map[string]float64{kafka.ProducerByteRate: float64(1 + i), kafka.ConsumerByteRate: 1 << 20}, netip.Addr{}))
	}
	return changes
}

// BenchmarkReplayTenThousandQuotas is what the quotas add to a start.
func BenchmarkReplayTenThousandQuotas(b *testing.B) {
	log := &memoryLog{}
	s, err := Open(b.Context(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Commit(b.Context(), quotasOfTenThousand()...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Open(b.Context(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry()); err != nil {
			b.Fatal(err)
		}
	}
}
