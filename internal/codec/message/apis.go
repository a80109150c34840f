package message

import (
	"math"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// API is one kind of request with its response, over the versions that kaasd
// can decode.
type API struct {
	Key         kafka.APIKey
	Name        string
	Min, Max    int16
	Flexible    int16 // first flexible version (KIP-482), or Never
	NewRequest  func() codec.Message
	NewResponse func() codec.Message
}

// Never is the first flexible version of an API that has none.
const Never = math.MaxInt16

// IsFlexible says whether the bodies and the request header of a version are
// flexible.
func (a API) IsFlexible(version int16) bool { return version >= a.Flexible }

// FlexibleResponseHeader says whether the response header of a version has a
// tag section. That of ApiVersions never has, so that a client can read an
// answer in a version it did not ask for (KIP-511).
func (a API) FlexibleResponseHeader(version int16) bool {
	return a.IsFlexible(version) && a.Key != kafka.KeyApiVersions
}

func api[Req, Resp any, P codec.Walker[Req], Q codec.Walker[Resp]](key kafka.APIKey, lowest, highest, flexible int16) API {
	return API{
		Key: key, Name: key.String(), Min: lowest, Max: highest, Flexible: flexible,
		NewRequest:  func() codec.Message { return P(new(Req)) },
		NewResponse: func() codec.Message { return Q(new(Resp)) },
	}
}

// apis is in key order.
var apis = []API{
	api[ProduceRequest, ProduceResponse](kafka.KeyProduce, 3, 13, 9),
	api[FetchRequest, FetchResponse](kafka.KeyFetch, 4, 18, 12),
	api[ListOffsetsRequest, ListOffsetsResponse](kafka.KeyListOffsets, 1, 11, 6),
	api[MetadataRequest, MetadataResponse](kafka.KeyMetadata, 0, 13, 9),
	api[OffsetCommitRequest, OffsetCommitResponse](kafka.KeyOffsetCommit, 2, 10, 8),
	api[OffsetFetchRequest, OffsetFetchResponse](kafka.KeyOffsetFetch, 1, 10, 6),
	api[FindCoordinatorRequest, FindCoordinatorResponse](kafka.KeyFindCoordinator, 0, 6, 3),
	api[JoinGroupRequest, JoinGroupResponse](kafka.KeyJoinGroup, 0, 9, 6),
	api[HeartbeatRequest, HeartbeatResponse](kafka.KeyHeartbeat, 0, 4, 4),
	api[LeaveGroupRequest, LeaveGroupResponse](kafka.KeyLeaveGroup, 0, 5, 4),
	api[SyncGroupRequest, SyncGroupResponse](kafka.KeySyncGroup, 0, 5, 4),
	api[DescribeGroupsRequest, DescribeGroupsResponse](kafka.KeyDescribeGroups, 0, 6, 5),
	api[ListGroupsRequest, ListGroupsResponse](kafka.KeyListGroups, 0, 5, 3),
	api[SaslHandshakeRequest, SaslHandshakeResponse](kafka.KeySASLHandshake, 0, 1, Never),
	api[ApiVersionsRequest, ApiVersionsResponse](kafka.KeyApiVersions, 0, 4, 3),
	api[CreateTopicsRequest, CreateTopicsResponse](kafka.KeyCreateTopics, 2, 7, 5),
	api[DeleteTopicsRequest, DeleteTopicsResponse](kafka.KeyDeleteTopics, 1, 6, 4),
	api[DeleteRecordsRequest, DeleteRecordsResponse](kafka.KeyDeleteRecords, 0, 2, 2),
	api[InitProducerIdRequest, InitProducerIdResponse](kafka.KeyInitProducerID, 0, 5, 2),
	api[OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse](kafka.KeyOffsetForLeaderEpoch, 2, 4, 4),
	api[DescribeAclsRequest, DescribeAclsResponse](kafka.KeyDescribeAcls, 1, 3, 2),
	api[CreateAclsRequest, CreateAclsResponse](kafka.KeyCreateAcls, 1, 3, 2),
	api[DeleteAclsRequest, DeleteAclsResponse](kafka.KeyDeleteAcls, 1, 3, 2),
	api[DescribeConfigsRequest, DescribeConfigsResponse](kafka.KeyDescribeConfigs, 1, 4, 4),
	api[AlterConfigsRequest, AlterConfigsResponse](kafka.KeyAlterConfigs, 0, 2, 2),
	api[AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse](kafka.KeyAlterReplicaLogDirs, 1, 2, 2),
	api[DescribeLogDirsRequest, DescribeLogDirsResponse](kafka.KeyDescribeLogDirs, 1, 5, 2),
	api[SaslAuthenticateRequest, SaslAuthenticateResponse](kafka.KeySASLAuthenticate, 0, 2, 2),
	api[CreatePartitionsRequest, CreatePartitionsResponse](kafka.KeyCreatePartitions, 0, 3, 2),
	api[DeleteGroupsRequest, DeleteGroupsResponse](kafka.KeyDeleteGroups, 0, 3, 2),
	api[ElectLeadersRequest, ElectLeadersResponse](kafka.KeyElectLeaders, 0, 2, 2),
	api[IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse](kafka.KeyIncrementalAlterConfigs, 0, 1, 1),
	api[AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse](kafka.KeyAlterPartitionReassignments, 0, 1, 0),
	api[ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse](kafka.KeyListPartitionReassignments, 0, 0, 0),
	api[OffsetDeleteRequest, OffsetDeleteResponse](kafka.KeyOffsetDelete, 0, 0, Never),
	api[DescribeClientQuotasRequest, DescribeClientQuotasResponse](kafka.KeyDescribeClientQuotas, 0, 1, 1),
	api[AlterClientQuotasRequest, AlterClientQuotasResponse](kafka.KeyAlterClientQuotas, 0, 1, 1),
	api[DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse](kafka.KeyDescribeUserScramCredentials, 0, 0, 0),
	api[AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse](kafka.KeyAlterUserScramCredentials, 0, 0, 0),
	api[DescribeQuorumRequest, DescribeQuorumResponse](kafka.KeyDescribeQuorum, 0, 2, 0),
	api[UpdateFeaturesRequest, UpdateFeaturesResponse](kafka.KeyUpdateFeatures, 0, 2, 0),
	api[DescribeClusterRequest, DescribeClusterResponse](kafka.KeyDescribeCluster, 0, 2, 0),
	api[DescribeProducersRequest, DescribeProducersResponse](kafka.KeyDescribeProducers, 0, 0, 0),
	api[ListConfigResourcesRequest, ListConfigResourcesResponse](kafka.KeyListConfigResources, 0, 1, 0),
	api[DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse](kafka.KeyDescribeTopicPartitions, 0, 0, 0),
}

// APIs lists every API in key order. The slice must not be changed.
func APIs() []API { return apis }

// Lookup finds an API by its key.
func Lookup(k kafka.APIKey) (API, bool) {
	for _, a := range apis {
		if a.Key == k {
			return a, true
		}
	}
	return API{}, false
}
