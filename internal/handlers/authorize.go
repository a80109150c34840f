package handlers

import "kaasd/internal/kafka"

// grantable are the operations that a resource of a type can be used for, as
// Kafka lists them.
var grantable = map[kafka.ResourceType][]kafka.Operation{
	kafka.ResourceCluster: {kafka.OpCreate, kafka.OpAlter, kafka.OpDescribe, kafka.OpClusterAction, kafka.OpDescribeConfigs,
		kafka.OpAlterConfigs, kafka.OpIdempotentWrite},
	kafka.ResourceTopic: {kafka.OpRead, kafka.OpWrite, kafka.OpCreate, kafka.OpDelete, kafka.OpAlter, kafka.OpDescribe,
		kafka.OpDescribeConfigs, kafka.OpAlterConfigs},
	kafka.ResourceGroup: {kafka.OpRead, kafka.OpDelete, kafka.OpDescribe, kafka.OpDescribeConfigs, kafka.OpAlterConfigs},
}

// clusterOperations are those on the cluster, shown to who may describe it.
func (c *call) clusterOperations() int32 {
	if !c.may(kafka.OpDescribe, kafka.Cluster) {
		return 0
	}
	return c.operations(kafka.Cluster)
}

// operations are those that the session's principal may use on a resource: one
// bit for each, by its number (KIP-430).
func (c *call) operations(r kafka.Resource) int32 {
	var bits int32
	for _, op := range grantable[r.Type] {
		if c.may(op, r) {
			bits |= 1 << op
		}
	}
	return bits
}
