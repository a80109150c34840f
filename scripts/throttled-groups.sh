#!/bin/bash
# Groups of stock clients under quotas that are far too small for them: nobody is
# thrown out, no group rebalances, and who shares one connection for fetches and
# heartbeats (sarama) is told of in the log.
. "$(dirname "$0")/clients/lib.sh"

clients_broker
by_bytes=(librdkafka sarama java-4.4 kafka-python) by_work=(librdkafka sarama)
still=15 # seconds that nothing may happen, at the least
groups=() pids=()

# client NAME ARGS...: the program of that client.
client() {
  local name=$1 line
  line=$(awk -F'\t' -v name="$name" '$1 == name { print $2 }' "$root/scripts/clients/clients.tsv")
  shift
  eval "exec env $line \"\$@\""
}
# group CLIENT USER MECHANISM: two members of the group USER, who read the topic CLIENT.
group() {
  groups+=("$2")
  for i in 1 2; do
    (client "$1" consume --bootstrap-server "$sasl" --topic "$1" --group "$2" --records 0 --timeout 120 --session 6 --user "$2" --mechanism "$3") >"$work/$2-$i" 2>"$work/$2-$i.err" &
    pids+=($!)
  done
}
scrape() { curl -s "http://$http/metrics" >"$work/metrics"; }
# sample METRIC LABELS: what the last scrape says, 0 without such a series.
sample() { awk -v series="$1{$2}" '$1 == series { n = $2 } END { printf "%d", n }' "$work/metrics"; }
# settled: every group has its two members, who have something to read.
settled() {
  scrape
  for g in "${groups[@]}"; do
    [ "$(sample kaasd_group_members "group=\"$g\"")" = 2 ] && [ "$(sample kaasd_group_state "group=\"$g\",state=\"Stable\"")" = 1 ] || return 1
  done
}
quota() { case $1 in *-256) echo request ;; *) echo fetch ;; esac; } # quota GROUP: the one that it has
# throttled GROUP: how often that was.
throttled() { sample kaasd_quota_entity_throttled_requests_total "client_id=\"\",quota=\"$(quota "$1")\",user=\"$1\""; }
# held: every group was throttled since it is watched. One throttle may be longer than $still.
held() {
  scrape
  for g in "${groups[@]}"; do [ "$(throttled "$g")" -gt "${before[$g]}" ] || return 1; done
}
# calm GROUP: it is as it was, though it was throttled.
calm() {
  local now throttled
  now=$(sample kaasd_group_rebalances_total "group=\"$1\"")
  throttled=$(($(throttled "$1") - ${before[$1]}))
  if [ "$now" = "${rebalances[$1]}" ] && [ "$(sample kaasd_group_members "group=\"$1\"")" = 2 ] && [ "$throttled" -gt 0 ]; then
    pass "$1: $throttled throttles by $(quota "$1") in $((SECONDS - began)) s, no rebalance"
  else fail "$1: throttled by $(quota "$1")" "$throttled throttles in $((SECONDS - began)) s, rebalances: ${rebalances[$1]} before and $now now" "$(tail -n 3 "$work/$1"-?.err)"; fi
}

"$cache/venv/bin/python" -c 'import sys
from confluent_kafka.admin import AdminClient, NewTopic
admin = AdminClient({"bootstrap.servers": sys.argv[1]})
for made in admin.create_topics([NewTopic(t, 2, 1) for t in sys.argv[2:]]).values(): made.result(60)' "$plain" "${by_bytes[@]}"
for c in "${by_bytes[@]}"; do
  (client librdkafka produce --bootstrap-server "$plain" --topic "$c" --partition-count 2 --records 20000 --codec none) >/dev/null &
  pids+=($!)
done
wait "${pids[@]}"
pids=()
for c in "${by_bytes[@]}"; do "$kaasd" quota set --bootstrap-server "$plain" --user "$c" fetch=4kB >/dev/null || fail "quota set for $c"; done
for c in "${by_bytes[@]}"; do group "$c" "$c" PLAIN; done
for c in "${by_work[@]}"; do group "$c" "$c-256" SCRAM-SHA-256; done
for _ in $(seq 600); do settled && break; sleep 0.2; done
settled || fail "the groups do not settle" "$(grep ^kaasd_group_ "$work/metrics")" "$(tail -n 3 "$work"/*.err)"

# So little that each request is throttled, on a fast machine too: by a second, which is the most for request time.
for c in "${by_work[@]}"; do "$kaasd" quota set --bootstrap-server "$plain" --user "$c-256" request=0.0001% >/dev/null || fail "quota set for $c-256"; done

declare -A rebalances before
for g in "${groups[@]}"; do
  rebalances[$g]=$(sample kaasd_group_rebalances_total "group=\"$g\"")
  before[$g]=$(throttled "$g")
done
began=$SECONDS
sleep "$still"
for _ in $(seq 300); do held && break; sleep 0.2; done
for g in "${groups[@]}"; do calm "$g"; done
told=$(grep 'longer than the session timeout' "$broker_log")
has "a throttle above the session on a shared connection is told, once" "$(grep -c . <<<"$told") $told" '^1 .*"group":"sarama"'
kill -KILL "${pids[@]}" 2>/dev/null # leaving would wait behind the throttles
wait "${pids[@]}" 2>/dev/null
total
