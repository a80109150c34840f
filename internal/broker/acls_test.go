package broker_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
)

// A super user gives a team its rights with another client's admin; they are
// felt at once by connections that are open, and outlive a restart.
func TestRightsOfATeam(t *testing.T) {
	folder, file := withFolder(t), withFile(t, credentials(t, alice, bob))
	secured := func(c *broker.Config) {
		c.Access = broker.Access{Enabled: true, SuperUsers: []string{"User:alice"}}
	}
	b := brokertest.Start(t, folder, file, secured)
	admin := kadm.NewClient(newClient(t, b.SASL, kgo.SASL(alice.as())))
	client := newClient(t, b.SASL, kgo.SASL(bob.as()), kgo.DefaultProduceTopic("team-orders"))
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "team-orders"); err != nil {
		t.Fatal(err)
	}
	write := func(c *kgo.Client) error { return c.ProduceSync(t.Context(), kgo.StringRecord("a record")).FirstErr() }
	if err := write(client); !errors.Is(err, kerr.TopicAuthorizationFailed) && !errors.Is(err, kerr.ClusterAuthorizationFailed) {
		t.Errorf("without a rule: %v", err)
	}
	rules := kadm.NewACLs().Topics("team-").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpWrite, kadm.OpRead).Allow("User:bob").AllowHosts()
	made, err := admin.CreateACLs(t.Context(), rules)
	if err != nil || len(made) != 2 || made[0].Err != nil || made[1].Err != nil {
		t.Fatalf("made %+v, %v", made, err)
	}
	fresh := newClient(t, b.SASL, kgo.SASL(bob.as()), kgo.DefaultProduceTopic("team-orders"))
	if err := write(fresh); err != nil {
		t.Errorf("with the rule: %v", err)
	}
	seen, err := kadm.NewClient(fresh).DescribeACLs(t.Context(), kadm.NewACLs().AnyResource().Allow().AllowHosts().Operations())
	if err != nil || len(seen) != 1 || !errors.Is(seen[0].Err, kerr.ClusterAuthorizationFailed) {
		t.Errorf("bob looks at the rules and sees %+v, %v", seen, err)
	}
	b.Stop()
	b = brokertest.Start(t, folder, file, secured)
	admin = kadm.NewClient(newClient(t, b.SASL, kgo.SASL(alice.as())))
	gone, err := admin.DeleteACLs(t.Context(), rules)
	if err != nil || len(gone) != 2 || len(gone[0].Deleted) != 1 || len(gone[1].Deleted) != 1 {
		t.Fatalf("gone %+v, %v", gone, err)
	}
	if err := write(newClient(t, b.SASL, kgo.SASL(bob.as()), kgo.DefaultProduceTopic("team-orders"))); err == nil {
		t.Error("bob may still write")
	}
}
