package handlers

import (
	"slices"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// DescribeConfigs (key 32, KIP-133, KIP-226, KIP-569): v1-4, flexible from v4.
// Topics and brokers have configs, and the log has a level; groups and clients'
// metrics are answered with none, because nothing of theirs can be altered here.
func (h *Handlers) describeConfigs(c *call, req *message.DescribeConfigsRequest) (*message.DescribeConfigsResponse, error) {
	resources, err := distinct(req.Resources, func(asked *message.DescribeConfigsResource) configResource {
		return configResource{asked.ResourceType, asked.ResourceName}
	})
	if err != nil {
		return nil, err
	}
	if err := c.tellMuch(configsBytes(resources)); err != nil {
		return nil, err
	}
	resp := &message.DescribeConfigsResponse{Results: []message.DescribeConfigsResponseResult{}}
	for _, asked := range resources {
		entries, err := c.configsOf(configResource{asked.ResourceType, asked.ResourceName})
		message := text(err)
		if err == nil {
			message = new(string)
		}
		resp.Results = append(resp.Results, describeResult(asked, c.code(err), message, c.shown(entries, asked.ConfigurationKeys, req)))
	}
	return resp, nil
}

// configsBytes is the memory that an answer takes at the most: that of a topic with
// all of its configs, their synonyms and words takes 4 KiB, a single one 160 bytes.
func configsBytes(resources []message.DescribeConfigsResource) int {
	const all, one, none = 4 << 10, 160, 256
	bytes := 0
	for _, r := range resources {
		if r.ConfigurationKeys == nil {
			bytes += all
		} else {
			bytes += min(none+one*len(r.ConfigurationKeys), all)
		}
	}
	return bytes
}

func describeResult(asked message.DescribeConfigsResource, code kafka.Code, text *string,
	configs []message.DescribeConfigsResponseConfig) message.DescribeConfigsResponseResult {
	return message.DescribeConfigsResponseResult{
		ErrorCode: code, ErrorMessage: text, ResourceType: asked.ResourceType, ResourceName: asked.ResourceName, Configs: configs,
	}
}

// configsOf are the configs of a resource that the caller may see.
func (c *call) configsOf(r configResource) ([]metadata.Entry, error) {
	switch r.kind {
	case configTopic, configBroker, configBrokerLogger, configClientMetrics, configGroup:
	default:
		return nil, noConfigs(r.kind)
	}
	if err := c.allow(kafka.OpDescribeConfigs, r.acl()); err != nil {
		return nil, err
	}
	switch r.kind {
	case configTopic:
		return c.topicConfigs(r.name)
	case configClientMetrics, configGroup:
		return nil, nil
	}
	if err := c.h.checkBroker(r.name, r.kind == configBroker); err != nil {
		return nil, err
	}
	switch {
	case r.kind == configBrokerLogger:
		return c.h.levelEntries(), nil
	case r.name == "":
		return c.image.ClusterConfigs(), nil
	}
	return c.image.BrokerConfigs(), nil
}

func (c *call) topicConfigs(name string) ([]metadata.Entry, error) {
	if err := kafka.CheckTopicName(name); err != nil {
		return nil, err
	}
	t, ok := c.image.Topic(name)
	if !ok {
		return nil, errUnknownTopic
	}
	return c.image.TopicConfigs(t), nil
}

// shown are the entries of the keys asked for; null asks for all.
func (c *call) shown(entries []metadata.Entry, keys []string, req *message.DescribeConfigsRequest) []message.DescribeConfigsResponseConfig {
	configs := []message.DescribeConfigsResponseConfig{}
	for _, e := range entries {
		if keys == nil || slices.Contains(keys, e.Value.Name) {
			configs = append(configs, showConfig(e, req))
		}
	}
	return configs
}

func showConfig(e metadata.Entry, req *message.DescribeConfigsRequest) message.DescribeConfigsResponseConfig {
	config := message.DescribeConfigsResponseConfig{
		Name: e.Value.Name, Value: valueText(e.Value), ConfigSource: int8(e.Source), ReadOnly: !e.Alterable,
		ConfigType: int8(e.Type), Synonyms: []message.DescribeConfigsResponseSynonym{},
	}
	if req.IncludeSynonyms {
		for _, s := range e.Synonyms {
			config.Synonyms = append(config.Synonyms, message.DescribeConfigsResponseSynonym{Name: s.Name, Value: valueText(s), Source: int8(s.Source)})
		}
	}
	if req.IncludeDocumentation {
		config.Documentation = &e.Doc
	}
	return config
}

func valueText(v metadata.Value) *string {
	if v.Null {
		return nil
	}
	return &v.Text
}
