package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// UpdateFeatures (key 57, KIP-584): v0-2, always flexible. There are no features
// to turn on or off: what this broker can do is always on. Naming one is
// INVALID_UPDATE_VERSION for the request as a whole, in every version, as Kafka
// answers for features that it does not have.
func (h *Handlers) updateFeatures(c *call, req *message.UpdateFeaturesRequest) (*message.UpdateFeaturesResponse, error) {
	err := c.allow(kafka.OpAlter, kafka.Cluster)
	if err == nil && len(req.FeatureUpdates) > 0 {
		asked := req.FeatureUpdates[0]
		err = kafka.Errorf(kafka.InvalidUpdateVersion, "feature %q cannot have level %d: this broker has no features to update", asked.Feature, asked.MaxVersionLevel)
	}
	return &message.UpdateFeaturesResponse{ErrorCode: c.code(err), ErrorMessage: text(err)}, nil
}
