#!/bin/bash
# The README's first five minutes, and what the tutorial of docs/quotas.md does
# with Kafka's own tools, typed as they stand there: the commands are taken from
# the documents, only the ports are free ones and the data is elsewhere.
. "$(dirname "$0")/lib.sh"

home=$work/home page=$root/README.md plain=127.0.0.1:$(free_port) sasl=127.0.0.1:$(free_port) http=127.0.0.1:$(free_port)
mkdir -p "$home/dist" "$work/bin"
ln -s "$(realpath "$kaasd")" "$home/dist/kaasd"
kafka_tool() { # kafka_tool FILE NAME: Kafka's own script of that name
  printf '#!/bin/bash\nKAASD_CACHE=%q\n. %q\ntool 4.4.0 %s "$@"\n' "$cache" "$root/scripts/lib.sh" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
kafka_tool kafka-configs.sh configs
kafka_tool kafka-producer-perf-test.sh producer-perf
kafka_tool kafka-console-consumer.sh console-consumer
kafka_tool kafka-consumer-groups.sh consumer-groups

# block TEXT: the block of the page that holds the text.
block() { awk -v text="$1" '/^```/ { open = !open; if (!open && index(all, text)) { printf "%s", all; exit } all = ""; next } open { all = all $0 "\n" }' "$page"; }
# typed LINES: runs them in the folder of the page.
typed() {
  [ -n "$1" ] || { echo "$page has no such block"; return 1; }
  (cd "$home" && PATH="$work/bin:$home/dist:$PATH" KAASD_BOOTSTRAP_SERVER=$plain KAASD_HTTP_LISTEN=$http \
    exec bash -euo pipefail -c "$(sed "s/localhost:9092/$plain/g; s/localhost:9095/$sasl/g; s/localhost:9404/$http/g" <<<"$1")") 2>&1
}
starts() { # starts LINE: a broker in the background
  local line=${1//localhost:9092/$plain}
  stop_broker
  (cd "$home" && PATH="$home/dist:$PATH" KAASD_LISTENERS="PLAINTEXT://$plain" KAASD_HTTP_LISTEN=$http \
    exec bash -c "exec ${line//localhost:9095/$sasl}") >"$broker_log" 2>&1 &
  broker_pid=$!
  for _ in $(seq 200); do grep -q 'kaasd ready' "$broker_log" && return 0; sleep 0.05; done
  fail "$1" "$(cat "$broker_log")"
}

starts "$(block './dist/kaasd start' | grep start)" && pass "1: it runs with no settings"
has "2: kaasd quota set" "$(typed "$(block 'kaasd quota set')")" 'producer_byte_rate +none +-> 1 MiB/s'
has "2: kafka-configs.sh does the same" "$(typed "$(block 'add-config producer_byte_rate=1048576')")" 'Completed updating config for user ANONYMOUS'
out=$(typed "$(block kafka-producer-perf-test.sh)")
has "3: the lines in the middle say about 0.98 MB/sec" "$(grep 'records sent' <<<"$out" | sed '1d;$d')" '\(0\.9[789] MB/sec\)'
out=$(typed "$(block /metrics)")
for series in limit_bytes_per_second bytes_total throttled_requests_total throttle_seconds_total; do
  has "4: /metrics shows $series" "$out" "^kaasd_quota_entity_$series\{client_id=\"\",quota=\"produce\",user=\"ANONYMOUS\"\} [1-9]"
done
has "4: kaasd quota resolve says why" "$out" 'produce +1 MiB/s +user +override'
login=$(block 'kaasd user add alice')
has "5: kaasd user add" "$(typed "$(grep -v ' start ' <<<"$login")")" 'added alice'
starts "$(grep ' start ' <<<"$login")" && pass "5: it starts with a log-in"
has "5: alice produces with kcat and sees her quotas" "$(typed "$(block 'echo hello')")" 'alice +1 MiB/s +2 MiB/s'
has "5: Kafka's tools log in" "$(typed "$(block 'cat >alice.properties')")" "user-principal 'alice' are .*consumer_byte_rate=2097152.0"

starts "$(block 'start --quota-model kafka')" && pass "6: it starts with the kafka model"
has "6: the limits of all levels" "$(typed "$(block 'kaasd quota set --client-default')")" 'connection +50/s +ip-default +override'
kill -9 "$broker_pid"
wait "$broker_pid" 2>/dev/null
broker_pid=''
starts "$(block 'start --quota-model kafka')"
out=$(typed 'kaasd quota describe')
for entity in 'user ANONYMOUS, client-id perf-producer-client +1 MiB/s' 'client-default +2 MiB/s +4 MiB/s' 'ip-default .* 50/s'; do
  has "6: kill -9 has taken nothing of $entity" "$out" "^$entity"
done
out=$(typed "$(block 'kafka-consumer-groups.sh')")
has "7: /metrics shows the lag" "$out" '^kaasd_group_lag\{group="billing",topic="orders"\} [1-9]'
has "7: and so does Kafka's tool" "$out" '^billing +orders +0 +5000 +[0-9]+ +[1-9]'
has "7: the offsets are reset" "$out" '^billing +orders +0 +0 *$'

# The tutorial shows a session: what is typed stands behind "$ ", the answer below.
session() { sed -n 's/^\$ //p' <<<"$1"; }
answer() { awk -v line="\$ $2" '$0 == line { on = 1; next } /^\$ / { on = 0 } on' <<<"$1"; } # answer BLOCK COMMAND
stop_broker
home=$work/team page=$root/docs/quotas.md
mkdir -p "$home/dist"
ln -s "$(realpath "$kaasd")" "$home/dist/kaasd"
has "tutorial 1: users" "$(typed "$(session "$(block 'kaasd user add alice')")")" 'added bob'
all=$(block 'kaasd quota describe --user alice --all-levels')
starts "$(session "$all" | grep '^kaasd start')" && pass "tutorial 2: it starts with the kafka model"
same "tutorial 3 to 5 with Kafka's own tool" "Completed updating default config for users in the cluster.
Completed updating config for user bob.
Completed updating config for user alice.
Completed updating default config for ips in the cluster.
Completed updating config for ip 10.0.0.7." "$(typed "$(block kafka-configs.sh)")"
described() { same "tutorial 6: $1" "$(answer "$all" 'kaasd quota describe')" "$(typed 'kaasd quota describe')"; }
described "kaasd describes what Kafka's tool has set"
starts "$(session "$all" | grep '^kaasd start')"
described "and so after a restart"
(typed "$(block kafka-producer-perf-test.sh)" >"$work/perf") &
perf_pid=$!
for _ in $(seq 100); do top=$(typed 'kaasd quota top --once'); grep -qE '^produce +alice +loadgen .* [1-9][0-9]* +[01] *$' <<<"$top" && break; sleep 0.1; done
has "tutorial 7: top shows alice's load generator" "$top" '^produce +alice +loadgen +- +1 MiB/s '
wait $perf_pid
has "tutorial 7: the 16 MiB are there" "$(tail -1 "$work/perf")" '^16384 records sent'
has "tutorial 7: beyond the burst each second takes a second of throttle" "$(curl -s "http://$http/metrics")" \
  '^kaasd_quota_entity_throttle_seconds_total\{client_id="loadgen",quota="produce",user="alice"\} [4-9]\.'
total
