#!/bin/bash
# The rate is the limit, within 1 % of what is charged and the books within
# 0.2 %, whatever the number of connections, driven by a raw load generator.
# With the user model: produce and fetch, with and without a log-in. With the
# kafka model: each of the eight levels, with clients that share a bucket and
# clients that do not, and the quotas of work, partitions and connections.
#
#   RATE_SECONDS=5     how long each load of the user model lasts
#   LEVEL_SECONDS=5    how long each of the kafka model lasts
#   RATES="user levels shares changes doors raise"    which parts
. "$(dirname "$0")/lib.sh"

limit=10000000 seconds=${RATE_SECONDS:-5} level_seconds=${LEVEL_SECONDS:-5}
loadgen || exit 1
load=$cache/loadgen

# fresh USER: a new broker, so that what waits of one load is not charged in the next.
fresh() {
  start_broker --credentials-file "$work/users.json"
  "$kaasd" quota set --bootstrap-server "$plain" --user "$1" produce=10MB fetch=10MB >/dev/null || fail "kaasd quota set for $1"
  login=(--address "$plain")
  [ "$1" = ANONYMOUS ] || login=(--address "$sasl" --password "$1-secret" --mechanism SCRAM-SHA-512)
}
user_model() {
  local user mode connections bytes
  echo '{"users":[]}' >"$work/users.json"
  printf %s alice-secret | "$kaasd" user add alice --password-stdin --file "$work/users.json" >/dev/null || fail "kaasd user add"
  for user in ANONYMOUS alice; do
    for mode in produce fetch; do
      while read -r connections bytes; do
        fresh $user
        hold "$mode of $user, connections: $connections" "$seconds" "${login[@]}" --mode $mode --topic "$mode-$connections-$user" \
          --bucket "${user#ANONYMOUS}/loadgen" --connections "$connections" --bytes "$bytes" --limit $limit --burst 1s
      done <<<'1 1000000
20 200000
100 50000'
    done
  done
}

cat >"$work/credentials.json" <<'X'
{"version":1,"users":[
 {"username":"admin","authType":"plain","plainPassword":"secret"},
 {"username":"alice","authType":"plain","plainPassword":"secret"},
 {"username":"bob","authType":"plain","plainPassword":"secret"}]}
X
as=(--password secret --mechanism PLAIN --admin admin/loadgen)
# kafka_model [settings...]: a broker of that model with a burst of one second.
kafka_model() {
  data=$work/kafka-model
  stop_broker
  rm -rf "$data"
  start_broker --quota-model kafka --quota-window-num 2 --credentials-file "$work/credentials.json" "$@"
}
# quota ENTITY... -- KEY=VALUE[,KEY=VALUE] or KEY[,KEY]: sets with values, else removes.
quota() {
  local entity=() action=--delete-config
  while [ "$1" != -- ]; do entity+=("$1"); shift; done
  case $2 in *=*) action=--add-config ;; esac
  quick configs --bootstrap-server "$plain" --alter "${entity[@]}" "$action" "$2" >"$work/out" 2>&1 || fail "alter ${entity[*]} $2" "$(cat "$work/out")"
}
# together FILE...: waits for the loads that print to these files, and counts them.
pids=()
together() {
  wait "${pids[@]}"
  pids=()
  local part
  for part in "$@"; do count "$work/$part"; done
}
# both NAME FLAGS...: produce and fetch at once, each with quotas of its own.
loads=0
both() {
  local name=$1 mode
  shift
  loads=$((loads + 1))
  for mode in produce fetch; do
    hold "$name, $mode" "$level_seconds" --mode $mode --topic "load-$loads-$mode" --burst 1s "$@" >"$work/$mode" &
    pids+=($!)
  done
  together produce fetch
}
# level NAME ENTITY... -- FLAGS...: a limit of that entity alone.
level() {
  local name=$1 entity=()
  shift
  while [ "$1" != -- ]; do entity+=("$1"); shift; done
  shift
  quota "${entity[@]}" -- producer_byte_rate=5000000,consumer_byte_rate=5000000
  both "$name" --address "$sasl" "${as[@]}" --limit 5000000 "$@"
  quota "${entity[@]}" -- producer_byte_rate,consumer_byte_rate
}
levels() {
  kafka_model
  level "1 user and client-id" --user alice --client c1 -- --bucket alice/c1 --connections 4
  level "2 user and client default: each client-id has its own" --user alice --client-defaults -- --bucket alice/c1 --bucket alice/c2 --connections 3
  level "3 user: all client-ids together" --user alice -- --bucket alice/c1,alice/c2,alice --connections 10
  level "4 user default and client-id: each user has its own" --user-defaults --client c1 -- --bucket alice/c1 --bucket bob/c1 --connections 2
  level "5 both defaults: each pair has its own" --user-defaults --client-defaults -- --bucket alice/c1 --bucket alice/c2 --bucket bob/c1
  level "6 user default: each user has its own, without a client-id too" --user-defaults -- --bucket alice/c1,alice/,alice --bucket bob/c1 --connections 4
  level "7 client-id: all users together" --client c1 -- --bucket alice/c1,bob/c1 --connections 10
  level "8 client default: each client-id, all users together" --client-defaults -- --bucket alice/c1,bob/c1 --bucket alice/c2 --bucket bob/,bob --connections 2

  quota --client-defaults -- producer_byte_rate=5000000,consumer_byte_rate=5000000
  both "connections without a log-in, the client-id null or empty" --address "$plain" --bucket ',/' --bucket /c1 --connections 3 --admin /other --limit 5000000
  # Connections that come back take steps of 64 KiB at their own times: over a few seconds the ends weigh 1 %.
  hold "coming back on a new connection for every request" "$((3 * level_seconds))" --address "$plain" --bucket /c9 --connections 4 --admin /other --limit 5000000 \
    --burst 1s --reconnect --books 5
  quota --client-defaults -- producer_byte_rate,consumer_byte_rate

  # What one entity says of one key hides no other key.
  quota --user alice --client c1 -- producer_byte_rate=3000000
  quota --user alice -- producer_byte_rate=6000000,consumer_byte_rate=6000000
  local flags=(--address "$sasl" "${as[@]}" --burst 1s)
  hold "a pair's produce alone" "$level_seconds" "${flags[@]}" --topic pair --bucket alice/c1 --limit 3000000 >"$work/pair" &
  pids+=($!)
  hold "its user's produce, of the other client-ids" "$level_seconds" "${flags[@]}" --topic others --bucket alice/c2,alice/c3 --limit 6000000 >"$work/others" &
  pids+=($!)
  hold "its user's fetch, of all client-ids" "$level_seconds" "${flags[@]}" --mode fetch --topic all --bucket alice/c1,alice/c2 --limit 6000000 >"$work/all" &
  pids+=($!)
  together pair others all
}

# shares: request_percentage holds a user to its share of a core. What is charged
# is exact; what the kernel counts has the runtime and the other threads on top,
# which is much for requests as small as these. Unlimited they use most of a core.
shares() {
  local out
  kafka_model
  quota --user alice -- request_percentage=20
  "$load" --address "$sasl" "${as[@]}" --mode request --bucket alice/c1,alice/c2 --connections 4 --duration 10s >"$work/out" 2>&1 &
  pids=($!)
  sleep 3
  out=$(python3 "$root/scripts/tools/share.py" "$http" "$broker_pid" alice 5)
  wait "${pids[0]}" && pass "request_percentage=20 throttles and mutes: $(python3 -c 'import json,sys
b=json.loads(sys.argv[1])["buckets"][0]; print("%d of %d answers, %.0f a second" % (b["throttled"], b["answers"], b["rate"]))' "$(cat "$work/out")")" ||
    fail "request_percentage=20 throttles and mutes" "$(cat "$work/out")"
  pids=()
  has "request_percentage=20 announces throttles" "$(grep -o '"throttled":[0-9]*' "$work/out")" '"throttled":[1-9]'
  within "what is charged, in percent of a thread" "${out% *}" 20 2
  within "what the broker's process uses, in percent of a core" "${out#* }" 20 200
}

# changes: controller_mutation_rate, for clients that are refused and try again,
# and for old ones that are throttled.
changes() {
  local version out
  kafka_model --controller-quota-window-num 1
  for version in 7 5; do
    quota --user alice -- controller_mutation_rate=20
    out=$("$load" --address "$sasl" "${as[@]}" --mode mutate --version $version --topic "change-$version" --partitions 2 --bucket alice/c1 \
      --limit 20 --burst 1s --books 1 --duration "${level_seconds}s" 2>&1) &&
      pass "controller_mutation_rate=20 with CreateTopics $version: $(python3 -c 'import json,sys
d=json.loads(sys.argv[1]); print("%.2f partitions/s, books %+.2f %%, %d refused" % (d["rate"], d["books_percent"], d["refused"]))' "$out")" ||
      fail "controller_mutation_rate=20 with CreateTopics $version" "$out"
    quota --user alice -- controller_mutation_rate
  done
  kafka_model # with Kafka's eleven windows: a burst of 22 for 2 a second
  quota --user ANONYMOUS -- controller_mutation_rate=2
  topics() { quick topics --bootstrap-server "$plain" --create --topic "$1" --partitions "$2" 2>&1; }
  same "a topic larger than the burst is created" "Created topic large." "$(topics large 42)"
  has "the next one is refused with THROTTLING_QUOTA_EXCEEDED" "$(topics small 1)" 'throttling quota has been exceeded'
  sleep 10
  same "and is created when the debt is paid" "Created topic small." "$(topics small 1)"
}

# knock NAME FLAGS...: connections that come one after the other; what came of them is in $out.
knock() {
  local name=$1
  shift
  out=$("$load" --address "$plain" --mode connect "$@" 2>&1) && pass "$name: $(python3 -c 'import json,sys
d=json.loads(sys.argv[1]); print("%d passed, %d refused after %.2f-%.2f s" % (d["passed"], d["refused"], d["held_min"], d["held_max"]))' "$out")" || fail "$name" "$out"
}
# doors: connection_creation_rate of addresses.
doors() {
  data=$work/doors
  start_broker --quota-model kafka
  quota --ip 127.0.0.3 -- connection_creation_rate=1
  knock "connection_creation_rate=1 from idle: ten pass, the others are closed unread" --from 127.0.0.3 --connections 15 --duration 100ms --limit 1 --burst 10s
  knock "another address is not affected" --from 127.0.0.2 --connections 15 --duration 100ms
  quota --ip-defaults -- connection_creation_rate=20
  knock "a default holds for each address" --from 127.0.0.2 --connections 1000 --duration 5s --limit 20 --burst 10s
  knock "and anew for the next" --from 127.0.0.4 --connections 210 --duration 500ms --limit 20 --burst 10s
  quota --ip-defaults -- connection_creation_rate
  quota --entity-type brokers --entity-name 1 -- max.connection.creation.rate=50
  knock "max.connection.creation.rate refuses nobody" --from 127.0.0.5 --connections 700 --duration 200ms --within 10s
  within "and lets 700 in at its rate, the burst at once, in seconds" "$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["served"])' "$out")" 4 10
  quota --entity-type brokers --entity-name 1 -- max.connection.creation.rate
  has "refused connections are counted" "$(curl -s "http://$http/metrics")" '^kaasd_ip_connections_refused_total [1-9]'
}

# woken: a thousand throttled connections feel an alteration, those of one bucket
# and those that have one each.
woken() {
  local out
  data=$work/woken
  start_broker --quota-model kafka
  feel() { # feel NAME FLAGS...
    local name=$1
    shift
    out=$("$load" --address "$plain" --mode raise --connections 1000 --admin /admin "$@" 2>&1) &&
      pass "a raise is in force on 1,000 throttled connections of $name: $(python3 -c 'import json,sys
d=json.loads(sys.argv[1]); print("answered after %.1f ms, felt %.1f (median), %.1f (99 %%), %.1f ms (last) after that" % (d["alter_ms"], d["median_ms"], d["p99_ms"], d["max_ms"]))' "$out")" ||
      fail "a raise is in force on 1,000 throttled connections of $name" "$out"
  }
  quota --client noisy -- producer_byte_rate=50000
  feel "one client" --topic one --bucket /noisy --bytes 2000 --entity client-id=noisy --limit 1e9
  again() { quota --client noisy -- producer_byte_rate; quota --client noisy -- producer_byte_rate=50000; } # with a full bucket
  again
  feel "one client that gets a quota with its user" --topic pair --bucket /noisy --bytes 2000 --entity user=ANONYMOUS,client-id=noisy --limit 1e9
  again
  quota --user ANONYMOUS --client noisy -- producer_byte_rate=40000
  feel "one pair that loses its quota to a higher one" --topic lost --bucket /noisy --bytes 2000 --entity user=ANONYMOUS,client-id=noisy
  quota --client-defaults -- producer_byte_rate=5000
  feel "a thousand clients" --topic each --bucket '/noisy-*' --bytes 110000 --entity client-id --limit 1e9
}

one_jvm 4.4.0
for part in ${RATES:-user levels shares changes doors raise}; do
  case $part in user) user_model ;; raise) woken ;; *) $part ;; esac
done
total
