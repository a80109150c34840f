package broker_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// comesIn says whether a new connection is served, and lets it go.
func comesIn(t *testing.T, address string) bool {
	t.Helper()
	p := dial(t, address)
	defer p.Close()
	frame := p.frame(0, &message.ApiVersionsRequest{})
	_ = p.SetDeadline(time.Now().Add(patience))
	if _, err := p.Write(frame); err != nil {
		return false
	}
	var one [1]byte
	n, err := p.Read(one[:])
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatalf("a connection was neither served nor closed within %v", patience)
	}
	return n == 1
}

// An address that opens more connections than its quota lets it has the burst,
// and is then shut out: its sockets are held, never read, and closed.
func TestConnectionsOfAnAddress(t *testing.T) {
	for _, entity := range [][]message.AlterClientQuotasEntity{
		entityOf(named(kafka.EntityIP, "127.0.0.1")), entityOf(byDefault(kafka.EntityIP)), entityOf(named(kafka.EntityIP, "127.0.1")), entityOf(named(kafka.EntityIP, "localhost")),
	} {
		t.Run(deref(entity[0].EntityName), func(t *testing.T) {
			b := brokertest.Start(t, kafkaModel)
			admin := dial(t, b.Plain)
			admin.alterEntity(entity, set(kafka.ConnectionCreationRate, 1))
			began, in := time.Now(), 0
			for comesIn(t, b.Plain) {
				in++
			}
			if most := 11 + int(time.Since(began).Seconds()); in < 10 || in > most {
				t.Errorf("%d connections came in, want 10 to %d", in, most)
			}
			all := scrape(t, b)
			for name, labels := range map[string][]string{
				"kaasd_ip_connections_refused_total": nil, "kaasd_connections_rejected_total": {"listener", "PLAINTEXT", "reason", "quota"},
			} {
				if got := all.sum(name, labels...); got != 1 {
					t.Errorf("%s is %v, want 1", name, got)
				}
			}
			if got := all.sum("kaasd_connections_accepted_total", "listener", "PLAINTEXT"); got != float64(1+in) {
				t.Errorf("%v connections are told as accepted, %d were", got, 1+in)
			}
			admin.alterEntity(entity, unset(kafka.ConnectionCreationRate))
			for range 50 {
				if !comesIn(t, b.Plain) {
					t.Fatal("shut out without a quota")
				}
			}
		})
	}
}

// Two names of one address: the lower limit is enforced, and removing one name
// leaves the limit of the other.
func TestTwoNamesOfOneAddress(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	first, second := entityOf(named(kafka.EntityIP, "127.0.0.1")), entityOf(named(kafka.EntityIP, "127.0.1"))
	admin.alterEntity(first, set(kafka.ConnectionCreationRate, 1))
	admin.alterEntity(second, set(kafka.ConnectionCreationRate, 1e6))
	resp := admin.describeAll(1, true, match(kafka.EntityIP, anyone))
	if len(resp.Entries) != 2 {
		t.Errorf("%d entities are described, want both names", len(resp.Entries))
	}
	admin.alterEntity(second, unset(kafka.ConnectionCreationRate))
	shutOut := false
	for range 200 {
		shutOut = shutOut || !comesIn(t, b.Plain)
	}
	if !shutOut {
		t.Error("the limit of the other name is gone")
	}
	admin.alterEntity(first, unset(kafka.ConnectionCreationRate))
	if !comesIn(t, b.Plain) {
		t.Error("shut out without a quota")
	}
}

// The rates of the broker and of a listener slow the accepting down and refuse
// nobody; they are altered while the broker runs and hold over a restart.
func TestConnectionRatesOfTheBroker(t *testing.T) {
	const rate, more = 20, 30
	for _, property := range []string{"max.connection.creation.rate", "listener.name.plaintext.max.connection.creation.rate"} {
		t.Run(property, func(t *testing.T) {
			folder := withFolder(t)
			b := brokertest.Start(t, kafkaModel, folder)
			p := dial(t, b.Plain)
			alter := func(op int8, value *string) {
				t.Helper()
				resp := call[message.IncrementalAlterConfigsResponse](p, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{{
					ResourceType: 4, ResourceName: "1", Configs: []message.IncrementalAlterConfigsConfig{{Name: property, ConfigOperation: op, Value: value}},
				}}})
				if got := resp.Responses[0]; got.ErrorCode != kafka.NoError {
					t.Fatalf("%s %s", got.ErrorCode, deref(got.ErrorMessage))
				}
			}
			alter(0, ptr(fmt.Sprint(rate)))
			slowed := func(b *brokertest.Broker) {
				t.Helper()
				began := time.Now()
				for range rate*10 + more { // ten seconds' worth comes in at once
					if !comesIn(t, b.Plain) {
						t.Fatal("a connection was refused")
					}
				}
				if took, least := time.Since(began), time.Second*(more-2)/rate; took < least {
					t.Errorf("%d connections came in within %v, at %d a second they take %v", rate*10+more, took, rate, least)
				}
			}
			slowed(b)
			b.Stop()
			b = brokertest.Start(t, kafkaModel, folder)
			slowed(b)
			p = dial(t, b.Plain)
			alter(1, nil)
			began := time.Now()
			for range 100 {
				if !comesIn(t, b.Plain) {
					t.Fatal("a connection was refused")
				}
			}
			t.Logf("100 connections without a limit took %v", time.Since(began))
		})
	}
}

// The listener's property is there for the listeners that there are, and is
// checked like any other.
func TestConnectionRateProperties(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) {
		c.Properties = map[string]string{"listener.name.sasl_plaintext.max.connection.creation.rate": "77"}
	})
	admin := kadm.NewClient(newClient(t, b.Plain))
	told := func() map[string]string {
		configs, err := admin.DescribeBrokerConfigs(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range configs[0].Configs {
			if strings.HasSuffix(c.Key, "max.connection.creation.rate") {
				got[c.Key] = c.MaybeValue() + " " + c.Source.String()
			}
		}
		return got
	}
	const plain, sasl = "listener.name.plaintext.max.connection.creation.rate", "listener.name.sasl_plaintext.max.connection.creation.rate"
	alter := func(name, value string) error {
		got, err := admin.AlterBrokerConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Err
	}
	if err := alter(plain, "5000"); err != nil {
		t.Error(err)
	}
	for _, bad := range [][2]string{{plain, "0"}, {plain, "x"}, {"max.connection.creation.rate", "-1"}, {"listener.name.other.max.connection.creation.rate", "5"}} {
		if err := alter(bad[0], bad[1]); err == nil {
			t.Errorf("%s=%s is taken", bad[0], bad[1])
		}
	}
	want := map[string]string{
		"max.connection.creation.rate": "2147483647 DEFAULT_CONFIG", plain: "5000 DYNAMIC_BROKER_CONFIG", sasl: "77 STATIC_BROKER_CONFIG",
	}
	for key, value := range want {
		if got := told()[key]; got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
}
