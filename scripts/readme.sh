#!/bin/bash
# The README's first five minutes, typed as they stand there: the commands are
# taken from the document, only the ports are free ones and the data is elsewhere.
. "$(dirname "$0")/lib.sh"

home=$work/home plain=127.0.0.1:$(free_port) http=127.0.0.1:$(free_port)
mkdir -p "$home/dist" "$work/bin"
ln -s "$(realpath "$kaasd")" "$home/dist/kaasd"
kafka_tool() { # kafka_tool FILE NAME: Kafka's own script of that name
  printf '#!/bin/bash\nKAASD_CACHE=%q\n. %q\ntool 4.4.0 %s "$@"\n' "$cache" "$root/scripts/lib.sh" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
kafka_tool kafka-configs.sh configs
kafka_tool kafka-producer-perf-test.sh producer-perf

# block TEXT: the block of the README that holds the text.
block() { awk -v text="$1" '/^```/ { open = !open; if (!open && index(all, text)) { printf "%s", all; exit } all = ""; next } open { all = all $0 "\n" }' "$root/README.md"; }
# typed LINES: runs them in the folder of the README.
typed() {
  [ -n "$1" ] || { echo "the README has no such block"; return 1; }
  (cd "$home" && PATH="$work/bin:$home/dist:$PATH" KAASD_BOOTSTRAP_SERVER=$plain KAASD_HTTP_LISTEN=$http \
    exec bash -euo pipefail -c "$(sed "s/localhost:9092/$plain/g; s/localhost:9404/$http/g" <<<"$1")") 2>&1
}
starts() { # starts LINE: a broker in the background
  stop_broker
  (cd "$home" && KAASD_LISTENERS="PLAINTEXT://$plain" KAASD_HTTP_LISTEN=$http exec bash -c "exec ${1//localhost:9092/$plain}") >"$broker_log" 2>&1 &
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
total
