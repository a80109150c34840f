package kafka

import "strconv"

// APIKey is the number that names an API in a request header.
type APIKey int16

// The APIs that kaasd serves or means to serve.
const (
	KeyProduce                      APIKey = 0
	KeyFetch                        APIKey = 1
	KeyListOffsets                  APIKey = 2
	KeyMetadata                     APIKey = 3
	KeyOffsetCommit                 APIKey = 8
	KeyOffsetFetch                  APIKey = 9
	KeyFindCoordinator              APIKey = 10
	KeyJoinGroup                    APIKey = 11
	KeyHeartbeat                    APIKey = 12
	KeyLeaveGroup                   APIKey = 13
	KeySyncGroup                    APIKey = 14
	KeyDescribeGroups               APIKey = 15
	KeyListGroups                   APIKey = 16
	KeySASLHandshake                APIKey = 17
	KeyApiVersions                  APIKey = 18
	KeyCreateTopics                 APIKey = 19
	KeyDeleteTopics                 APIKey = 20
	KeyDeleteRecords                APIKey = 21
	KeyInitProducerID               APIKey = 22
	KeyOffsetForLeaderEpoch         APIKey = 23
	KeyAddPartitionsToTxn           APIKey = 24
	KeyAddOffsetsToTxn              APIKey = 25
	KeyEndTxn                       APIKey = 26
	KeyWriteTxnMarkers              APIKey = 27
	KeyTxnOffsetCommit              APIKey = 28
	KeyDescribeAcls                 APIKey = 29
	KeyCreateAcls                   APIKey = 30
	KeyDeleteAcls                   APIKey = 31
	KeyDescribeConfigs              APIKey = 32
	KeyAlterConfigs                 APIKey = 33
	KeyAlterReplicaLogDirs          APIKey = 34
	KeyDescribeLogDirs              APIKey = 35
	KeySASLAuthenticate             APIKey = 36
	KeyCreatePartitions             APIKey = 37
	KeyDeleteGroups                 APIKey = 42
	KeyElectLeaders                 APIKey = 43
	KeyIncrementalAlterConfigs      APIKey = 44
	KeyAlterPartitionReassignments  APIKey = 45
	KeyListPartitionReassignments   APIKey = 46
	KeyOffsetDelete                 APIKey = 47
	KeyDescribeClientQuotas         APIKey = 48
	KeyAlterClientQuotas            APIKey = 49
	KeyDescribeUserScramCredentials APIKey = 50
	KeyAlterUserScramCredentials    APIKey = 51
	KeyDescribeQuorum               APIKey = 55
	KeyUpdateFeatures               APIKey = 57
	KeyDescribeCluster              APIKey = 60
	KeyDescribeProducers            APIKey = 61
	KeyDescribeTransactions         APIKey = 65
	KeyListTransactions             APIKey = 66
	KeyConsumerGroupHeartbeat       APIKey = 68
	KeyConsumerGroupDescribe        APIKey = 69
	KeyListConfigResources          APIKey = 74
	KeyDescribeTopicPartitions      APIKey = 75
)

var apiNames = map[APIKey]string{
	KeyProduce:                      "Produce",
	KeyFetch:                        "Fetch",
	KeyListOffsets:                  "ListOffsets",
	KeyMetadata:                     "Metadata",
	KeyOffsetCommit:                 "OffsetCommit",
	KeyOffsetFetch:                  "OffsetFetch",
	KeyFindCoordinator:              "FindCoordinator",
	KeyJoinGroup:                    "JoinGroup",
	KeyHeartbeat:                    "Heartbeat",
	KeyLeaveGroup:                   "LeaveGroup",
	KeySyncGroup:                    "SyncGroup",
	KeyDescribeGroups:               "DescribeGroups",
	KeyListGroups:                   "ListGroups",
	KeySASLHandshake:                "SaslHandshake",
	KeyApiVersions:                  "ApiVersions",
	KeyCreateTopics:                 "CreateTopics",
	KeyDeleteTopics:                 "DeleteTopics",
	KeyDeleteRecords:                "DeleteRecords",
	KeyInitProducerID:               "InitProducerId",
	KeyOffsetForLeaderEpoch:         "OffsetForLeaderEpoch",
	KeyAddPartitionsToTxn:           "AddPartitionsToTxn",
	KeyAddOffsetsToTxn:              "AddOffsetsToTxn",
	KeyEndTxn:                       "EndTxn",
	KeyWriteTxnMarkers:              "WriteTxnMarkers",
	KeyTxnOffsetCommit:              "TxnOffsetCommit",
	KeyDescribeAcls:                 "DescribeAcls",
	KeyCreateAcls:                   "CreateAcls",
	KeyDeleteAcls:                   "DeleteAcls",
	KeyDescribeConfigs:              "DescribeConfigs",
	KeyAlterConfigs:                 "AlterConfigs",
	KeyAlterReplicaLogDirs:          "AlterReplicaLogDirs",
	KeyDescribeLogDirs:              "DescribeLogDirs",
	KeySASLAuthenticate:             "SaslAuthenticate",
	KeyCreatePartitions:             "CreatePartitions",
	KeyDeleteGroups:                 "DeleteGroups",
	KeyElectLeaders:                 "ElectLeaders",
	KeyIncrementalAlterConfigs:      "IncrementalAlterConfigs",
	KeyAlterPartitionReassignments:  "AlterPartitionReassignments",
	KeyListPartitionReassignments:   "ListPartitionReassignments",
	KeyOffsetDelete:                 "OffsetDelete",
	KeyDescribeClientQuotas:         "DescribeClientQuotas",
	KeyAlterClientQuotas:            "AlterClientQuotas",
	KeyDescribeUserScramCredentials: "DescribeUserScramCredentials",
	KeyAlterUserScramCredentials:    "AlterUserScramCredentials",
	KeyDescribeQuorum:               "DescribeQuorum",
	KeyUpdateFeatures:               "UpdateFeatures",
	KeyDescribeCluster:              "DescribeCluster",
	KeyDescribeProducers:            "DescribeProducers",
	KeyDescribeTransactions:         "DescribeTransactions",
	KeyListTransactions:             "ListTransactions",
	KeyConsumerGroupHeartbeat:       "ConsumerGroupHeartbeat",
	KeyConsumerGroupDescribe:        "ConsumerGroupDescribe",
	KeyListConfigResources:          "ListConfigResources",
	KeyDescribeTopicPartitions:      "DescribeTopicPartitions",
}

// String is the API's name in Kafka's message definitions, or its number.
func (k APIKey) String() string {
	if name, ok := apiNames[k]; ok {
		return name
	}
	return strconv.Itoa(int(k))
}
