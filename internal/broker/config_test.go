package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/broker"
	"kaasd/internal/quota"
	"kaasd/internal/server"
)

func TestDefaultIsValid(t *testing.T) {
	if err := broker.Default().Validate(); err != nil {
		t.Errorf("Validate = %v", err)
	}
}

// TestValidate holds that everything wrong is told at once.
func TestValidate(t *testing.T) {
	c := broker.Default()
	c.NodeID = -1
	c.DataDir = ""
	c.Quota.Model = "redpanda"
	c.Quota.Windows = quota.Windows{Num: 0, Size: time.Second, MutationNum: 1 << 31, MutationSize: 1 << 31 * time.Second}
	c.Quota.Idle = 0
	c.Storage.FlushThreads = 0
	c.ShutdownDelay = -time.Second
	c.Network.MaxConnections = 0
	c.SASLMechanisms = []string{"GSSAPI"}
	c.Listeners = []server.Listener{
		{Name: "A", Protocol: server.Plaintext, Address: "localhost:9092"},
		{Name: "A", Protocol: server.SASLPlaintext, Address: "localhost:9092"},
	}
	want := []string{
		"node.id: -1 is below 0",
		"data.dir: a folder is needed (:memory: keeps everything in memory)",
		"log.flush.threads: 0 is not above zero",
		"shutdown.delay: -1s is below 0",
		`quota.model: "redpanda" is not one of user, kafka`,
		"quota.window.num: 0 is below 1",
		"controller.quota.window.num: 2147483648 windows of 596523h14m8s are more than 24h0m0s",
		"quota.idle: 0s is not above zero",
		`sasl.enabled.mechanisms: "GSSAPI" is not one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512`,
		"listeners: name A stands twice",
		"listeners: address localhost:9092 stands twice",
		"max.connections: 0 is not above zero",
	}
	if diff := cmp.Diff(want, strings.Split(c.Validate().Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidateListeners(t *testing.T) {
	tests := []struct {
		name string
		bend func(*broker.Config)
		want string
	}{
		{"none", func(c *broker.Config) { c.Listeners = nil }, "listeners: at least one is needed"},
		{"free ports", func(c *broker.Config) {
			c.Listeners = []server.Listener{{Name: "A", Protocol: server.Plaintext, Address: "localhost:0"}, {Name: "B", Protocol: server.Plaintext, Address: "localhost:0"}}
		}, ""},
		{"log-in without a way", func(c *broker.Config) {
			c.SASLMechanisms = nil
			c.Listeners = []server.Listener{{Name: "A", Protocol: server.SASLPlaintext, Address: "localhost:1"}}
		}, "sasl.enabled.mechanisms: a listener with SASL needs at least one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := broker.Default()
			tt.bend(&c)
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate = %q, want %q", got, tt.want)
			}
		})
	}
}
