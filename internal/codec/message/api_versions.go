package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ApiVersionsRequest asks what a broker speaks (key 18, KIP-35).
type ApiVersionsRequest struct {
	ClientSoftwareName    string
	ClientSoftwareVersion string
}

// Fields is the wire order.
func (m *ApiVersionsRequest) Fields(c *codec.Cursor) {
	if c.Version >= 3 {
		c.String("ClientSoftwareName", &m.ClientSoftwareName, "name of the client's software")
		c.String("ClientSoftwareVersion", &m.ClientSoftwareVersion, "version of the client's software")
	}
}

// ApiVersionsResponse lists every API with its versions.
type ApiVersionsResponse struct {
	ErrorCode              kafka.Code
	ApiKeys                []ApiVersionsResponseKey
	ThrottleTimeMs         int32
	SupportedFeatures      []ApiVersionsResponseSupportedFeature
	FinalizedFeaturesEpoch *int64
	FinalizedFeatures      []ApiVersionsResponseFinalizedFeature
	ZkMigrationReady       bool
}

// Fields is the wire order.
func (m *ApiVersionsResponse) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	codec.Array(c, "ApiKeys", "ApiVersion", &m.ApiKeys, "the APIs the broker serves, by key")
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	if c.Tag(0, len(m.SupportedFeatures) > 0) {
		codec.Array(c, "SupportedFeatures", "SupportedFeatureKey", &m.SupportedFeatures, "features the broker could use (KIP-584)")
		c.EndTag()
	}
	if c.Tag(1, m.FinalizedFeaturesEpoch != nil) {
		c.Int64("FinalizedFeaturesEpoch", codec.Make(c, &m.FinalizedFeaturesEpoch), "epoch of the finalized features; absent: unknown")
		c.EndTag()
	}
	if c.Tag(2, len(m.FinalizedFeatures) > 0) {
		codec.Array(c, "FinalizedFeatures", "FinalizedFeatureKey", &m.FinalizedFeatures, "features the cluster uses")
		c.EndTag()
	}
	if c.Tag(3, m.ZkMigrationReady) {
		c.Bool("ZkMigrationReady", &m.ZkMigrationReady, "a migration from ZooKeeper could begin")
		c.EndTag()
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ApiVersionsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ApiVersionsResponseKey is one API.
type ApiVersionsResponseKey struct {
	ApiKey     kafka.APIKey
	MinVersion int16
	MaxVersion int16
}

// Fields is the wire order.
func (m *ApiVersionsResponseKey) Fields(c *codec.Cursor) {
	c.Int16("ApiKey", (*int16)(&m.ApiKey), "number of the API")
	c.Int16("MinVersion", &m.MinVersion, "lowest version served")
	c.Int16("MaxVersion", &m.MaxVersion, "highest version served")
}

// ApiVersionsResponseSupportedFeature is a feature that could be turned on.
type ApiVersionsResponseSupportedFeature struct {
	Name       string
	MinVersion int16
	MaxVersion int16
}

// Fields is the wire order.
func (m *ApiVersionsResponseSupportedFeature) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the feature")
	c.Int16("MinVersion", &m.MinVersion, "lowest level supported")
	c.Int16("MaxVersion", &m.MaxVersion, "highest level supported")
}

// ApiVersionsResponseFinalizedFeature is a feature that is turned on.
type ApiVersionsResponseFinalizedFeature struct {
	Name            string
	MaxVersionLevel int16
	MinVersionLevel int16
}

// Fields is the wire order.
func (m *ApiVersionsResponseFinalizedFeature) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the feature")
	c.Int16("MaxVersionLevel", &m.MaxVersionLevel, "highest level in use")
	c.Int16("MinVersionLevel", &m.MinVersionLevel, "lowest level in use")
}
