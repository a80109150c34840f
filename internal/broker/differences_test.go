package broker_test

// differencesOfKafka are the steps in which the kafka model answers other than
// Apache Kafka, on purpose; docs/kafka-differences.md says why at length.
var differencesOfKafka = []difference{
	{"acl-scram-describe-denied", []int{1, 2, 3}, "a refusal as a whole names no users, not even empty ones"},
	{"alter-component-order", []int{5}, "an entity that is named twice has none of its entries applied"},
	{"alter-duplicate-entity", []int{1}, "an entity that is named twice has none of its entries applied"},
	{"alter-names-not-utf8", []int{0, 1}, "names are kept byte for byte"},
	{"alter-values-connection-tiny", []int{0, 1}, "a rate of whole numbers that rounds to zero would shut the address out"},
	{"configs-broker", []int{0, 1, 2, 3, 4, 6}, "properties of followers and thread pools are not here"},
	{"configs-broker-faults", []int{1, 2, 4}, "a broker property that is not known is refused, not stored"},
	{"configs-describe-faults", []int{10}, "what is named twice in a request is answered once"},
	{"configs-topic-describe-all", []int{2}, "only what is honoured is listed"},
	{"configs-topic-incremental", []int{4, 5, 6, 7, 9}, "logs are not compacted"},
	{"scram-duplicate-two-mechanisms", []int{0, 1}, "both mechanisms of a user may be set at once, as KIP-554 says"},
	{"scram-empty-password", []int{0}, "an empty salted password is an unacceptable credential, not an unknown error"},
}

// differencesOfUser are the steps that the user model's own rules decide, in
// stories that it meets otherwise.
var differencesOfUser = []difference{
	{"alter-duplicate-op", []int{4}, "an unknown key is INVALID_CONFIG, and the first fault in order is the answer"},
	{"configs-describe-faults", []int{10}, "what is named twice in a request is answered once"},
	{"describe-filter-match", []int{0}, "the default user has no quota"},
}

// metByUserModel are the stories that the user model meets.
var metByUserModel = []string{
	"acl-alter-configs",
	"acl-alter-denied",
	"acl-deny-wins",
	"acl-describe-configs",
	"acl-describe-denied",
	"acl-scram-alter-denied",
	"acl-super-user",
	"acl-wildcard",
	"alter-bool-not-01",
	"alter-duplicate-op",
	"alter-duplicate-op-among-good",
	"alter-empty",
	"alter-ip-combined",
	"alter-ip-names-bad",
	"alter-malformed-null-entries",
	"alter-malformed-null-key",
	"alter-malformed-null-type",
	"alter-malformed-trailing",
	"alter-names-special",
	"alter-no-ops",
	"alter-set-same-value",
	"alter-unknown-type",
	"alter-values-connection-nonfinite",
	"alter-values-producer",
	"alter-values-producer-nonfinite",
	"alter-values-request",
	"alter-values-request-tiny",
	"configs-describe-faults",
	"configs-topic-alter-legacy",
	"configs-topic-describe",
	"describe-empty-broker",
	"describe-filter-duplicate-type",
	"describe-filter-match",
	"describe-filter-type",
	"scram-and-quotas",
	"scram-delete",
	"scram-describe-empty",
	"scram-duplicate-same-mechanism",
	"scram-empty-request",
	"scram-empty-user",
	"scram-mechanism",
	"scram-names",
	"scram-restart",
	"scram-upsert",
}
