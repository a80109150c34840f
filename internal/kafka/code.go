package kafka

import "strconv"

// Code is an error code of the Kafka protocol.
type Code int16

// The codes, as numbered by Apache Kafka 4.4.
const (
	UnknownServerError                 Code = -1
	NoError                            Code = 0
	OffsetOutOfRange                   Code = 1
	CorruptMessage                     Code = 2
	UnknownTopicOrPartition            Code = 3
	InvalidFetchSize                   Code = 4
	LeaderNotAvailable                 Code = 5
	NotLeaderOrFollower                Code = 6
	RequestTimedOut                    Code = 7
	BrokerNotAvailable                 Code = 8
	ReplicaNotAvailable                Code = 9
	MessageTooLarge                    Code = 10
	StaleControllerEpoch               Code = 11
	OffsetMetadataTooLarge             Code = 12
	NetworkException                   Code = 13
	CoordinatorLoadInProgress          Code = 14
	CoordinatorNotAvailable            Code = 15
	NotCoordinator                     Code = 16
	InvalidTopic                       Code = 17
	RecordListTooLarge                 Code = 18
	NotEnoughReplicas                  Code = 19
	NotEnoughReplicasAfterAppend       Code = 20
	InvalidRequiredAcks                Code = 21
	IllegalGeneration                  Code = 22
	InconsistentGroupProtocol          Code = 23
	InvalidGroupID                     Code = 24
	UnknownMemberID                    Code = 25
	InvalidSessionTimeout              Code = 26
	RebalanceInProgress                Code = 27
	InvalidCommitOffsetSize            Code = 28
	TopicAuthorizationFailed           Code = 29
	GroupAuthorizationFailed           Code = 30
	ClusterAuthorizationFailed         Code = 31
	InvalidTimestamp                   Code = 32
	UnsupportedSASLMechanism           Code = 33
	IllegalSASLState                   Code = 34
	UnsupportedVersion                 Code = 35
	TopicAlreadyExists                 Code = 36
	InvalidPartitions                  Code = 37
	InvalidReplicationFactor           Code = 38
	InvalidReplicaAssignment           Code = 39
	InvalidConfig                      Code = 40
	NotController                      Code = 41
	InvalidRequest                     Code = 42
	UnsupportedForMessageFormat        Code = 43
	PolicyViolation                    Code = 44
	OutOfOrderSequenceNumber           Code = 45
	DuplicateSequenceNumber            Code = 46
	InvalidProducerEpoch               Code = 47
	InvalidTxnState                    Code = 48
	InvalidProducerIDMapping           Code = 49
	InvalidTransactionTimeout          Code = 50
	ConcurrentTransactions             Code = 51
	TransactionCoordinatorFenced       Code = 52
	TransactionalIDAuthorizationFailed Code = 53
	SecurityDisabled                   Code = 54
	OperationNotAttempted              Code = 55
	KafkaStorageError                  Code = 56
	LogDirNotFound                     Code = 57
	SASLAuthenticationFailed           Code = 58
	UnknownProducerID                  Code = 59
	ReassignmentInProgress             Code = 60
	DelegationTokenAuthDisabled        Code = 61
	DelegationTokenNotFound            Code = 62
	DelegationTokenOwnerMismatch       Code = 63
	DelegationTokenRequestNotAllowed   Code = 64
	DelegationTokenAuthorizationFailed Code = 65
	DelegationTokenExpired             Code = 66
	InvalidPrincipalType               Code = 67
	NonEmptyGroup                      Code = 68
	GroupIDNotFound                    Code = 69
	FetchSessionIDNotFound             Code = 70
	InvalidFetchSessionEpoch           Code = 71
	ListenerNotFound                   Code = 72
	TopicDeletionDisabled              Code = 73
	FencedLeaderEpoch                  Code = 74
	UnknownLeaderEpoch                 Code = 75
	UnsupportedCompressionType         Code = 76
	StaleBrokerEpoch                   Code = 77
	OffsetNotAvailable                 Code = 78
	MemberIDRequired                   Code = 79
	PreferredLeaderNotAvailable        Code = 80
	GroupMaxSizeReached                Code = 81
	FencedInstanceID                   Code = 82
	EligibleLeadersNotAvailable        Code = 83
	ElectionNotNeeded                  Code = 84
	NoReassignmentInProgress           Code = 85
	GroupSubscribedToTopic             Code = 86
	InvalidRecord                      Code = 87
	UnstableOffsetCommit               Code = 88
	ThrottlingQuotaExceeded            Code = 89
	ProducerFenced                     Code = 90
	ResourceNotFound                   Code = 91
	DuplicateResource                  Code = 92
	UnacceptableCredential             Code = 93
	InconsistentVoterSet               Code = 94
	InvalidUpdateVersion               Code = 95
	FeatureUpdateFailed                Code = 96
	PrincipalDeserializationFailure    Code = 97
	SnapshotNotFound                   Code = 98
	PositionOutOfRange                 Code = 99
	UnknownTopicID                     Code = 100
	DuplicateBrokerRegistration        Code = 101
	BrokerIDNotRegistered              Code = 102
	InconsistentTopicID                Code = 103
	InconsistentClusterID              Code = 104
	TransactionalIDNotFound            Code = 105
	FetchSessionTopicIDError           Code = 106
	IneligibleReplica                  Code = 107
	NewLeaderElected                   Code = 108
	OffsetMovedToTieredStorage         Code = 109
	FencedMemberEpoch                  Code = 110
	UnreleasedInstanceID               Code = 111
	UnsupportedAssignor                Code = 112
	StaleMemberEpoch                   Code = 113
	MismatchedEndpointType             Code = 114
	UnsupportedEndpointType            Code = 115
	UnknownControllerID                Code = 116
	UnknownSubscriptionID              Code = 117
	TelemetryTooLarge                  Code = 118
	InvalidRegistration                Code = 119
	TransactionAbortable               Code = 120
	InvalidRecordState                 Code = 121
	ShareSessionNotFound               Code = 122
	InvalidShareSessionEpoch           Code = 123
	FencedStateEpoch                   Code = 124
	InvalidVoterKey                    Code = 125
	DuplicateVoter                     Code = 126
	VoterNotFound                      Code = 127
	InvalidRegularExpression           Code = 128
	RebootstrapRequired                Code = 129
)

// codeWords is what a code is called in the protocol and what it says to a
// person when nothing more exact is known.
type codeWords struct{ name, text string }

var codes = map[Code]codeWords{
	UnknownServerError:                 {"UNKNOWN_SERVER_ERROR", "the broker met an error it did not expect"},
	NoError:                            {"NONE", ""},
	OffsetOutOfRange:                   {"OFFSET_OUT_OF_RANGE", "the offset is outside the range that the log holds"},
	CorruptMessage:                     {"CORRUPT_MESSAGE", "the record batch is damaged or its checksum does not match"},
	UnknownTopicOrPartition:            {"UNKNOWN_TOPIC_OR_PARTITION", "this broker has no such topic or partition"},
	InvalidFetchSize:                   {"INVALID_FETCH_SIZE", "the requested fetch size is not valid"},
	LeaderNotAvailable:                 {"LEADER_NOT_AVAILABLE", "the partition has no leader at the moment"},
	NotLeaderOrFollower:                {"NOT_LEADER_OR_FOLLOWER", "this broker does not lead the partition"},
	RequestTimedOut:                    {"REQUEST_TIMED_OUT", "the request ran out of time"},
	BrokerNotAvailable:                 {"BROKER_NOT_AVAILABLE", "the broker is not available"},
	ReplicaNotAvailable:                {"REPLICA_NOT_AVAILABLE", "the replica is not available on this broker"},
	MessageTooLarge:                    {"MESSAGE_TOO_LARGE", "the batch is larger than max.message.bytes of the topic"},
	StaleControllerEpoch:               {"STALE_CONTROLLER_EPOCH", "the controller epoch is out of date"},
	OffsetMetadataTooLarge:             {"OFFSET_METADATA_TOO_LARGE", "the metadata of the committed offset is too long"},
	NetworkException:                   {"NETWORK_EXCEPTION", "the connection ended before the answer"},
	CoordinatorLoadInProgress:          {"COORDINATOR_LOAD_IN_PROGRESS", "the coordinator is still loading"},
	CoordinatorNotAvailable:            {"COORDINATOR_NOT_AVAILABLE", "the coordinator is not available"},
	NotCoordinator:                     {"NOT_COORDINATOR", "this broker is not the coordinator"},
	InvalidTopic:                       {"INVALID_TOPIC_EXCEPTION", "the topic name is not valid, or the topic is internal"},
	RecordListTooLarge:                 {"RECORD_LIST_TOO_LARGE", "the batch is larger than a log segment"},
	NotEnoughReplicas:                  {"NOT_ENOUGH_REPLICAS", "fewer replicas are in sync than required"},
	NotEnoughReplicasAfterAppend:       {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", "the batch was written, but to fewer replicas than required"},
	InvalidRequiredAcks:                {"INVALID_REQUIRED_ACKS", "acks must be -1, 0 or 1"},
	IllegalGeneration:                  {"ILLEGAL_GENERATION", "the generation is not the current one of the group"},
	InconsistentGroupProtocol:          {"INCONSISTENT_GROUP_PROTOCOL", "the group has no protocol in common with this member"},
	InvalidGroupID:                     {"INVALID_GROUP_ID", "the group id is not valid"},
	UnknownMemberID:                    {"UNKNOWN_MEMBER_ID", "the group has no such member"},
	InvalidSessionTimeout:              {"INVALID_SESSION_TIMEOUT", "the session timeout is outside the allowed range"},
	RebalanceInProgress:                {"REBALANCE_IN_PROGRESS", "the group is rebalancing"},
	InvalidCommitOffsetSize:            {"INVALID_COMMIT_OFFSET_SIZE", "the committed offset is too large"},
	TopicAuthorizationFailed:           {"TOPIC_AUTHORIZATION_FAILED", "the principal may not do this with the topic"},
	GroupAuthorizationFailed:           {"GROUP_AUTHORIZATION_FAILED", "the principal may not do this with the group"},
	ClusterAuthorizationFailed:         {"CLUSTER_AUTHORIZATION_FAILED", "the principal may not do this with the cluster"},
	InvalidTimestamp:                   {"INVALID_TIMESTAMP", "the timestamp is outside the range that the topic allows"},
	UnsupportedSASLMechanism:           {"UNSUPPORTED_SASL_MECHANISM", "the SASL mechanism is not enabled here"},
	IllegalSASLState:                   {"ILLEGAL_SASL_STATE", "the request does not fit the state of the SASL exchange"},
	UnsupportedVersion:                 {"UNSUPPORTED_VERSION", "the broker does not serve this version of the request"},
	TopicAlreadyExists:                 {"TOPIC_ALREADY_EXISTS", "a topic of this name exists already"},
	InvalidPartitions:                  {"INVALID_PARTITIONS", "the number of partitions is not valid"},
	InvalidReplicationFactor:           {"INVALID_REPLICATION_FACTOR", "the replication factor is not valid, or larger than the number of brokers"},
	InvalidReplicaAssignment:           {"INVALID_REPLICA_ASSIGNMENT", "the replica assignment is not valid"},
	InvalidConfig:                      {"INVALID_CONFIG", "a configuration value is not valid"},
	NotController:                      {"NOT_CONTROLLER", "this broker is not the controller"},
	InvalidRequest:                     {"INVALID_REQUEST", "the request is not valid"},
	UnsupportedForMessageFormat:        {"UNSUPPORTED_FOR_MESSAGE_FORMAT", "the message format does not support this"},
	PolicyViolation:                    {"POLICY_VIOLATION", "the request breaks a policy of the broker"},
	OutOfOrderSequenceNumber:           {"OUT_OF_ORDER_SEQUENCE_NUMBER", "the sequence number of the producer is not the expected one"},
	DuplicateSequenceNumber:            {"DUPLICATE_SEQUENCE_NUMBER", "the batch was written before"},
	InvalidProducerEpoch:               {"INVALID_PRODUCER_EPOCH", "the epoch of the producer is old"},
	InvalidTxnState:                    {"INVALID_TXN_STATE", "the transaction is in a state that does not allow this"},
	InvalidProducerIDMapping:           {"INVALID_PRODUCER_ID_MAPPING", "the producer id does not belong to this transactional id"},
	InvalidTransactionTimeout:          {"INVALID_TRANSACTION_TIMEOUT", "the transaction timeout is larger than the broker allows"},
	ConcurrentTransactions:             {"CONCURRENT_TRANSACTIONS", "another transaction of this id is still ending"},
	TransactionCoordinatorFenced:       {"TRANSACTION_COORDINATOR_FENCED", "the transaction coordinator is out of date"},
	TransactionalIDAuthorizationFailed: {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "the transactional id may not be used"},
	SecurityDisabled:                   {"SECURITY_DISABLED", "no authorizer is configured"},
	OperationNotAttempted:              {"OPERATION_NOT_ATTEMPTED", "the operation was not attempted"},
	KafkaStorageError:                  {"KAFKA_STORAGE_ERROR", "the log could not be read or written"},
	LogDirNotFound:                     {"LOG_DIR_NOT_FOUND", "the broker has no such data folder"},
	SASLAuthenticationFailed:           {"SASL_AUTHENTICATION_FAILED", "authentication failed"},
	UnknownProducerID:                  {"UNKNOWN_PRODUCER_ID", "the producer id is not known"},
	ReassignmentInProgress:             {"REASSIGNMENT_IN_PROGRESS", "a reassignment of the partition is under way"},
	DelegationTokenAuthDisabled:        {"DELEGATION_TOKEN_AUTH_DISABLED", "delegation tokens are not enabled"},
	DelegationTokenNotFound:            {"DELEGATION_TOKEN_NOT_FOUND", "the delegation token was not found"},
	DelegationTokenOwnerMismatch:       {"DELEGATION_TOKEN_OWNER_MISMATCH", "the principal does not own the delegation token"},
	DelegationTokenRequestNotAllowed:   {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", "delegation tokens may not be asked for on this connection"},
	DelegationTokenAuthorizationFailed: {"DELEGATION_TOKEN_AUTHORIZATION_FAILED", "the principal may not use the delegation token"},
	DelegationTokenExpired:             {"DELEGATION_TOKEN_EXPIRED", "the delegation token has expired"},
	InvalidPrincipalType:               {"INVALID_PRINCIPAL_TYPE", "the principal type is not supported"},
	NonEmptyGroup:                      {"NON_EMPTY_GROUP", "the group is not empty"},
	GroupIDNotFound:                    {"GROUP_ID_NOT_FOUND", "there is no such group"},
	FetchSessionIDNotFound:             {"FETCH_SESSION_ID_NOT_FOUND", "there is no such fetch session"},
	InvalidFetchSessionEpoch:           {"INVALID_FETCH_SESSION_EPOCH", "the epoch of the fetch session is not the expected one"},
	ListenerNotFound:                   {"LISTENER_NOT_FOUND", "the leader has no listener of this name"},
	TopicDeletionDisabled:              {"TOPIC_DELETION_DISABLED", "deleting topics is not enabled (delete.topic.enable)"},
	FencedLeaderEpoch:                  {"FENCED_LEADER_EPOCH", "the leader epoch is older than that of the broker"},
	UnknownLeaderEpoch:                 {"UNKNOWN_LEADER_EPOCH", "the leader epoch is newer than that of the broker"},
	UnsupportedCompressionType:         {"UNSUPPORTED_COMPRESSION_TYPE", "this version of the request does not allow the compression type"},
	StaleBrokerEpoch:                   {"STALE_BROKER_EPOCH", "the broker epoch is out of date"},
	OffsetNotAvailable:                 {"OFFSET_NOT_AVAILABLE", "the offset is not available yet"},
	MemberIDRequired:                   {"MEMBER_ID_REQUIRED", "the member must join again with the id it was given"},
	PreferredLeaderNotAvailable:        {"PREFERRED_LEADER_NOT_AVAILABLE", "the preferred leader is not available"},
	GroupMaxSizeReached:                {"GROUP_MAX_SIZE_REACHED", "the group is full"},
	FencedInstanceID:                   {"FENCED_INSTANCE_ID", "another member took over this group instance id"},
	EligibleLeadersNotAvailable:        {"ELIGIBLE_LEADERS_NOT_AVAILABLE", "no eligible leader is available"},
	ElectionNotNeeded:                  {"ELECTION_NOT_NEEDED", "the partition has its preferred leader already"},
	NoReassignmentInProgress:           {"NO_REASSIGNMENT_IN_PROGRESS", "no reassignment is under way"},
	GroupSubscribedToTopic:             {"GROUP_SUBSCRIBED_TO_TOPIC", "the group is subscribed to the topic"},
	InvalidRecord:                      {"INVALID_RECORD", "the record or batch is not valid"},
	UnstableOffsetCommit:               {"UNSTABLE_OFFSET_COMMIT", "there are offsets of open transactions"},
	ThrottlingQuotaExceeded:            {"THROTTLING_QUOTA_EXCEEDED", "the quota is exhausted: try again later"},
	ProducerFenced:                     {"PRODUCER_FENCED", "a newer producer of the same transactional id exists"},
	ResourceNotFound:                   {"RESOURCE_NOT_FOUND", "the resource was not found"},
	DuplicateResource:                  {"DUPLICATE_RESOURCE", "the resource is named more than once"},
	UnacceptableCredential:             {"UNACCEPTABLE_CREDENTIAL", "the credential does not meet the requirements"},
	InconsistentVoterSet:               {"INCONSISTENT_VOTER_SET", "the voter sets differ"},
	InvalidUpdateVersion:               {"INVALID_UPDATE_VERSION", "the update version is not valid"},
	FeatureUpdateFailed:                {"FEATURE_UPDATE_FAILED", "the feature could not be updated"},
	PrincipalDeserializationFailure:    {"PRINCIPAL_DESERIALIZATION_FAILURE", "the forwarded principal could not be read"},
	SnapshotNotFound:                   {"SNAPSHOT_NOT_FOUND", "the snapshot was not found"},
	PositionOutOfRange:                 {"POSITION_OUT_OF_RANGE", "the position is outside the snapshot"},
	UnknownTopicID:                     {"UNKNOWN_TOPIC_ID", "this broker has no topic of this id"},
	DuplicateBrokerRegistration:        {"DUPLICATE_BROKER_REGISTRATION", "the broker id is in use"},
	BrokerIDNotRegistered:              {"BROKER_ID_NOT_REGISTERED", "the broker id is not registered"},
	InconsistentTopicID:                {"INCONSISTENT_TOPIC_ID", "the topic id is not that of the log"},
	InconsistentClusterID:              {"INCONSISTENT_CLUSTER_ID", "the cluster id is not that of this cluster"},
	TransactionalIDNotFound:            {"TRANSACTIONAL_ID_NOT_FOUND", "the transactional id was not found"},
	FetchSessionTopicIDError:           {"FETCH_SESSION_TOPIC_ID_ERROR", "the fetch session changed between topic names and topic ids"},
	IneligibleReplica:                  {"INELIGIBLE_REPLICA", "the replica may not join the in-sync replicas"},
	NewLeaderElected:                   {"NEW_LEADER_ELECTED", "a new leader was elected"},
	OffsetMovedToTieredStorage:         {"OFFSET_MOVED_TO_TIERED_STORAGE", "the offset was moved to tiered storage"},
	FencedMemberEpoch:                  {"FENCED_MEMBER_EPOCH", "the member epoch was fenced"},
	UnreleasedInstanceID:               {"UNRELEASED_INSTANCE_ID", "the group instance id is in use"},
	UnsupportedAssignor:                {"UNSUPPORTED_ASSIGNOR", "the assignor is not supported"},
	StaleMemberEpoch:                   {"STALE_MEMBER_EPOCH", "the member epoch is out of date"},
	MismatchedEndpointType:             {"MISMATCHED_ENDPOINT_TYPE", "the request was sent to an endpoint of the wrong type"},
	UnsupportedEndpointType:            {"UNSUPPORTED_ENDPOINT_TYPE", "the endpoint type is not supported"},
	UnknownControllerID:                {"UNKNOWN_CONTROLLER_ID", "the controller id is not known"},
	UnknownSubscriptionID:              {"UNKNOWN_SUBSCRIPTION_ID", "the subscription id is not known"},
	TelemetryTooLarge:                  {"TELEMETRY_TOO_LARGE", "the telemetry is too large"},
	InvalidRegistration:                {"INVALID_REGISTRATION", "the registration is not valid"},
	TransactionAbortable:               {"TRANSACTION_ABORTABLE", "the transaction must be aborted"},
	InvalidRecordState:                 {"INVALID_RECORD_STATE", "the record is in a state that does not allow this"},
	ShareSessionNotFound:               {"SHARE_SESSION_NOT_FOUND", "there is no such share session"},
	InvalidShareSessionEpoch:           {"INVALID_SHARE_SESSION_EPOCH", "the epoch of the share session is not the expected one"},
	FencedStateEpoch:                   {"FENCED_STATE_EPOCH", "the state epoch was fenced"},
	InvalidVoterKey:                    {"INVALID_VOTER_KEY", "the voter key is not that of the receiver"},
	DuplicateVoter:                     {"DUPLICATE_VOTER", "the voter is in the set already"},
	VoterNotFound:                      {"VOTER_NOT_FOUND", "the voter is not in the set"},
	InvalidRegularExpression:           {"INVALID_REGULAR_EXPRESSION", "the regular expression is not valid"},
	RebootstrapRequired:                {"REBOOTSTRAP_REQUIRED", "the client reached another cluster and must bootstrap again"},
}

// String is the protocol's name of the code, or its number when it has none.
func (c Code) String() string {
	if w, ok := codes[c]; ok {
		return w.name
	}
	return "error " + strconv.Itoa(int(c))
}

// Text says what the code means, in a few plain words; empty for NoError.
func (c Code) Text() string { return codes[c].text }
