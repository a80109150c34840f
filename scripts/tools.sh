#!/bin/bash
# Every command line tool of Apache Kafka against the real binary. Each either
# works or says at once why it cannot, as the table in docs/tools.md has it: a tool
# that does other than its row says, and a row that no tool was run for, fail.
#
#   scripts/tools.sh            all of them, with each version
#   VERSIONS="4.0.0 4.4.0"      versions of Apache Kafka's tools
. "$(dirname "$0")/lib.sh"

# works NAME PATTERN TOOL ARGS... and refused NAME PATTERN TOOL ARGS...: a tool
# that works exits with 0; of one that is refused the words count, because some
# exit with 0 all the same.
works() { check works "$@"; }
refused() { check refused "$@"; }
check() {
  local how=$1 name="$v: $2" pattern=$3 began=$SECONDS out
  shift 3
  out=$(quick "$@" 2>&1)
  judge $how "$name" "$pattern" $? $((SECONDS - began)) "$1" "$out"
}
# piped NAME PATTERN TOOL ARGS...: in a JVM of its own, which has a standard input
# and ends as the tool means to.
piped() {
  local name="$v: $1" pattern=$2 began=$SECONDS out
  shift 2
  out=$(tool "$v" "$@" 2>&1)
  judge works "$name" "$pattern" $? $((SECONDS - began)) "$1" "$out"
}
judge() { # judge HOW NAME PATTERN CODE SECONDS TOOL TEXT
  echo "$6 $1" >>"$work/seen"
  if [ "$1" = works ] && [ "$4" != 0 ]; then fail "$2" "exit $4: $(head -c 600 <<<"$7")"
  elif [ "$5" -gt 20 ]; then fail "$2" "took $5 s"
  else has "$2" "$7" "$3"; fi
}

topics() {
  works "topics --create" "Created topic $t" topics $b --create --topic "$t" --partitions 3
  works "topics --list" "^$t$" topics $b --list
  works "topics --describe" "Topic: $t.*PartitionCount: 3.*ReplicationFactor: 1" topics $b --describe --topic "$t"
  works "topics --describe --unavailable-partitions" '^$' topics $b --describe --unavailable-partitions
  works "topics --alter" '^$' topics $b --alter --topic "$t" --partitions 4
  works "topics --describe, after it" 'Partition: 3.Leader: 1.Replicas: 1.Isr: 1' topics $b --describe --topic "$t"
  works "topics --create with a config" 'Created topic' topics $b --create --topic "gone-$v" --config segment.ms=1000
  works "topics --delete" '^$' topics $b --delete --topic "gone-$v"
  refused "topics with more replicas than brokers" 'cannot have replication factor 3: there is 1 broker' topics $b --create --topic three --replication-factor 3
}

configs() {
  works "configs of a topic" 'Completed updating config for topic' configs $b --alter --entity-type topics --entity-name "$t" --add-config retention.ms=100000,segment.bytes=1048576
  works "configs of a topic, described" 'retention.ms=100000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention.ms=100000\}' \
    configs $b --describe --entity-type topics --entity-name "$t"
  works "configs of a topic, all" 'max.message.bytes=1048588 .*DEFAULT_CONFIG:message.max.bytes' configs $b --describe --all --entity-type topics --entity-name "$t"
  works "configs of the broker" 'Completed updating config for broker 1' configs $b --alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=200000
  works "configs of all brokers" 'Completed updating default config for brokers' configs $b --alter --entity-type brokers --entity-default --add-config log.retention.ms=300000
  works "configs of the broker, described" 'log.retention.ms=200000 .*DYNAMIC_BROKER_CONFIG:log.retention.ms=200000, DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=300000' \
    configs $b --describe --entity-type brokers --entity-name 1
  works "configs of the broker, removed" 'Completed' configs $b --alter --entity-type brokers --entity-name 1 --delete-config log.retention.ms
  works "configs of all brokers, removed" 'Completed' configs $b --alter --entity-type brokers --entity-default --delete-config log.retention.ms
  refused "configs that are fixed" 'cannot be altered while the broker runs' configs $b --alter --entity-type brokers --entity-name 1 --add-config node.id=2
  refused "configs that are not known" '"preallocate" is not a topic config of this broker' configs $b --alter --entity-type topics --entity-name "$t" --add-config preallocate=true
  refused "configs with a bad value" 'retention.ms=.*whole number' configs $b --alter --entity-type topics --entity-name "$t" --add-config retention.ms=soon
  works "configs of users" 'Completed updating config for user' configs $b --alter --entity-type users --entity-name bob --add-config producer_byte_rate=5000
  works "configs of loggers" 'Completed updating config for broker-logger' configs $b --alter --entity-type broker-loggers --entity-name 1 --add-config root=DEBUG
  works "configs of loggers, described" 'root=DEBUG sensitive=false' configs $b --describe --entity-type broker-loggers --entity-name 1
  works "configs of loggers, back again" 'Completed updating config for broker-logger' configs $b --alter --entity-type broker-loggers --entity-name 1 --add-config root=INFO
  refused "configs of a logger that is not there" 'Invalid broker logger' configs $b --alter --entity-type broker-loggers --entity-name 1 --add-config kafka=DEBUG
  works "configs of groups" "^$|Dynamic configs for group" configs $b --describe --entity-type groups
  refused "configs of groups, altered" 'groups have no configs of their own' configs $b --alter --entity-type groups --entity-name g --add-config consumer.session.timeout.ms=50000
  works "configs of client metrics" '^$' configs $b --describe --entity-type client-metrics
  refused "configs of client metrics, altered" 'metrics of clients are not collected' configs $b --alter --entity-type client-metrics --entity-name m --add-config interval.ms=1000
}

acls() {
  works "acls --add" 'principal=User:bob' acls $b --add --allow-principal User:bob --operation Read --topic "$t"
  works "acls --list" 'principal=User:bob.*operation=READ' acls $b --list --topic "$t"
  works "acls --remove" '^$|Current ACLs' acls $b --remove --force --allow-principal User:bob --operation Read --topic "$t"
}

records() {
  local bulk=bulk-$v log=$data/bulk-$v-0/00000000000000000000
  piped "console-producer" '^$' console-producer $b --topic "$t" --compression-codec zstd < <(seq 100)
  works "console-consumer" 'Processed a total of 100 messages' console-consumer $b --topic "$t" --from-beginning --max-messages 100
  works "console-consumer in a group" '^57$' console-consumer $b --topic "$t" --group "g-$v" --from-beginning --max-messages 100
  quick topics $b --create --topic "$bulk" --config segment.bytes=1048576 >/dev/null 2>&1
  works "producer-perf" '3000 records sent' producer-perf --topic "$bulk" --num-records 3000 --record-size 1000 --throughput -1 --producer-props bootstrap.servers="$plain"
  works "consumer-perf" ', 3000, ' consumer-perf $b --topic "$bulk" --messages 3000 --group "perf-$v" --timeout 15000
  piped "verifiable-producer" '"sent":20,"acked":20' verifiable-producer $b --topic "$t" --max-messages 20
  works "verifiable-consumer" '"name":"offsets_committed".*"success":true' verifiable-consumer $b --topic "$t" --group-id "ver-$v" --max-messages 120 --reset-policy earliest
  case $v in
    4.0.*) works "e2e-latency" 'Avg latency' e2e-latency "$plain" "e2e-$v" 20 all 100 ;;
    *) works "e2e-latency" 'Avg latency' e2e-latency $b --topic "e2e-$v" --num-records 20 --producer-acks all --record-size 100 ;;
  esac
  works "dump-log of a segment" 'baseOffset: 0 .*producerId: [0-9]+.* isvalid: true' dump-log --files "$log.log"
  works "dump-log with its records" 'offset: 0 .*payload: [A-Z]+' dump-log --files "$log.log" --print-data-log
  works "dump-log of an index" 'passed sanity check' dump-log --files "$log.index" --index-sanity-check
  works "dump-log of a time index" 'passed sanity check' dump-log --files "$log.timeindex" --index-sanity-check
}

offsets() {
  works "get-offsets" "^$t:[0-9]:[0-9]+" get-offsets $b --topic "$t"
  works "get-offsets, the earliest" "^$t:0:0$" get-offsets $b --topic "$t" --time earliest
  works "get-offsets, of the largest timestamp" "^bulk-$v:0:[0-9]+" get-offsets $b --topic "bulk-$v" --time max-timestamp
  works "get-offsets, by time" "^bulk-$v:0:0$" get-offsets $b --topic "bulk-$v" --time 1000
  works "get-offsets, of tiers" '^$' get-offsets $b --topic "bulk-$v" --time latest-tiered
  echo '{"version":1,"partitions":[{"topic":"bulk-'"$v"'","partition":0,"offset":10}]}' >"$work/delete.json"
  works "delete-records" "bulk-$v-0.low_watermark: 10" delete-records $b --offset-json-file "$work/delete.json"
  works "get-offsets, and they are gone" "^bulk-$v:0:10$" get-offsets $b --topic "bulk-$v" --time earliest
}

# resets: every way to choose an offset, on partition 0 of 3000 records that begins with 10.
resets() {
  local g=resets-$v want how
  works "consumer-groups --reset-offsets" "bulk-$v +0 +3000" consumer-groups $b --reset-offsets --group "$g" --topic "bulk-$v" --to-latest --execute
  while read -r want how; do
    works "consumer-groups --reset-offsets $how" "bulk-$v +0 +$want( |$)" consumer-groups $b --reset-offsets --group "$g" --topic "bulk-$v:0" $how --execute
  done <<X
2990 --shift-by -10
2990 --to-current
10 --to-earliest
1500 --to-offset 1500
10 --by-duration PT1H
3000 --to-datetime 2099-01-01T00:00:00.000
3000 --to-latest
X
  echo "bulk-$v,0,77" >"$work/offsets.csv"
  works "consumer-groups --reset-offsets --from-file" "bulk-$v +0 +77( |$)" consumer-groups $b --reset-offsets --group "$g" --from-file "$work/offsets.csv" --execute
  works "consumer-groups --reset-offsets --dry-run" "bulk-$v +0 +10( |$)" consumer-groups $b --reset-offsets --group "$g" --topic "bulk-$v" --to-earliest --dry-run
  works "consumer-groups --describe" "$g +bulk-$v +0 +77 +3000 +2923" consumer-groups $b --describe --group "$g"
  works "consumer-groups --describe --state" "$g .*Empty +0" consumer-groups $b --describe --group "$g" --state
  works "consumer-groups --list --state" "^$g +Empty" consumer-groups $b --list --state
  works "consumer-groups --delete-offsets" 'Successful' consumer-groups $b --delete-offsets --group "$g" --topic "bulk-$v"
  works "consumer-groups --delete" 'successful' consumer-groups $b --delete --group "g-$v"
  refused "consumer-groups of a group that is not there" 'GroupIdNotFoundException' consumer-groups $b --describe --group "g-$v"
  works "groups --list" "^perf-$v +Classic +consumer" groups $b --list
}

# moved BROKER: a plan that has partition 0 on a broker.
moved() { echo '{"version":1,"partitions":[{"topic":"'"$t"'","partition":0,"replicas":['"$1"']}]}'; }
partitions() {
  works "leader-election" "Valid replica already elected for partitions $t-0" leader-election $b --election-type preferred --topic "$t" --partition 0
  works "leader-election of all" '^$' leader-election $b --election-type preferred --all-topic-partitions
  refused "leader-election of what is not there" 'UnknownTopicOrPartitionException' leader-election $b --election-type unclean --topic nothing --partition 0
  echo '{"version":1,"topics":[{"topic":"'"$t"'"}]}' >"$work/topics.json"
  moved 1 >"$work/here.json"
  moved 2 >"$work/there.json"
  works "reassign-partitions --generate" 'Proposed partition reassignment' reassign-partitions $b --generate --topics-to-move-json-file "$work/topics.json" --broker-list 1
  works "reassign-partitions --execute" "Successfully started partition reassignment for $t-0" reassign-partitions $b --execute --reassignment-json-file "$work/here.json"
  works "reassign-partitions --verify" "Reassignment of partition $t-0 is completed" reassign-partitions $b --verify --reassignment-json-file "$work/here.json"
  works "reassign-partitions --list" 'No partition reassignments found' reassign-partitions $b --list
  works "reassign-partitions --cancel" 'None of the specified partition reassignments are active' reassign-partitions $b --cancel --reassignment-json-file "$work/here.json"
  refused "reassign-partitions to a broker that is not there" 'Unknown broker id 2' reassign-partitions $b --execute --reassignment-json-file "$work/there.json"
  refused "reassign-partitions --throttle" 'replication.throttled.*is not a .*(config|property) of this broker' \
    reassign-partitions $b --execute --throttle 1000 --reassignment-json-file "$work/here.json"
  works "log-dirs --describe" "\"partition\":\"$t-[0-9]\",\"size\":[1-9].*\"logDir\":\"$data\"" log-dirs $b --describe --topic-list "$t"
}

cluster() {
  works "broker-api-versions" 'DescribeTopicPartitions\(75\): 0 \[usable: 0\]' api-versions $b
  works "cluster cluster-id" 'Cluster ID: [A-Za-z0-9_-]{22}' cluster cluster-id $b
  works "cluster list-endpoints" "^1 +127.0.0.1 +${plain#*:} .*unfenced +broker" cluster list-endpoints $b
  refused "cluster unregister" 'does not support the broker unregistration' cluster unregister $b --id 1
  refused "cluster of controllers" 'MismatchedEndpointType|has no controller endpoints' cluster cluster-id --bootstrap-controller "$plain"
  works "features describe" '^$' features $b describe
  refused "features upgrade" 'this broker has no features to update' features $b upgrade --feature group.version=1
  works "metadata-quorum --status" 'LeaderId: +1' metadata-quorum $b describe --status
  works "metadata-quorum --replication" '^1 .*Leader' metadata-quorum $b describe --replication
  works "client-metrics --list" '^$' client-metrics $b --list
  refused "client-metrics --alter" 'metrics of clients are not collected' client-metrics $b --alter --name m --metrics x --interval 1000
}

# unserved: what is about things that are not here.
unserved() {
  works "transactions describe-producers" '^[0-9]+\s+0\s+-1\s+[0-9]+\s' transactions $b describe-producers --topic "bulk-$v" --partition 0
  works "transactions find-hanging" 'ProducerId' transactions $b find-hanging --broker-id 1
  refused "transactions list" 'does not support LIST_TRANSACTIONS' transactions $b list
  refused "transactions describe" 'Failed to describe transaction state' transactions $b describe --transactional-id x
  refused "transactions abort" 'Could not find any open transactions' transactions $b abort --topic "$t" --partition 0 --start-offset 0
  works "share-groups --list" '^$' share-groups $b --list
  refused "share-groups --describe" 'does not support SHARE_GROUP_DESCRIBE' share-groups $b --describe --group g
  refused "delegation-tokens" 'does not support DESCRIBE_DELEGATION_TOKEN' delegation-tokens $b --describe --command-config /dev/null
  case $v in 4.[01].*) ;; *) works "streams-groups --list" '^$' streams-groups $b --list ;; esac
}

# table: what docs/tools.md says of each tool, against what was seen.
table() {
  local seen
  seen=$(sed 's/^api-versions/broker-&/; s/-perf /-perf-test /' "$work/seen" | sort -u | python3 -c 'import sys
seen = {}
for line in sys.stdin: seen.setdefault(line.split()[0], []).append(line.split()[1])
for name, how in seen.items(): print(name, how[0] if len(how) == 1 else "in part")')
  same "docs/tools.md says what was seen" "$(sed -nE 's/^\| `kafka-([a-z0-9-]+)` \| ([a-z ]+) \|.*/\1 \2/p' "$root/docs/tools.md")" "$seen"
}

start_broker --group-initial-rebalance-delay-ms 0 --authorizer-class-name acl --super-users User:ANONYMOUS
b="--bootstrap-server $plain"
for v in $kafka_versions; do
  one_jvm "$v"
  t=tools-$v
  topics; configs; acls; records; offsets; resets; partitions; cluster; unserved
done
table
stop_broker && pass "the broker stops with 0" || fail "the broker stops with 0"
total
