package handlers

import (
	"maps"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// The operations of IncrementalAlterConfigs (KIP-339).
const (
	configSet      = 0
	configDelete   = 1
	configAppend   = 2
	configSubtract = 3
)

// IncrementalAlterConfigs (key 44, KIP-339): v0-1, flexible from v1. A change
// is in force before the answer.
//
// Differs from Kafka: a broker property that kaasd does not have is refused
// (40), where Kafka stores it for plugins.
func (h *Handlers) incrementalAlterConfigs(c *call, req *message.IncrementalAlterConfigsRequest) (*message.IncrementalAlterConfigsResponse, error) {
	if err := tooMany(len(req.Resources)); err != nil {
		return nil, err
	}
	var edits []configEdit
	for _, asked := range req.Resources {
		r := configResource{asked.ResourceType, asked.ResourceName}
		e := configEdit{resource: r, next: func(m *metadata.Image) (map[string]string, error) { return r.increment(m, asked.Configs) }}
		if r.kind == configBrokerLogger {
			e.live = func() error { return c.alterLoggers(asked, req.ValidateOnly) }
		}
		edits = append(edits, e)
	}
	faults := c.alterAll(edits, req.ValidateOnly)
	resp := &message.IncrementalAlterConfigsResponse{Responses: []message.IncrementalAlterConfigsResponseResource{}}
	for i, asked := range req.Resources {
		resp.Responses = append(resp.Responses, message.IncrementalAlterConfigsResponseResource{
			ErrorCode: c.code(faults[i]), ErrorMessage: text(faults[i]), ResourceType: asked.ResourceType, ResourceName: asked.ResourceName,
		})
	}
	return resp, nil
}

// increment makes the overrides that the operations lead to. What is wrong
// with the operations is told before that the topic does not exist, as Kafka
// does.
func (r configResource) increment(m *metadata.Image, ops []message.IncrementalAlterConfigsConfig) (map[string]string, error) {
	current, missing := r.overrides(m)
	next := maps.Clone(current)
	if next == nil {
		next = map[string]string{}
	}
	seen := map[string]bool{}
	for _, op := range ops {
		if seen[op.Name] {
			return nil, kafka.Errorf(kafka.InvalidRequest, "config %q is named more than once", op.Name)
		}
		seen[op.Name] = true
		if op.ConfigOperation == configDelete {
			delete(next, op.Name)
			continue
		}
		value, err := r.operate(m, current, op)
		if err != nil {
			return nil, err
		}
		next[op.Name] = value
	}
	return next, missing
}

// operate is the value that a config gets by an operation other than
// deletion.
func (r configResource) operate(m *metadata.Image, current map[string]string, op message.IncrementalAlterConfigsConfig) (string, error) {
	if op.ConfigOperation < configSet || op.ConfigOperation > configSubtract {
		return "", kafka.Errorf(kafka.InvalidRequest, "operation %d of config %q is not known: 0 (set), 1 (delete), 2 (append) and 3 (subtract) are",
			op.ConfigOperation, op.Name)
	}
	if op.Value == nil {
		return "", kafka.Errorf(kafka.InvalidRequest, "config %q has no value", op.Name)
	}
	value := *op.Value
	if op.ConfigOperation != configSet {
		p, known := r.find(m, op.Name)
		if known && p.Type != metadata.List {
			return "", kafka.Errorf(kafka.InvalidConfig, "config %q is no list: it can be set, nothing appended or subtracted", op.Name)
		}
		value = changeList(r.inForce(m, current, op.Name), op)
	}
	return r.parse(m, op.Name, value)
}

func changeList(list string, op message.IncrementalAlterConfigsConfig) string {
	if op.ConfigOperation == configAppend {
		return metadata.ListWith(list, *op.Value)
	}
	return metadata.ListWithout(list, *op.Value)
}
