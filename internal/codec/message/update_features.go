package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// UpdateFeaturesRequest turns features of the cluster on or off (key 57, KIP-584).
type UpdateFeaturesRequest struct {
	TimeoutMs      int32
	FeatureUpdates []UpdateFeaturesFeature
	ValidateOnly   bool
}

// Fields is the wire order.
func (m *UpdateFeaturesRequest) Fields(c *codec.Cursor) {
	c.Int32("timeoutMs", &m.TimeoutMs, "how long to wait for the answer, in ms")
	codec.Array(c, "FeatureUpdates", "FeatureUpdateKey", &m.FeatureUpdates, "features to change")
	if c.Version >= 1 {
		c.Bool("ValidateOnly", &m.ValidateOnly, "check everything, change nothing")
	}
}

// UpdateFeaturesFeature is one feature to change.
type UpdateFeaturesFeature struct {
	Feature         string
	MaxVersionLevel int16
	AllowDowngrade  bool
	UpgradeType     int8
}

// Fields is the wire order.
func (m *UpdateFeaturesFeature) Fields(c *codec.Cursor) {
	c.String("Feature", &m.Feature, "name of the feature")
	c.Int16("MaxVersionLevel", &m.MaxVersionLevel, "level it shall have; 0: off")
	if c.Version == 0 {
		c.Bool("AllowDowngrade", &m.AllowDowngrade, "the level may fall")
	}
	if c.Version >= 1 {
		c.Int8("UpgradeType", &m.UpgradeType, "1: the level may rise; 2: it may fall; 3: even if something is lost")
	} else {
		codec.Default(c, &m.UpgradeType, 1)
	}
}

// UpdateFeaturesResponse tells what became of it.
type UpdateFeaturesResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	Results        []UpdateFeaturesResponseResult
}

// Fields is the wire order.
func (m *UpdateFeaturesResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	if c.Version <= 1 {
		codec.Array(c, "Results", "UpdatableFeatureResult", &m.Results, "answers by feature")
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *UpdateFeaturesResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// UpdateFeaturesResponseResult answers for one feature.
type UpdateFeaturesResponseResult struct {
	Feature      string
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *UpdateFeaturesResponseResult) Fields(c *codec.Cursor) {
	c.String("Feature", &m.Feature, "name of the feature")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this feature")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
}
