package broker_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trap is something that clients of Kafka trip over when a broker is nearly
// right, and where it is held.
type trap struct {
	about string
	// tests are functions, as room.TestName.
	tests []string
	// checks are what the end-to-end suites print, as file: words of its
	// source in scripts/.
	checks []string
	// open is what of it kaasd does not have.
	open string
}

// traps are all that are known, by number.
var traps = map[int]trap{
	1: {about: "Produce is listed from 0 on, or librdkafka does not compress", tests: []string{"broker.TestOldClientsFindWhatTheyLookFor"},
		checks: []string{"clients.sh: kcat -P", "clients.sh: librdkafka\" rdk none gzip"}},
	2: {about: "FindCoordinator is listed from 0 on, or group consumers hang", tests: []string{"broker.TestOldClientsFindWhatTheyLookFor"},
		checks: []string{"groups.sh: kcat -G reads all"}},
	3: {about: "exact versions decide on codecs", tests: []string{"broker.TestOldClientsFindWhatTheyLookFor", "broker.TestClientProducesAndConsumesWithEveryCodec"},
		checks: []string{"clients.sh: kcat -C reads $c", "clients.sh: each_codec \"kcat -P\" kcat none gzip snappy lz4 zstd"}},
	4: {about: "ApiVersions above ours", tests: []string{"broker.TestVersionsOfAnotherAge", "handlers.TestApiVersionsOfAnotherAge", "handlers.TestVersionsTooNewBeforeLogin"}},
	5: {about: "the header of an ApiVersions answer", tests: []string{"handlers.TestApiVersionsHeaderIsNeverFlexible", "broker.TestVersionsOfAnotherAge"}},
	6: {about: "Java 4.4 tells the cluster's id", tests: []string{"broker.TestVersionsOfAnotherAge"}, checks: []string{"traps/Traps.java: keeps its connections"}},
	7: {about: "ApiVersions before and after a log-in", tests: []string{"broker.TestOrderOfALogin", "handlers.TestLogin"},
		checks: []string{"clients.sh: java logs in with"}},
	8: {about: "Metadata 0", tests: []string{"handlers.TestMetadataTopics", "broker.TestOldClientsFindWhatTheyLookFor"},
		checks: []string{"clients.sh: kafka-python 2.0.2", "groups.sh: consumes in a group"}},
	9: {about: "records are empty and never null", tests: []string{"broker.TestRecordsAreNeverNull", "broker.TestDeniedRecordsAreEmpty", "broker.TestQuietAnswersHaveNoNullRecords", "handlers.TestFetchCodes"},
		checks: []string{"clients.sh: an empty partition is at its end"}},
	10: {about: "producers are idempotent by default", tests: []string{"broker.TestProducersOutliveTheBroker", "handlers.TestProducerIDs", "broker.TestKill"},
		checks: []string{"clients.sh: perf producer", "clients.sh: kcat -P with idempotence"}},
	11: {about: "a batch that is sent again", tests: []string{"broker.TestProducersOutliveTheBroker", "handlers.TestSequencesSurviveRestarts", "storage/segment.TestSequencesOutliveRestarts"}},
	12: {about: "sequences: gap, too old, old epoch, the edge", tests: []string{"broker.TestSequencesWrap", "broker.TestEpochsOfAProducer", "broker.TestProducersOutliveTheBroker", "handlers.TestProduceSequences"}},
	13: {about: "acks=0 has no answer", tests: []string{"broker.TestUnansweredProducesLeaveNoByte", "handlers.TestProduceWithoutAnswer"},
		checks: []string{"clients.sh: kcat -P with acks=0"}},
	14: {about: "an error of acks=0 ends the connection", tests: []string{"broker.TestUnansweredErrorEndsTheConnection", "broker.TestEveryUnansweredErrorEndsTheConnection"}},
	15: {about: "MESSAGE_TOO_LARGE is 10, by the topic's config", tests: []string{"broker.TestTopicConfigsBindRecords", "handlers.TestProduceCodes"},
		checks: []string{"clients.sh: java splits batches that are larger than the topic takes", "clients.sh: a single record that is too large is told so"}},
	16: {about: "long polls wait, and end at once", tests: []string{"broker.TestFetchWaits", "handlers.TestFetchWaits"},
		checks: []string{"traps.sh: two idle consumers ask a few times in 10 s", "traps/Traps.java: joins once, idles without asking, and is served at once",
			"traps/librdkafka.py: joins once, idles without asking, and is served at once"}},
	17: {about: "min bytes", tests: []string{"broker.TestFetchWaits", "handlers.TestFetchWaits"}},
	18: {about: "a first batch above the limits", tests: []string{"broker.TestFirstBatchIsWhole", "handlers.TestFetchHandsOutWholeBatches"},
		checks: []string{"clients.sh: a batch larger than the fetch limits is handed out"}},
	19: {about: "a fetch inside a batch", tests: []string{"broker.TestFirstBatchIsWhole", "broker.TestConsumersGoOnBehindDeletedRecords", "handlers.TestFetchHandsOutWholeBatches"}},
	20: {about: "ids of fetch sessions", tests: []string{"broker.TestFetchSessions", "handlers.TestFetchSessionCodes", "handlers.TestFetchSessionEpochWraps"}},
	21: {about: "sessions tell what changed", tests: []string{"broker.TestSessionsTellWhatChangedAlone", "handlers.TestFetchSessionTellsWhatChanged", "broker.TestOldIDsOfATopicMadeAgain"},
		checks: []string{"traps/Traps.java: 200 partitions of which one changes cost one partition's bytes"}},
	22: {about: "topic ids", tests: []string{"broker.TestTopicsAreTheirIDs", "broker.TestOldIDsOfATopicMadeAgain", "broker.TestClientTakesUpATopicMadeAgain"},
		checks: []string{"traps/Traps.java: a topic that is made again is produced to and read"}},
	23: {about: "the zero topic id", tests: []string{"broker.TestUnknownTopicIDs", "handlers.TestProduceCodes"}},
	24: {about: "offsets of times", tests: []string{"broker.TestTimesOutliveTheBroker", "handlers.TestListOffsets", "storage/segment.TestLookupsAgainstModel"},
		checks: []string{"clients.sh: offsets for times within a batch"}},
	25: {about: "special times", tests: []string{"handlers.TestListOffsets"},
		checks: []string{"clients.sh: kafka-get-offsets --time", "traps.sh: kafka-get-offsets of what is not yet in another tier", "tools.sh: get-offsets, of tiers"}},
	26: {about: "read_committed sees the last stable offset", tests: []string{"broker.TestEverythingIsCommitted", "handlers.TestFetchHandsOutWholeBatches"},
		open: "there are no transactions, so that no offset is unstable: what would open one is refused"},
	27: {about: "append time", tests: []string{"broker.TestTopicConfigsBindRecords", "broker.TestAppendTimeBitOfAClient", "handlers.TestProduceAppendTime"},
		checks: []string{"clients.sh: the broker's time on every record", "traps/Traps.java: the broker's time is on every record"}},
	28: {about: "flipped bytes", tests: []string{"broker.TestFlippedBytes", "codec/record.TestValidateFlips", "codec/record.TestValidateResealedFlips"}},
	29: {about: "message sets of old", tests: []string{"broker.TestMessageSetsAreRefused", "broker.TestOneBatchPerPartition", "codec/record.TestValidateCodes"}},
	30: {about: "two batches, or none", tests: []string{"broker.TestMessageSetsAreRefused", "broker.TestOneBatchPerPartition", "handlers.TestProduceCodes"}},
	31: {about: "a null key in a compacted topic", tests: []string{"codec/record.TestValidateCodes", "broker.TestTopicConfigsBindRecords"},
		checks: []string{"clients.sh: compaction is refused"}, open: "there are no compacted topics: cleanup.policy=compact is refused"},
	32: {about: "records of the future", tests: []string{"broker.TestTopicConfigsBindRecords", "handlers.TestProduceCodes", "codec/record.TestValidateCodes"}},
	33: {about: "describing users asks for SCRAM too", tests: []string{"handlers.TestDescribeUserScramCredentials", "broker.TestScramUsersAreDescribed"},
		checks: []string{"kafka-configs.sh: nobody has nothing", "kafka-configs.sh: describe it"}},
	34: {about: "quotas of defaults", tests: []string{"broker.TestStoriesOfTheKafkaModel"},
		checks: []string{"kafka-configs.sh: for group in users defaults clients ips scram topics brokers usage", "kafka-configs.sh: delete of an unset key"}},
	35: {about: "sources of configs", tests: []string{"handlers.TestDescribeConfigs", "handlers.TestDescribeConfigsInFull"},
		checks: []string{"traps.sh: kafka-configs shows what was set, and nothing else", "tools.sh: configs of a topic, all"}},
	36: {about: "configs of which broker", tests: []string{"broker.TestConfigsOfAnotherBroker", "handlers.TestIncrementalAlterConfigs"},
		checks: []string{"tools.sh: configs of the broker, described", "tools.sh: configs of all brokers"}},
	37: {about: "kafka-topics --describe", checks: []string{"tools.sh: topics --describe\"", "tools.sh: topics --describe --unavailable-partitions"}},
	38: {about: "the controller is there", tests: []string{"broker.TestAddressesOfEachListener", "handlers.TestMetadataDescribesThisBroker"},
		checks: []string{"traps.sh: kafka-topics finds the controller within 5 s"}},
	39: {about: "each listener tells its own address", tests: []string{"broker.TestListenersTellTheirAddress", "broker.TestAddressesOfEachListener", "handlers.TestFencedFetchTellsTheLeader"}},
	40: {about: "topics on demand", tests: []string{"broker.TestTopicsAreMadeOnDemand", "handlers.TestMetadataTopics"},
		checks: []string{"traps/Traps.java: a consumer makes topics only where it may", "traps/librdkafka.py: a consumer makes no topic"}},
	41: {about: "telemetry is not listed", tests: []string{"broker.TestWhatIsNotServedIsNotListed"},
		checks: []string{"traps.sh: nobody is sent away for asking what is not listed", "traps/librdkafka.py: its log says"}},
	42: {about: "replication factors", tests: []string{"broker.TestReplicationFactors", "handlers.TestCreateTopics"},
		checks: []string{"clients.sh: three replicas on one broker are refused"}},
	43: {about: "members come twice", tests: []string{"broker.TestMembersComeTwice", "handlers.TestGroupJourney", "group.TestStories"},
		checks: []string{"traps.sh: two members have joined with two requests each", "traps.sh: one member and no ghost of"}},
	44: {about: "rebalances", tests: []string{"broker.TestPartitionsHaveOneOwner", "broker.TestGroupConsumers", "group.TestStories"},
		checks: []string{"groups.sh: a killed member is out after its session", "groups.sh: two members read all, once"}},
	45: {about: "static members", tests: []string{"broker.TestOldLifeIsFenced", "broker.TestStaticMemberComesBack", "group.TestStories"},
		checks: []string{"traps/Traps.java: the old life of a static member is fenced, without a rebalance", "traps/librdkafka.py: the old life of a static member is fenced, without a rebalance",
			"groups.sh: a static member stays when it is closed"}},
	46: {about: "commits from outside", tests: []string{"broker.TestCommitsFromOutside", "group.TestStories"},
		checks: []string{"groups.sh: a live group is not reset", "groups.sh: --reset-offsets --to-earliest"}},
	47: {about: "offsets that are not there", tests: []string{"handlers.TestGroupJourney", "handlers.TestGroupDenials", "handlers.TestGroupTopicDenials"}},
	48: {about: "groups that are not there", tests: []string{"handlers.TestGroupJourney"}, checks: []string{"groups.sh: an unknown group"}},
	49: {about: "filters of ListGroups", tests: []string{"handlers.TestListGroupsFilters"}, checks: []string{"groups.sh: --list --state stable --type classic"}},
	50: {about: "committed offsets outlive a kill", tests: []string{"broker.TestGroupsOutliveTheBroker", "group.TestEveryCut"}, checks: []string{"groups.sh: kill -9 with log.flush"}},
	51: {about: "failed log-ins are told", tests: []string{"broker.TestBadLogins", "broker.TestFailedLoginsLookAlike", "handlers.TestFailedLoginsLookAlike"},
		checks: []string{"clients.sh: java with a wrong password is told so", "clients.sh: kcat with a wrong password for", "traps.sh: with a wrong password for $mechanism is told so"}},
	52: {about: "a mechanism that is not offered", tests: []string{"broker.TestMechanismThatIsNotOffered", "handlers.TestUnknownMechanism"},
		checks: []string{"traps.sh: a mechanism that is not offered is told with those that are"}},
	53: {about: "tokens without a header", tests: []string{"broker.TestRawTokens", "handlers.TestRawTokens"},
		checks: []string{"traps.sh: kafka-python 2.0.2 logs in with tokens that have no header"}},
	54: {about: "logging in again", tests: []string{"handlers.TestRenewedLogins", "handlers.TestRenewalsThatFail", "handlers.TestRenewalsOutOfPlace", "broker.TestRealClientsLogInAgain"},
		checks: []string{"traps.sh: produces while it logs in again"}},
	55: {about: "sizes before a log-in", tests: []string{"broker.TestHostileFramesAreCutOff", "broker.TestAnnouncedSizesMakeNoMemory", "server.TestSizesBeforeLogin", "handlers.TestFrameLimits"}},
	56: {about: "bombs", tests: []string{"broker.TestBombsMakeNoMemory", "broker.TestCountsMakeNoMemory", "codec/message.TestBombs", "codec/message.TestArrayBomb", "codec/message.TestTagBomb"}},
	57: {about: "keys that are not served", tests: []string{"broker.TestHostileFramesAreCutOff", "handlers.TestUnsupportedRequestsCloseTheConnection"}},
	58: {about: "versions that are not served", tests: []string{"broker.TestHostileFramesAreCutOff", "handlers.TestUnsupportedRequestsCloseTheConnection"}},
	59: {about: "slow senders", tests: []string{"broker.TestIdleConnectionsEnd", "server.TestOneBytePerSecond", "server.TestIdleLimit"}},
	60: {about: "the order of answers", tests: []string{"broker.TestAnswersComeInOrder", "server.TestParkedRequestKeepsTheOrder"}},
	61: {about: "how a throttle looks", tests: []string{"broker.TestThrottledFetchIsEmpty", "broker.TestEveryProduceVersionIsMuted", "broker.TestThrottledClientsLoseNothing", "server.TestMuteComesAfterTheAnswer"},
		checks: []string{"throttled.sh: is throttled $counted times"}},
	62: {about: "client ids", tests: []string{"broker.TestClientIDsOfEveryKind", "broker.TestNoClientIDIsNoEscape", "broker.TestEveryRequestIsCharged", "broker.TestClientsCannotMintSeries"}},
	63: {about: "where an epoch ended", tests: []string{"handlers.TestOffsetForLeaderEpoch", "broker.TestLeaderEpochsOutliveTheBroker"},
		checks: []string{"traps/Traps.java: goes on over a restart without a reset", "traps/librdkafka.py: goes on over a restart without a reset"}},
	64: {about: "epochs never fall", tests: []string{"broker.TestLeaderEpochsOutliveTheBroker", "storage/segment.TestEpochsOverRestarts", "storage/segment.TestEpochsOverBackups"}},
	65: {about: "deleted records", tests: []string{"broker.TestDeleteRecords", "broker.TestConsumersGoOnBehindDeletedRecords", "handlers.TestDeleteRecords"},
		checks: []string{"clients.sh: kafka-delete-records", "tools.sh: delete-records"}},
	66: {about: "transactions are refused at once", tests: []string{"broker.TestTransactionsAreNotServed", "broker.TestFirstRequestsOfATransaction", "handlers.TestFindCoordinator", "handlers.TestProducerIDs"},
		checks: []string{"clients.sh: a transactional producer is told at once that there are no transactions", "traps/Traps.java: a transactional producer fails at once",
			"traps/librdkafka.py: a transactional producer fails at once"}},
	67: {about: "tools of what is not served", checks: []string{"traps.sh: kafka-transactions ends with 1", "traps.sh: kafka-features ends with 1", "traps.sh: kafka-delegation-tokens ends with 1",
		"tools.sh: metadata-quorum --status", "tools.sh: transactions list"}},
	68: {about: "DescribeCluster of controllers", tests: []string{"handlers.TestDescribeCluster"},
		checks: []string{"tools.sh: cluster of controllers", "traps.sh: kafka-cluster of controllers ends with 1"}},
	69: {about: "names and addresses of IPv6", tests: []string{"broker.TestAddressesOfEachListener"}, checks: []string{"traps.sh: comes to ${address%:*}"}},
	70: {about: "idle closes", tests: []string{"broker.TestIdleClientsComeBack", "broker.TestParkedFetchesAreNotIdle", "broker.TestMutedConnectionsAreNotIdle"},
		checks: []string{"traps/Traps.java: comes back from idle closes silently", "traps/librdkafka.py: comes back from idle closes and loses nothing"}},
}

// Every trap is held by tests or checks that are there, in a suite that is run.
func TestTrapsAreHeld(t *testing.T) {
	suites := source(t, "../../scripts/e2e.sh")
	functions := map[string]map[string]bool{}
	sources := map[string]string{}
	for number := 1; number <= 70; number++ {
		held := traps[number]
		if held.about == "" || len(held.tests)+len(held.checks) == 0 {
			t.Errorf("trap %d (%s) is held nowhere", number, held.about)
		}
		for _, test := range held.tests {
			room, name, _ := strings.Cut(test, ".")
			if functions[room] == nil {
				functions[room] = testsOf(t, room)
			}
			if !functions[room][name] {
				t.Errorf("trap %d (%s): there is no %s", number, held.about, test)
			}
		}
		for _, check := range held.checks {
			file, words, _ := strings.Cut(check, ": ")
			if sources[file] == "" {
				sources[file] = source(t, "../../scripts/"+file)
			}
			if !strings.Contains(sources[file], words) {
				t.Errorf("trap %d (%s): scripts/%s has no %q", number, held.about, file, words)
			}
			suite, _, _ := strings.Cut(strings.TrimSuffix(file, ".sh"), "/")
			if !strings.Contains(suites, fmt.Sprint(" ", suite, " ")) {
				t.Errorf("trap %d (%s): scripts/e2e.sh does not run %s", number, held.about, suite)
			}
		}
	}
	if len(traps) != 70 {
		t.Errorf("%d traps are told of, want 70", len(traps))
	}
}

// testsOf are the test functions of a room.
func testsOf(t *testing.T, room string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(room), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("room %s has no tests: %v", room, err)
	}
	found := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

func source(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
