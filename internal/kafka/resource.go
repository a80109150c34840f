package kafka

import "strconv"

// ResourceType is a kind of thing that access is granted to, by its number
// in the protocol (KIP-11, KIP-290).
type ResourceType int8

// The resource types. Zero is unknown, one stands for any in a filter.
const (
	ResourceUnknown         ResourceType = 0
	ResourceAny             ResourceType = 1
	ResourceTopic           ResourceType = 2
	ResourceGroup           ResourceType = 3
	ResourceCluster         ResourceType = 4
	ResourceTransactionalID ResourceType = 5
	ResourceDelegationToken ResourceType = 6
	ResourceUser            ResourceType = 7
)

var resourceTypeNames = []string{"UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"}

// String is Kafka's name of the type, or its number.
func (t ResourceType) String() string { return nameOf(resourceTypeNames, int(t)) }

// Operation is something done to a resource, by its number in the protocol.
type Operation int8

// The operations. Zero is unknown, one stands for any in a filter.
const (
	OpUnknown         Operation = 0
	OpAny             Operation = 1
	OpAll             Operation = 2
	OpRead            Operation = 3
	OpWrite           Operation = 4
	OpCreate          Operation = 5
	OpDelete          Operation = 6
	OpAlter           Operation = 7
	OpDescribe        Operation = 8
	OpClusterAction   Operation = 9
	OpDescribeConfigs Operation = 10
	OpAlterConfigs    Operation = 11
	OpIdempotentWrite Operation = 12
	OpCreateTokens    Operation = 13
	OpDescribeTokens  Operation = 14
	OpTwoPhaseCommit  Operation = 15
)

var operationNames = []string{"UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
	"DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"}

// String is Kafka's name of the operation, or its number.
func (o Operation) String() string { return nameOf(operationNames, int(o)) }

// Resource is one thing that access is granted to.
type Resource struct {
	Type ResourceType
	Name string // byte for byte
}

// Cluster is the resource that stands for the cluster as a whole, under the
// name Kafka gives it.
var Cluster = Resource{Type: ResourceCluster, Name: "kafka-cluster"}

// TopicResource is the resource of a topic.
func TopicResource(name string) Resource { return Resource{Type: ResourceTopic, Name: name} }

// GroupResource is the resource of a consumer group.
func GroupResource(name string) Resource { return Resource{Type: ResourceGroup, Name: name} }

// String is Kafka's notation, such as TOPIC:orders.
func (r Resource) String() string { return r.Type.String() + ":" + r.Name }

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return strconv.Itoa(i)
	}
	return names[i]
}
