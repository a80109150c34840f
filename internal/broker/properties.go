package broker

import (
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"kaasd/internal/server"
	"kaasd/internal/storage"
)

// properties are the broker properties as the operator gave them, with those
// that other rooms are run with: DescribeConfigs shows them as given at the
// start. What is at its default is left out, so that it is shown as such.
func (c Config) properties() map[string]string {
	all := c.shown()
	for name, value := range Default().shown() {
		if all[name] == value {
			delete(all, name)
		}
	}
	// These have no default that the table knows.
	all["listeners"], all["advertised.listeners"], all["log.dirs"] = c.bound(), c.advertised(), c.DataDir
	maps.Copy(all, c.Properties)
	return all
}

// shown are the settings of other rooms that Kafka has, or that kaasd shows
// beside them, under the names of the property table.
func (c Config) shown() map[string]string {
	integer := func(n int64) string { return strconv.FormatInt(n, 10) }
	return map[string]string{
		"node.id":                              integer(int64(c.NodeID)),
		"quota.window.num":                     integer(int64(c.Quota.Windows.Num)),
		"quota.window.size.seconds":            integer(int64(c.Quota.Windows.Size / time.Second)),
		"controller.quota.window.num":          integer(int64(c.Quota.Windows.MutationNum)),
		"controller.quota.window.size.seconds": integer(int64(c.Quota.Windows.MutationSize / time.Second)),
		"log.flush":                            flushName(c.Storage.Flush),
		"log.flush.interval.ms":                integer(c.Storage.FlushInterval.Milliseconds()),
		"max.connections":                      integer(int64(c.Network.MaxConnections)),
		"max.connections.per.ip":               integer(int64(c.Network.MaxConnectionsPerIP)),
		"connections.max.idle.ms":              integer(c.Network.IdleTimeout.Milliseconds()),
		"connections.max.reauth.ms":            integer(c.SessionLifetime.Milliseconds()),
		"socket.request.max.bytes":             integer(int64(c.Network.MaxRequest)),
		"queued.max.request.bytes":             integer(c.Network.RequestMemory),
		"quota.model":                          c.Quota.Model,
		"sasl.enabled.mechanisms":              strings.Join(c.SASLMechanisms, ","),
	}
}

func flushName(f storage.Flush) string {
	switch f {
	case storage.FlushOS:
		return "os"
	case storage.FlushAlways:
		return "always"
	}
	return "interval"
}

func (c Config) listenerNames() []string {
	names := make([]string, len(c.Listeners))
	for i, l := range c.Listeners {
		names[i] = l.Name
	}
	return names
}

func (c Config) bound() string {
	return joinListeners(c.Listeners, func(l server.Listener) string { return l.Address })
}

func (c Config) advertised() string {
	return joinListeners(c.Listeners, func(l server.Listener) string {
		if _, port, err := net.SplitHostPort(l.Address); err == nil && l.Port == 0 {
			return net.JoinHostPort(l.Host, port)
		}
		return l.Advertised()
	})
}

// joinListeners writes listeners in Kafka's syntax.
func joinListeners(all []server.Listener, address func(server.Listener) string) string {
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = l.Name + "://" + address(l)
	}
	return strings.Join(texts, ",")
}
