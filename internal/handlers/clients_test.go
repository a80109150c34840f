package handlers_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

func dial(t *testing.T, address string, o ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(address), kgo.RequestRetries(0)}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// A client that was not written by us does what an administrator does, in the
// highest versions and in old ones.
func TestAdministration(t *testing.T) {
	b := brokertest.Start(t)
	for name, o := range map[string][]kgo.Opt{"newest": nil, "old": {kgo.MaxVersions(oldVersions())}} {
		t.Run(name, func(t *testing.T) {
			admin := kadm.NewClient(dial(t, b.Plain, o...))
			topic := "topic-" + name
			if _, err := admin.CreateTopic(t.Context(), 3, 1, map[string]*string{"retention.ms": kadm.StringPtr("1000")}, topic); err != nil {
				t.Fatal(err)
			}
			if _, err := admin.CreateTopic(t.Context(), 3, 1, nil, topic); !errors.Is(err, kerr.TopicAlreadyExists) {
				t.Errorf("made twice: %v", err)
			}
			details, err := admin.ListTopics(t.Context(), topic)
			if err != nil || len(details[topic].Partitions) != 3 || details[topic].Partitions[2].Leader != 1 {
				t.Errorf("got %+v, %v", details, err)
			}
			grown, err := admin.UpdatePartitions(t.Context(), 5, topic)
			if err != nil || grown[topic].Err != nil {
				t.Errorf("got %+v, %v", grown, err)
			}
			altered, err := admin.AlterTopicConfigsState(t.Context(), []kadm.AlterConfig{{Name: "segment.ms", Value: kadm.StringPtr("60000")}}, topic)
			if err != nil || altered[0].Err != nil {
				t.Errorf("got %+v, %v", altered, err)
			}
			if got, want := dynamicConfigs(t, admin, topic), (map[string]string{"segment.ms": "60000"}); cmp.Diff(want, got) != "" {
				t.Error(cmp.Diff(want, got))
			}
			gone, err := admin.DeleteTopics(t.Context(), topic)
			if err != nil || gone[topic].Err != nil {
				t.Errorf("got %+v, %v", gone, err)
			}
			if details, err = admin.ListTopics(t.Context(), topic); err != nil || !errors.Is(details[topic].Err, kerr.UnknownTopicOrPartition) {
				t.Errorf("got %+v, %v", details, err)
			}
		})
	}
}

func dynamicConfigs(t *testing.T, admin *kadm.Client, topic string) map[string]string {
	t.Helper()
	described, err := admin.DescribeTopicConfigs(t.Context(), topic)
	if err != nil || described[0].Err != nil {
		t.Fatal(err, described)
	}
	dynamic := map[string]string{}
	for _, c := range described[0].Configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
			dynamic[c.Key] = c.MaybeValue()
		}
	}
	return dynamic
}

// A user's quota, as an administrator of another client sees it.
func TestQuotaAdministration(t *testing.T) {
	admin := kadm.NewClient(dial(t, brokertest.Start(t).Plain))
	alice := kadm.ClientQuotaEntity{{Type: "user", Name: kadm.StringPtr("alice")}}
	alter := func(entity kadm.ClientQuotaEntity, ops ...kadm.AlterClientQuotaOp) error {
		answers, err := admin.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{Entity: entity, Ops: ops}})
		if err != nil || len(answers) != 1 {
			t.Fatal(err, answers)
		}
		return answers[0].Err
	}
	if err := alter(alice, kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: 1048576}, kadm.AlterClientQuotaOp{Key: "request_percentage", Value: 12.5}); err != nil {
		t.Error(err)
	}
	if err := alter(alice, kadm.AlterClientQuotaOp{Key: "request_percentage", Remove: true}); err != nil {
		t.Error(err)
	}
	if err := alter(kadm.ClientQuotaEntity{{Type: "client-id", Name: kadm.StringPtr("c")}}, kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: 1}); !errors.Is(err, kerr.InvalidRequest) {
		t.Errorf("got %v", err)
	}
	described, err := admin.DescribeClientQuotas(t.Context(), true, []kadm.DescribeClientQuotaComponent{{Type: "user", MatchType: kmsg.QuotasMatchTypeAny}})
	want := kadm.DescribedClientQuotas{{Entity: alice, Values: kadm.ClientQuotaValues{{Key: "producer_byte_rate", Value: 1048576}}}}
	if err != nil || cmp.Diff(want, described) != "" {
		t.Error(err, cmp.Diff(want, described))
	}
}

// credentialsFile holds one user for each mechanism, all with the password
// "right".
func credentialsFile(t *testing.T) string {
	t.Helper()
	entry := func(user, authType string, m kafka.ScramMechanism) string {
		c, err := kafka.NewScramCredential(m, "right", []byte("salt-of-"+user), 4096)
		if err != nil {
			t.Fatal(err)
		}
		text := base64.StdEncoding.EncodeToString
		return fmt.Sprintf(`{"username":%q,"authType":%q,"scram":{"salt":%q,"storedKey":%q,"serverKey":%q,"iterations":%d}}`,
			user, authType, text(c.Salt), text(c.StoredKey), text(c.ServerKey), c.Iterations)
	}
	file := filepath.Join(t.TempDir(), "credentials.json")
	content := fmt.Sprintf(`{"users":[%s,%s,{"username":"p","authType":"plain","plainPassword":"right"}]}`,
		entry("s256", "scram-sha-256", kafka.ScramSHA256), entry("s512", "scram-sha-512", kafka.ScramSHA512))
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLogins(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.CredentialsFile = credentialsFile(t) })
	mechanism := func(user, password string) map[string]sasl.Mechanism {
		return map[string]sasl.Mechanism{
			"PLAIN":         plain.Auth{User: user, Pass: password}.AsMechanism(),
			"SCRAM-SHA-256": scram.Auth{User: user, Pass: password}.AsSha256Mechanism(),
			"SCRAM-SHA-512": scram.Auth{User: user, Pass: password}.AsSha512Mechanism(),
		}
	}
	for _, c := range []struct {
		user, password, mechanism string
		ok                        bool
	}{
		{"p", "right", "PLAIN", true},
		{"s256", "right", "SCRAM-SHA-256", true},
		{"s512", "right", "SCRAM-SHA-512", true},
		{"p", "wrong", "PLAIN", false},
		{"s256", "wrong", "SCRAM-SHA-256", false},
		{"s512", "wrong", "SCRAM-SHA-512", false},
		{"s512", "right", "SCRAM-SHA-256", false},
		{"s512", "right", "PLAIN", false},
		{"nobody", "right", "SCRAM-SHA-512", false},
	} {
		t.Run(c.user+" with "+c.mechanism+" and "+c.password, func(t *testing.T) {
			client := dial(t, b.SASL, kgo.SASL(mechanism(c.user, c.password)[c.mechanism]))
			err := client.Ping(t.Context())
			if c.ok && err != nil || !c.ok && !errors.Is(err, kerr.SaslAuthenticationFailed) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// oldVersions are the lowest versions of what an administrator needs. Metadata
// below 4 would make the topic that it asks for.
func oldVersions() *kversion.Versions {
	v := kversion.Stable()
	for key, version := range map[int16]int16{3: 4, 19: 2, 20: 1, 32: 1, 33: 0, 37: 0} {
		v.SetMaxKeyVersion(key, version)
	}
	return v
}
