#!/bin/bash
# Stock clients, each throttled by each of the eight levels of the kafka model:
# the client is told, by its own account where it gives one, and the broker
# counts the throttle for the owner of that level's bucket.
. "$(dirname "$0")/lib.sh"

version=${kafka_versions##* } python=$cache/venv/bin/python
clients=(kcat librdkafka python3 python2 kgo java)
go build -C "$root" -o "$work/kgoproduce" ./scripts/kgoproduce || exit 1
for c in "${clients[@]}"; do printf '{"username":"%s","authType":"plain","plainPassword":"secret"}\n' "$c"; done | paste -sd, |
  sed 's/.*/{"version":1,"users":[&]}/' >"$work/credentials.json"
printf '%s\n' security.protocol=SASL_PLAINTEXT sasl.mechanism=PLAIN \
  'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="java" password="secret";' >"$work/java.properties"
start_broker --quota-model kafka --quota-window-num 2 --credentials-file "$work/credentials.json"
one_jvm "$version"

# produce CLIENT: 200 kB as user CLIENT with client-id CLIENT-app. Prints the
# longest throttle that it knows of in ms; kcat knows of none.
produce() {
  case $1 in
    kcat) head -c 200000 /dev/zero | tr '\0' x | fold -w 1000 | timeout 30 kcat -b "$sasl" -P -t "$1" -X client.id="$1-app" -X linger.ms=5 -X batch.size=32768 \
      -X security.protocol=SASL_PLAINTEXT -X sasl.mechanism=PLAIN -X sasl.username="$1" -X sasl.password=secret && echo unknown ;;
    librdkafka) timeout 30 "$python" "$root/scripts/tools/produce.py" confluent "$sasl" "$1" secret "$1" ;;
    python3) timeout 30 "$python" "$root/scripts/tools/produce.py" kafka "$sasl" "$1" secret "$1" ;;
    python2) PYTHONPATH=$cache/kafka-python-2 timeout 30 "$python" "$root/scripts/tools/produce.py" kafka "$sasl" "$1" secret "$1" ;;
    kgo) timeout 30 "$work/kgoproduce" --bootstrap-server "$sasl" --user "$1" --password secret --client-id "$1-app" --topic "$1" ;;
    java) quick producer-perf --topic "$1" --num-records 200 --record-size 1000 --throughput -1 --print-metrics --producer.config "$work/java.properties" \
      --producer-props bootstrap.servers="$sasl" client.id="$1-app" batch.size=32768 linger.ms=5 |
      sed -nE 's/^producer-metrics:produce-throttle-time-max:.*: *([0-9]+).*$/\1/p' ;;
  esac
}
# owner CLIENT OWNER: the labels of that owner's series.
owner() {
  case $2 in
    pair) echo "client_id=\"$1-app\",quota=\"produce\",user=\"$1\"" ;;
    user) echo "client_id=\"\",quota=\"produce\",user=\"$1\"" ;;
    client) echo "client_id=\"$1-app\",quota=\"produce\",user=\"\"" ;;
  esac
}
# count_of METRIC LABELS: what the last scrape says, 0 without such a series.
count_of() { awk -v series="$1{$2}" '$1 == series { n = $2 } END { printf "%d", n }' "$work/metrics"; }
scrape() { curl -s "http://$http/metrics" >"$work/metrics"; }
# level NAME OWNER ENTITY-FLAGS...: CLIENT stands for the client's user, APP for its client-id.
level() {
  local name=$1 kind=$2 c told decided throttles=() pids=()
  shift 2
  scrape
  decided=$(count_of kaasd_quota_checks_total "level=\"$name\",outcome=\"throttled\",quota=\"produce\"")
  for c in "${clients[@]}"; do
    throttles+=("$(count_of kaasd_quota_entity_throttled_requests_total "$(owner "$c" "$kind")")")
    "$kaasd" quota set --bootstrap-server "$plain" $(sed "s/CLIENT/$c/g; s/APP/$c-app/g" <<<"$*") produce=100kB >/dev/null || fail "quota set of $name for $c"
  done
  for c in "${clients[@]}"; do
    produce "$c" >"$work/$c" 2>"$work/$c.err" &
    pids+=($!)
  done
  wait "${pids[@]}"
  scrape
  for c in "${clients[@]}"; do
    told=$(cat "$work/$c") counted=$(($(count_of kaasd_quota_entity_throttled_requests_total "$(owner "$c" "$kind")") - throttles[0]))
    throttles=("${throttles[@]:1}")
    if [ "$told" = unknown ] || [ "${told:-0}" -gt 0 ] && [ "$counted" -gt 0 ]; then pass "$name: $c is throttled $counted times$([ "$told" = unknown ] || echo ", by up to $told ms")"
    else fail "$name: $c is throttled" "$counted times, by up to ${told:-nothing} ms" "$(tail -3 "$work/$c.err")"; fi
    "$kaasd" quota unset --bootstrap-server "$plain" $(sed "s/CLIENT/$c/g; s/APP/$c-app/g" <<<"$*") produce >/dev/null || fail "quota unset of $name for $c"
  done
  decided=$(($(count_of kaasd_quota_checks_total "level=\"$name\",outcome=\"throttled\",quota=\"produce\"") - decided))
  [ "$decided" -ge ${#clients[@]} ] && pass "$name: that level has decided $decided throttles" || fail "$name: that level has decided $decided throttles"
}
level user+client-id pair --user CLIENT --client-id APP
level user+client-default pair --user CLIENT --client-default
level user user --user CLIENT
level user-default+client-id pair --user-default --client-id APP
level user-default+client-default pair --user-default --client-default
level user-default user --user-default
level client-id client --client-id APP
level client-default client --client-default
total
