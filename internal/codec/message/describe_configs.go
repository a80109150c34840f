package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeConfigsRequest asks for configs of topics and brokers (key 32, KIP-133).
type DescribeConfigsRequest struct {
	Resources            []DescribeConfigsResource
	IncludeSynonyms      bool
	IncludeDocumentation bool
}

// Fields is the wire order.
func (m *DescribeConfigsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Resources", "DescribeConfigsResource", &m.Resources, "whose configs to tell")
	c.Bool("IncludeSynonyms", &m.IncludeSynonyms, "tell where else the value could come from")
	if c.Version >= 3 {
		c.Bool("IncludeDocumentation", &m.IncludeDocumentation, "tell what each config is for")
	}
}

// DescribeConfigsResource is one topic or broker.
type DescribeConfigsResource struct {
	ResourceType      int8
	ResourceName      string
	ConfigurationKeys []string
}

// Fields is the wire order.
func (m *DescribeConfigsResource) Fields(c *codec.Cursor) {
	c.Int8("ResourceType", &m.ResourceType, "2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group")
	c.String("ResourceName", &m.ResourceName, "name of the resource")
	c.NullStrings("ConfigurationKeys", 0, &m.ConfigurationKeys, "configs asked for; null: all")
}

// DescribeConfigsResponse tells configs.
type DescribeConfigsResponse struct {
	ThrottleTimeMs int32
	Results        []DescribeConfigsResponseResult
}

// Fields is the wire order.
func (m *DescribeConfigsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Results", "DescribeConfigsResult", &m.Results, "one answer per resource")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeConfigsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeConfigsResponseResult answers for one resource.
type DescribeConfigsResponseResult struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
	ResourceType int8
	ResourceName string
	Configs      []DescribeConfigsResponseConfig
}

// Fields is the wire order.
func (m *DescribeConfigsResponseResult) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this resource")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	c.Int8("ResourceType", &m.ResourceType, "type of the resource")
	c.String("ResourceName", &m.ResourceName, "name of the resource")
	codec.Array(c, "Configs", "DescribeConfigsResourceResult", &m.Configs, "its configs")
}

// DescribeConfigsResponseConfig is one config.
type DescribeConfigsResponseConfig struct {
	Name          string
	Value         *string
	ReadOnly      bool
	ConfigSource  int8
	IsSensitive   bool
	Synonyms      []DescribeConfigsResponseSynonym
	ConfigType    int8
	Documentation *string
}

// Fields is the wire order.
func (m *DescribeConfigsResponseConfig) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the config")
	c.NullString("Value", 0, &m.Value, "its value; null: none, or secret")
	c.Bool("ReadOnly", &m.ReadOnly, "it cannot be changed")
	c.Int8("ConfigSource", &m.ConfigSource, "where the value comes from: 1 topic, 2 broker, 3 broker default, 4 static, 5 default")
	c.Bool("IsSensitive", &m.IsSensitive, "the value is secret and not told")
	codec.Array(c, "Synonyms", "DescribeConfigsSynonym", &m.Synonyms, "where the value could come from, the one in force first")
	if c.Version >= 3 {
		c.Int8("ConfigType", &m.ConfigType, "1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password")
		c.NullString("Documentation", 0, &m.Documentation, "what the config is for")
	}
}

// DescribeConfigsResponseSynonym is one place a value comes from.
type DescribeConfigsResponseSynonym struct {
	Name   string
	Value  *string
	Source int8
}

// Fields is the wire order.
func (m *DescribeConfigsResponseSynonym) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the config there")
	c.NullString("Value", 0, &m.Value, "its value there; null: secret")
	c.Int8("Source", &m.Source, "which place, as ConfigSource")
}
