package broker_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
)

func TestBrokerConfigsShowWhatItWasStartedWith(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) {
		c.Network.MaxConnections = 77
		c.Quota.Windows.Num, c.Quota.Windows.MutationSize = 5, 3*time.Second
		c.Properties = map[string]string{"num.partitions": "3"}
	})
	configs, err := kadm.NewClient(newClient(t, b.Plain)).DescribeBrokerConfigs(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]kadm.Config{}
	for _, c := range configs[0].Configs {
		got[c.Key] = c
	}
	tests := []struct{ key, value, source string }{
		{"max.connections", "77", "STATIC_BROKER_CONFIG"},
		{"quota.window.num", "5", "STATIC_BROKER_CONFIG"},
		{"quota.window.size.seconds", "1", "DEFAULT_CONFIG"},
		{"controller.quota.window.size.seconds", "3", "STATIC_BROKER_CONFIG"},
		{"num.partitions", "3", "STATIC_BROKER_CONFIG"},
		{"log.dirs", broker.InMemory, "STATIC_BROKER_CONFIG"},
		{"listeners", "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0", "STATIC_BROKER_CONFIG"},
		{"max.connections.per.ip", "2147483647", "DEFAULT_CONFIG"},
		{"log.flush", "interval", "DEFAULT_CONFIG"},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			c, ok := got[tt.key]
			if !ok || c.MaybeValue() != tt.value || c.Source.String() != tt.source {
				t.Errorf("%s = %q from %s (there: %t), want %q from %s", tt.key, c.MaybeValue(), c.Source, ok, tt.value, tt.source)
			}
		})
	}
}
