#!/bin/bash
# What real clients trip over when a broker is nearly right: busy loops, ghosts,
# rebalances, resets, hidden errors. The rest of these traps is told with frames
# in internal/broker; internal/broker/traps_test.go says which is held where.
. "$(dirname "$0")/lib.sh"
KAASD_CACHE=$cache "$root/scripts/clients/build.sh" || exit 1
python=$cache/venv/bin/python version=4.4.0 others=()
export CLIENT_PASSWORD=pencil root cache java="${java_options[*]}" # for clients.tsv

# another NAME LISTENERS [settings...]: one more broker; its HTTP is on ${NAME}_http.
another() {
  local name=$1 listeners=$2 address log=$work/$1.log
  shift 2
  address=$name"_http"
  [ -n "${!address:-}" ] || printf -v "$address" 127.0.0.1:%s "$(free_port)"
  "$kaasd" start --listeners "$listeners" --http-listen "${!address}" --data-dir "$work/$name" --group-initial-rebalance-delay-ms 0 "$@" >"$log" 2>&1 &
  printf -v "${name}_pid" %s $!
  others+=($!)
  for _ in $(seq 400); do grep -q 'kaasd ready' "$log" && return; sleep 0.05; done
  cat "$log" >&2
  exit 1
}
leave() { end_jvm; stop_broker; [ ${#others[@]} = 0 ] || kill "${others[@]}" 2>/dev/null; wait; rm -rf "$work"; }
await() { for _ in $(seq 1200); do [ -e "$1" ] && return; sleep 0.05; done; fail "no $(basename "$1") within a minute"; return 1; }
# metric HTTP SERIES: its value, 0 without one.
metric() { curl -s "http://$1/metrics" | awk -v s="$2" '$1 == s { n = $2 } END { printf "%d", n }'; }
between() { # between NAME LOW HIGH NUMBER
  if [ "$4" -ge "$2" ] && [ "$4" -le "$3" ]; then pass "$1: $4"; else fail "$1" "got $4, want $2 to $3"; fi
}
# client NAME VERB ARGS...: a program of scripts/clients, for $patience seconds at the most.
client() {
  local name=$1
  shift
  eval "timeout ${patience:-90} env $(awk -F'\t' -v n="$name" '$1 == n { print $2 }' "$root/scripts/clients/clients.tsv") $(printf '%q ' "$@")"
}

# counted: the quiet broker while two clients wait there, each with 5 s a fetch.
counted() {
  local before accepted client
  for client in java rdk; do await "$work/$client-waits" || return; done
  before=$(metric "$quiet_http" 'kaasd_requests_total{api="Fetch"}')
  accepted=$(metric "$quiet_http" 'kaasd_connections_accepted_total{listener="PLAINTEXT"}')
  for client in java rdk; do await "$work/$client-waited" || return; done
  between "two idle consumers ask a few times in 10 s" 2 9 $(($(metric "$quiet_http" 'kaasd_requests_total{api="Fetch"}') - before))
  between "two members have joined with two requests each" 4 4 "$(metric "$quiet_http" 'kaasd_requests_total{api="JoinGroup"}')"
  for client in java rdk; do between "one member and no ghost of $client" 1 1 "$(metric "$quiet_http" "kaasd_group_members{group=\"$client\"}")"; done
  between "nobody is sent away for asking what is not listed" 0 0 $(($(metric "$quiet_http" 'kaasd_connections_accepted_total{listener="PLAINTEXT"}') - accepted))
  touch "$work/counted"
}

# restart_below: a broker is killed and started again below its consumers.
restart_below() {
  local reader
  for reader in java rdk; do await "$work/$reader-read" || return; done
  kill -9 "$restarted_pid"
  wait "$restarted_pid" 2>/dev/null
  another restarted "PLAINTEXT://$restarted"
  seq 100 | timeout 30 kcat -b "$restarted" -P -t over -p 0
}

# named: brokers are told by a host name and by an address of IPv6.
named() {
  local name
  for name in kcat librdkafka librdkafka-2.0 franz-go sarama kafka-go kafka-python kafka-python-2 aiokafka kafkajs; do
    comes "$name" >"$work/comes-$name" 2>&1 &
  done
  wait
}
comes() {
  local address out addresses=("$host" "$six")
  [ "$1" != kafkajs ] || addresses=("$host") # takes what follows the first colon for the port
  timeout 30 kcat -b "$host" -L -t "named-$1" >/dev/null # which makes the topic: not every library asks for that
  for address in "${addresses[@]}"; do
    if out=$({ client "$1" produce --bootstrap-server "$address" --topic "named-$1" --partition-count 1 --records 3 &&
      client "$1" consume --bootstrap-server "$address" --topic "named-$1" --group "named-$1-${address##*:}" --records 3 --timeout 60; } 2>&1); then pass "$1 comes to ${address%:*}"
    else fail "$1 comes to ${address%:*}" "$(tail -3 <<<"$out")"; fi
  done
}

# logins: a password that is wrong is told as such, by every mechanism, and at once.
logins() {
  local name mechanism out before
  for mechanism in PLAIN SCRAM-SHA-256 SCRAM-SHA-512; do
    for name in sarama librdkafka; do
      out=$(patience=30 CLIENT_PASSWORD=wrong client "$name" produce --bootstrap-server "$sasl" --topic x --partition-count 1 --records 1 --user alice --mechanism $mechanism 2>&1)
      has "$name with a wrong password for $mechanism is told so" "$out" '[Aa]uth|SASL'
    done
  done
  out=$(timeout 10 kcat -b "$sasl" -L -X security.protocol=SASL_PLAINTEXT -X sasl.mechanism=OAUTHBEARER -X enable.sasl.oauthbearer.unsecure.jwt=true \
    -X sasl.oauthbearer.config=principal=alice 2>&1)
  has "a mechanism that is not offered is told with those that are" "$out" 'PLAIN.*SCRAM-SHA-256.*SCRAM-SHA-512'
  client kafka-python-2 produce --bootstrap-server "$sasl" --topic raw --partition-count 1 --records 3 --user alice --mechanism PLAIN >"$work/out" 2>&1 &&
    pass "kafka-python 2.0.2 logs in with tokens that have no header" || fail "kafka-python 2.0.2 logs in with tokens that have no header" "$(tail -3 "$work/out")"
}

# renewing: log-ins that last 3 s, below producers that go on for 15.
renewing() {
  local name pids=() mechanism=SCRAM-SHA-512 refused
  for name in java-4.4 librdkafka franz-go; do
    renews "$name" >"$work/renews-$name" 2>&1 &
    pids+=($!)
  done
  wait "${pids[@]}"
  refused=$(metric "$renewed_http" "kaasd_authentications_total{listener=\"SASL_PLAINTEXT\",mechanism=\"$mechanism\",result=\"failure\"}")
  between "none of their log-ins fails" 0 0 "$refused"
  between "they have logged in again and again" $(($(metric "$renewed_http" 'kaasd_connections_accepted_total{listener="SASL_PLAINTEXT"}') + 12)) 1000 \
    "$(metric "$renewed_http" "kaasd_authentications_total{listener=\"SASL_PLAINTEXT\",mechanism=\"$mechanism\",result=\"success\"}")"
}
renews() {
  local out
  timeout 30 kcat -b "$renewed" -L -t "renews-$1" -X security.protocol=SASL_PLAINTEXT -X sasl.mechanism=SCRAM-SHA-512 -X sasl.username=bob \
    -X sasl.password="$CLIENT_PASSWORD" >/dev/null # which makes the topic
  if out=$(as_bob "$1" produce --records 1500 --rate 100 2>&1) && out=$(as_bob "$1" consume --group "renews-$1" --records 1500 --timeout 60 2>&1) &&
    same_run "$(sed -n 's/^record //p' <<<"$out")"; then pass "$1 produces while it logs in again, and nothing is lost or out of order"
  else fail "$1 produces while it logs in again, and nothing is lost or out of order" "$(tail -3 <<<"$out")"; fi
}
as_bob() { # as_bob CLIENT VERB ARGS...
  local name=$1 verb=$2
  shift 2
  [ "$verb" = consume ] || set -- --partition-count 1 "$@"
  client "$name" "$verb" --bootstrap-server "$renewed" --topic "renews-$name" --user bob --mechanism SCRAM-SHA-512 "$@"
}
# same_run RECORDS: lines of partition, offset and number; offsets and numbers are 0 to 1499.
same_run() { [ "$(awk '{ print $2, $3 }' <<<"$1")" = "$(seq 0 1499 | awk '{ print $1, $1 }')" ]; }

# told NAME CODE PATTERN TOOL ARGS...: the exit code and the words of a tool.
told() {
  local name=$1 want=$2 pattern=$3 out code began=$SECONDS
  shift 3
  out=$(quick "$@" 2>&1)
  code=$?
  if [ $code != "$want" ] || [ $((SECONDS - began)) -gt 45 ]; then fail "$name" "exit $code after $((SECONDS - began)) s: $(head -c 400 <<<"$out")"
  else has "$name" "$out" "$pattern"; fi
}
tools() {
  local b="--bootstrap-server $plain"
  echo request.timeout.ms=5000 >"$work/hasty.properties"
  told "kafka-topics finds the controller within 5 s" 0 'Created topic tool' topics $b --command-config "$work/hasty.properties" --create --topic tool
  quick configs $b --alter --entity-type topics --entity-name tool --add-config max.message.bytes=2000000 >/dev/null 2>&1
  same "kafka-configs shows what was set, and nothing else" "Dynamic configs for topic tool are:
  max.message.bytes=2000000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000000, DEFAULT_CONFIG:message.max.bytes=1048588}" \
    "$(quick configs $b --describe --entity-type topics --entity-name tool 2>&1)"
  told "kafka-get-offsets of what is not yet in another tier" 0 '^(tool:0:)?$' get-offsets $b --topic tool --time -6
  told "kafka-transactions ends with 1" 1 'does not support LIST_TRANSACTIONS' transactions $b list
  told "kafka-features ends with 1" 1 'no features to update' features $b upgrade --feature group.version=1
  told "kafka-delegation-tokens ends with 1" 1 'does not support DESCRIBE_DELEGATION_TOKEN' delegation-tokens $b --describe --command-config /dev/null
  told "kafka-cluster of controllers ends with 1" 1 'MismatchedEndpointType|no controller endpoints' cluster cluster-id --bootstrap-controller "$plain"
}

printf '{"version":1,"users":[{"username":"alice","authType":"plain","plainPassword":"pencil"}]}' >"$work/credentials.json"
start_broker --credentials-file "$work/credentials.json" --group-initial-rebalance-delay-ms 0
printf %s "$CLIENT_PASSWORD" | "$kaasd" user add bob --password-stdin --file "$work/credentials.json" >/dev/null || fail "kaasd user add"
for name in quiet idle restarted renewed host; do printf -v $name 127.0.0.1:%s "$(free_port)"; done
host=localhost:${host#*:} six=[::1]:$(free_port)
another quiet "PLAINTEXT://$quiet"
another idle "PLAINTEXT://$idle" --connections-max-idle-ms 1000
another restarted "PLAINTEXT://$restarted"
another renewed "SASL_PLAINTEXT://$renewed" --connections-max-reauth-ms 3000 --credentials-file "$work/credentials.json"
another named "NAMED://$host,SIX://$six" --listener-security-protocol-map NAMED:PLAINTEXT,SIX:PLAINTEXT
seq 100 | kcat -b "$restarted" -P -t over -p 0
running=()
beside() { "${@:2}" >"$work/$1.out" 2>"$work/$1.err" & running+=($!); }
beside java java "${java_options[@]}" -cp "$cache/kafka-$version/*:$cache/kafka-clients-$version/*" "$root/scripts/traps/Traps.java" "$plain" "$quiet" "$idle" "$restarted" "$work"
beside rdk "$python" "$root/scripts/traps/librdkafka.py" "$plain" "$quiet" "$idle" "$restarted" "$work"
beside counts counted
beside renewing renewing
restart_below
(named) # waits for what it has started, and no more
logins
one_jvm $version
tools
wait "${running[@]}"
for out in "$work"/comes-* "$work"/renews-* "$work"/*.out; do count "$out"; done
between "traps of Java that were judged" 10 10 "$(grep -c . "$work/java.out")"
between "traps of librdkafka that were judged" 6 6 "$(grep -c . "$work/rdk.out")"
total
