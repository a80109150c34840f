package handlers

import (
	"strconv"

	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// The types of config resources (KIP-133, KIP-412), by their numbers in the
// protocol. They are not those of ACLs.
const (
	configTopic         = 2
	configBroker        = 4
	configBrokerLogger  = 8
	configClientMetrics = 16
	configGroup         = 32
)

// configResource is a resource that has configs, as a request names it.
type configResource struct {
	kind int8
	name string
}

// acl is the resource that the right to see or alter the configs is asked on.
func (r configResource) acl() kafka.Resource {
	switch r.kind {
	case configTopic:
		return kafka.TopicResource(r.name)
	case configGroup:
		return kafka.GroupResource(r.name)
	}
	return kafka.Cluster
}

// find looks a property of the resource up.
func (r configResource) find(m *metadata.Image, name string) (*metadata.Property, bool) {
	if r.kind == configTopic {
		return metadata.TopicProperty(name)
	}
	return m.BrokerProperty(name)
}

// checkBroker judges the name of a broker resource: this broker's number, or
// where all brokers may be meant, the empty name.
func (h *Handlers) checkBroker(name string, all bool) error {
	if name == "" && all {
		return nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return kafka.Errorf(kafka.InvalidRequest, "broker id %q is not a number", name)
	}
	if self := strconv.Itoa(int(h.NodeID)); kafka.BrokerID(id) == h.NodeID && name != self {
		return kafka.Errorf(kafka.InvalidRequest, "broker id %q is not written as it should be: %s", name, self)
	}
	if kafka.BrokerID(id) != h.NodeID {
		return kafka.Errorf(kafka.InvalidRequest, "broker %d is not here: this is broker %d", id, h.NodeID)
	}
	return nil
}

// fixed says why resources of a type have nothing that could be altered.
var fixed = map[int8]string{
	configBrokerLogger:  "the level of the log is changed by IncrementalAlterConfigs, where it can be: log.level gives it when the broker starts",
	configClientMetrics: "metrics of clients are not collected here, so that there is nothing to subscribe to",
	configGroup:         "groups have no configs of their own here: the broker's group.* properties hold for all of them",
}

// noConfigs is the refusal of a type that has no configs here.
func noConfigs(kind int8) error {
	if why, known := fixed[kind]; known {
		return kafka.Errorf(kafka.InvalidRequest, "%s", why)
	}
	return kafka.Errorf(kafka.InvalidRequest, "resources of type %d have no configs here: topics (2) and brokers (4) have", kind)
}

// overrides are what is altered of a resource.
func (r configResource) overrides(m *metadata.Image) (map[string]string, error) {
	if r.kind == configBroker {
		return m.BrokerOverrides(r.name), nil
	}
	t, ok := m.Topic(r.name)
	if !ok {
		return nil, kafka.Errorf(kafka.UnknownTopicOrPartition, "topic %q does not exist", r.name)
	}
	return t.Configs, nil
}

// set is the change that replaces all overrides of a resource.
func (r configResource) set(m *metadata.Image, configs map[string]string) metadata.Change {
	if r.kind == configBroker {
		return metadata.BrokerConfigsSet{Broker: r.name, Configs: configs}
	}
	t, _ := m.Topic(r.name)
	return metadata.TopicConfigsSet{ID: t.ID, Configs: configs}
}

// inForce is the value of a config with these overrides, whoever gives it.
func (r configResource) inForce(m *metadata.Image, overrides map[string]string, name string) string {
	if value, ok := overrides[name]; ok {
		return value
	}
	p, known := r.find(m, name)
	switch {
	case !known:
		return ""
	case r.kind == configTopic:
		return m.TopicValue(p.Name, nil)
	}
	return m.BrokerValue(name)
}

// parse checks a value that a config is to have.
func (r configResource) parse(m *metadata.Image, name, value string) (string, error) {
	if r.kind == configTopic {
		return metadata.ParseTopicConfig(name, value)
	}
	p, known := m.BrokerProperty(name)
	if !known {
		return "", kafka.Errorf(kafka.InvalidConfig, "%q is not a broker property of this broker", name)
	}
	if !p.Dynamic {
		return "", kafka.Errorf(kafka.InvalidRequest, "broker property %s cannot be altered while the broker runs", name)
	}
	plain, err := p.Parse(value)
	if err != nil {
		return "", kafka.Errorf(kafka.InvalidRequest, "%s", kafka.MessageOf(err))
	}
	return plain, nil
}

// String names the resource for logs.
func (r configResource) String() string {
	switch {
	case r.kind == configTopic:
		return "topic " + r.name
	case r.name == "":
		return "all brokers"
	}
	return "broker " + r.name
}
