package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// DescribeClientQuotas (key 48, KIP-546): v0-1, flexible from v1. Right is
// asked for before the filter is looked at; a refusal has no message and, as
// every error here, null entries.
//
// Differs from Kafka: entries and values are sorted.
func (h *Handlers) describeClientQuotas(c *call, req *message.DescribeClientQuotasRequest) (*message.DescribeClientQuotasResponse, error) {
	if err := c.allow(kafka.OpDescribeConfigs, kafka.Cluster); err != nil {
		return &message.DescribeClientQuotasResponse{ErrorCode: c.code(err)}, nil
	}
	filter := quota.Filter{Strict: req.Strict}
	for _, asked := range req.Components {
		filter.Components = append(filter.Components, quota.FilterComponent{Type: asked.EntityType, Match: asked.MatchType, Name: asked.Match})
	}
	entries, err := h.Quotas.Describe(filter)
	if err != nil {
		return &message.DescribeClientQuotasResponse{ErrorCode: c.code(err), ErrorMessage: text(err)}, nil
	}
	resp := &message.DescribeClientQuotasResponse{ErrorMessage: new(string), Entries: []message.DescribeClientQuotasResponseEntry{}}
	for _, e := range entries {
		resp.Entries = append(resp.Entries, describedQuota(e))
	}
	return resp, nil
}

func describedQuota(e quota.Entry) message.DescribeClientQuotasResponseEntry {
	var out message.DescribeClientQuotasResponseEntry
	for _, part := range e.Components {
		out.Entity = append(out.Entity, message.DescribeClientQuotasResponseEntity{EntityType: part.Type, EntityName: part.Name})
	}
	for _, v := range e.Values {
		out.Values = append(out.Values, message.DescribeClientQuotasResponseValue{Key: v.Key, Value: v.Value})
	}
	return out
}
