#!/bin/bash
# Apache Kafka's own kafka-configs against a running kaasd. With the user model
# quotas are added, described, changed and deleted, and a limit is felt. With the
# kafka model the tool prints, command line by command line, what it printed
# against Apache Kafka 4.4.0 (testdata/kafka-configs.jsonl); what is meant to
# differ is listed with its reason beside it. One line PASS or FAIL a scenario,
# and a total.
#
#   scripts/kafka-configs.sh    the scenarios with each version of the tool, and the live probe
#   VERSIONS="4.0.0 4.4.0"      versions of Apache Kafka's tools
#   SCENARIOS=no                the probe alone
#   PROBE_SECONDS=20            how long the probe produces
. "$(dirname "$0")/lib.sh"

cat >"$work/credentials.json" <<'X'
{"version":1,"users":[
 {"username":"alice","authType":"plain","plainPassword":"alice-secret"},
 {"username":"carol","authType":"plain","plainPassword":"carol-secret",
  "quotas":{"producerMaxByteRatePerBroker":4096,"consumerMaxByteRatePerBroker":8192}}]}
X
client() { # client USER: writes the client's properties and prints their path
  cat >"$work/$1.properties" <<X
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="$1" password="$1-secret";
X
  echo "$work/$1.properties"
}

configs() { quick configs --bootstrap-server "$plain" "$@" 2>"$work/stderr"; }
configs_as() { # configs_as USER ARGS...
  local user=$1
  shift
  quick configs --bootstrap-server "$sasl" --command-config "$(client "$user")" "$@" 2>&1
}

scenarios() {
  local version=$1 out
  start_broker --credentials-file "$work/credentials.json"

  out=$(configs --alter --entity-type users --entity-name bob --add-config producer_byte_rate=1048576)
  same "$version: add a quota" "Completed updating config for user bob." "$out"
  out=$(configs --describe --entity-type users --entity-name bob)
  same "$version: describe it" "Quota configs for user-principal 'bob' are producer_byte_rate=1048576.0" "$out"
  out=$(configs --alter --user bob --add-config producer_byte_rate=10485760,consumer_byte_rate=20000,request_percentage=12.5)
  same "$version: add three keys" "Completed updating config for user bob." "$out"
  out=$(configs --describe --user bob)
  same "$version: all three are described" \
    "Quota configs for user-principal 'bob' are producer_byte_rate=1.048576E7, consumer_byte_rate=20000.0, request_percentage=12.5" "$out"
  configs --alter --user bob --add-config consumer_byte_rate=1e6 >/dev/null
  out=$(configs --describe --user bob)
  same "$version: change one key and keep the others" \
    "Quota configs for user-principal 'bob' are producer_byte_rate=1.048576E7, consumer_byte_rate=1000000.0, request_percentage=12.5" "$out"
  configs --alter --user 'user with spaces' --add-config producer_byte_rate=100 >/dev/null
  out=$(configs --describe --entity-type users)
  has "$version: describe all shows an override" "$out" "^Quota configs for user-principal 'bob' are .*producer_byte_rate=1.048576E7"
  has "$version: describe all shows a name with spaces" "$out" "^Quota configs for user-principal 'user with spaces' are producer_byte_rate=100.0"
  has "$version: describe all shows the credentials file" "$out" "^Quota configs for user-principal 'carol' are .*producer_byte_rate=4096.0"
  same "$version: --all says the same" "$out" "$(configs --describe --entity-type users --all)"
  configs --alter --user bob --add-config producer_byte_rate=5 --delete-config consumer_byte_rate >/dev/null
  out=$(configs --describe --user bob)
  same "$version: set one and delete another in one call" \
    "Quota configs for user-principal 'bob' are producer_byte_rate=5.0, request_percentage=12.5" "$out"
  configs --alter --user bob --delete-config producer_byte_rate,request_percentage >/dev/null
  out=$(configs --describe --user bob)
  same "$version: delete the rest" "" "$out"
  configs --alter --user carol --add-config producer_byte_rate=9000 >/dev/null
  configs --alter --user carol --delete-config producer_byte_rate >/dev/null
  out=$(configs --describe --user carol)
  same "$version: delete one of two keys lifts it, the file's other key stays" \
    "Quota configs for user-principal 'carol' are consumer_byte_rate=8192.0" "$out"
  configs --alter --user carol --delete-config consumer_byte_rate >/dev/null
  out=$(configs --describe --user carol)
  same "$version: delete the last key shows the file again" \
    "Quota configs for user-principal 'carol' are producer_byte_rate=4096.0, consumer_byte_rate=8192.0" "$out"
  out=$(configs --describe --user nobody; echo "exit $?")
  same "$version: nobody has nothing" "exit 0" "$out"

  refused "$version: delete of an unset key" 'Invalid config\(s\): consumer_byte_rate' --alter --user bob --delete-config consumer_byte_rate
  refused "$version: zero" 'producer_byte_rate.*above zero' --alter --user bob --add-config producer_byte_rate=0
  refused "$version: negative" 'producer_byte_rate.*above zero' --alter --user bob --add-config producer_byte_rate=-1
  refused "$version: a fraction of a byte" 'producer_byte_rate.*whole|producer_byte_rate.*fraction' --alter --user bob --add-config producer_byte_rate=1.5
  refused "$version: a key of another model" 'controller_mutation_rate' --alter --user bob --add-config controller_mutation_rate=1
  refused "$version: user and client-id in the user model" 'quota.model=kafka' --alter --user bob --client c --add-config producer_byte_rate=1
  refused "$version: ip in the user model" 'quota.model=kafka' --alter --ip 127.0.0.9 --add-config connection_creation_rate=1
  refused "$version: client-id in the user model" 'quota.model=kafka' --alter --client c --add-config producer_byte_rate=1
  refused "$version: default user in the user model" 'quota.model=kafka' --alter --user-defaults --add-config producer_byte_rate=1
  out=$(configs --describe --entity-type clients; echo "exit $?")
  same "$version: clients are empty in the user model" "exit 0" "$out"
  out=$(configs --describe --entity-type ips; echo "exit $?")
  same "$version: ips are empty in the user model" "exit 0" "$out"
}

# lives: where an alteration lives, how the file stands behind it, and who may.
lives() {
  local out file=$work/live.json
  cp "$work/credentials.json" "$file"
  start_broker --credentials-file "$file"
  configs --alter --user alice --add-config producer_byte_rate=7000 >/dev/null
  sed 's/4096/5000/' "$work/credentials.json" >"$file.new" && mv "$file.new" "$file"
  for _ in $(seq 400); do grep -q 'credentials reloaded' "$broker_log" && break; sleep 0.05; done
  out=$(configs --describe --entity-type users)
  same "an override stays and the changed file shows" "Quota configs for user-principal 'alice' are producer_byte_rate=7000.0
Quota configs for user-principal 'carol' are producer_byte_rate=5000.0, consumer_byte_rate=8192.0" "$out"
  start_broker --credentials-file "$file" --authorizer-class-name acl --super-users User:alice
  same "an override is gone after a restart" "Quota configs for user-principal 'carol' are producer_byte_rate=5000.0, consumer_byte_rate=8192.0" \
    "$(configs_as alice --describe --entity-type users)"
  refused "describe without the right" 'ClusterAuthorizationException' --describe --entity-type users
  refused "alter without the right" 'ClusterAuthorizationException' --alter --user carol --add-config producer_byte_rate=1000000
  same "alter by a super user" "Completed updating config for user carol." \
    "$(configs_as alice --alter --user carol --add-config producer_byte_rate=1000)"
}
refused() { # refused NAME PATTERN ARGS...
  local name=$1 pattern=$2 code
  shift 2
  configs "$@" >"$work/stdout"
  code=$?
  if [ "$code" != 0 ] && grep -qE "$pattern" "$work/stderr" "$work/stdout"; then pass "$name is refused"; else
    fail "$name is refused" "exit $code" "$(head -c 600 "$work/stderr")"; fi
}

# probe: an authenticated user at 10 MB/s produces as fast as it can. What
# counts are charged bytes, from when every connection was throttled once.
probe() {
  local limit=10000000 version out
  start_broker --credentials-file "$work/credentials.json"
  configs_as alice --alter --entity-type users --entity-name alice --add-config producer_byte_rate=$limit >/dev/null
  hold "probe: 10 MB/s held within 1 % of charged bytes" "${PROBE_SECONDS:-20}" --address "$sasl" --bucket alice/probe --password alice-secret \
    --mechanism PLAIN --mode produce --topic probe --connections 4 --limit $limit
  configs_as alice --alter --entity-type users --entity-name alice --add-config producer_byte_rate=$((limit / 10)) >/dev/null # less than any machine produces
  for version in $kafka_versions; do
    out=$(tool $version producer-perf --topic probe --num-records 4000 --record-size 1000 --throughput -1 --print-metrics \
      --producer-props bootstrap.servers="$sasl" --producer.config "$(client alice)" 2>&1)
    local throttle
    throttle=$(sed -nE 's/^producer-metrics:produce-throttle-time-max:.*: *([0-9.]+).*$/\1/p' <<<"$out" | head -1)
    if [ -n "$throttle" ] && python3 -c "import sys; sys.exit(not float('$throttle') > 0)"; then
      pass "probe: the perf producer of $version reports a throttle of up to $throttle ms"
    else fail "probe: the perf producer of $version reports the throttle" "$(tail -c 400 <<<"$out")"; fi
  done
  has "probe: /metrics says who was throttled" "$(curl -s "http://$http/metrics")" \
    'kaasd_quota_entity_throttled_requests_total\{client_id="",quota="produce",user="alice"\} [1-9]'
}

# transcripts: what the tool printed against Apache Kafka, each group of lines
# on a broker of its own.
transcripts() {
  local version=$1 group
  for group in users defaults clients ips scram topics brokers usage; do
    data=$work/$version-$group
    start_broker --quota-model kafka
    [ $group != topics ] || echo 'a record' | kcat -b "$plain" -P -t tool-t || fail "$version: a topic for $group"
    python3 "$root/scripts/tools/transcripts.py" "$version" $group "$plain" "$(class_of "$version" configs)" >"$work/out" 2>&1 ||
      echo "FAIL  $version: $group ended with an error" >>"$work/out"
    count "$work/out"
  done
  data=$work/data
}

# kept: the kafka model keeps what was set, beside the credentials file.
kept() {
  local all key file="producer_byte_rate=4096.0, consumer_byte_rate=8192.0" settings=(--credentials-file "$work/credentials.json" --quota-model kafka)
  data=$work/kept
  start_broker "${settings[@]}"
  configs --alter --user carol --add-config producer_byte_rate=9000,request_percentage=50 >/dev/null
  same "kept: a key that is set hides the file's, the other stays" \
    "Quota configs for user-principal 'carol' are producer_byte_rate=9000.0, consumer_byte_rate=8192.0, request_percentage=50.0" "$(configs --describe --user carol)"
  refused "kept: removing a key of the file" 'InvalidRequestException.*consumer_byte_rate.*credentials file' --alter --user carol --delete-config consumer_byte_rate
  configs --alter --user alice --client-defaults --add-config producer_byte_rate=7000 >/dev/null
  configs --alter --client-defaults --add-config consumer_byte_rate=6000 >/dev/null
  configs --alter --ip ::1 --add-config connection_creation_rate=20 >/dev/null
  configs --alter --ip 0:0:0:0:0:0:0:1 --add-config connection_creation_rate=30 >/dev/null
  configs --alter --ip ::1 --delete-config connection_creation_rate >/dev/null
  described() {
    all=$(for e in users clients ips; do configs --describe --entity-type $e; done; configs --describe --entity-type users --entity-type clients)
    same "kept: $1" "$2" "$all"
  }
  all="Quota configs for user-principal 'carol' are producer_byte_rate=9000.0, consumer_byte_rate=8192.0, request_percentage=50.0
Quota configs for the default client-id are consumer_byte_rate=6000.0
Quota configs for ip '0:0:0:0:0:0:0:1' are connection_creation_rate=30.0
Quota configs for user-principal 'alice', the default client-id are producer_byte_rate=7000.0"
  local set=$all
  described "all entities, two names of one address apart" "$set"
  start_broker "${settings[@]}"
  described "and after a restart" "$set"
  kill -9 "$broker_pid" && wait "$broker_pid" 2>/dev/null
  start_broker "${settings[@]}"
  described "and after a crash" "$set"
  start_broker --credentials-file "$work/credentials.json"
  same "kept: the user model shows the file alone" "Quota configs for user-principal 'carol' are $file" "$(configs --describe --entity-type users)"
  has "kept: and says what is not in force" "$(cat "$broker_log")" '"warn".*quotas of the data folder are kept and not in force.*[^0-9]4[^0-9]'
  start_broker "${settings[@]}"
  described "and the kafka model brings it back" "$set"
  for key in producer_byte_rate request_percentage; do configs --alter --user carol --delete-config $key >/dev/null; done
  same "kept: without what was set the file shows again" "Quota configs for user-principal 'carol' are $file" "$(configs --describe --user carol)"
}

for version in $kafka_versions; do
  one_jvm "$version"
  [ "${SCENARIOS:-}" = no ] || { scenarios "$version"; transcripts "$version"; }
done
[ "${SCENARIOS:-}" = no ] || { lives; kept; }
probe
total
