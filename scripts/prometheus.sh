#!/bin/bash
# Prometheus' own opinion of what kaasd ships and serves: the rules, their unit
# tests, the scrape configuration, and the page /metrics with either model.
. "$(dirname "$0")/lib.sh"

check() { local name=$1; shift; if "$@" >"$work/out" 2>&1; then pass "$name"; else fail "$name" "$(head -c 800 "$work/out")"; fi; }
check "rules are valid" promtool check rules "$root/deploy/prometheus/kaasd-rules.yaml"
check "rules fire when they should" promtool test rules "$root/deploy/prometheus/kaasd-rules-test.yaml"
check "scrape configuration is valid" promtool check config "$root/deploy/prometheus/prometheus.yaml"

lint() { promtool check metrics <"$work/metrics"; }
scrape() { curl -s "http://$http/metrics" >"$work/metrics"; }
lines() { for _ in 1 2 3; do head -c 20000 /dev/zero | tr '\0' x | fold -w 1000 | timeout 20 kcat -b "$plain" -P "$@"; done; }
start_broker
"$kaasd" quota set --bootstrap-server "$plain" --user ANONYMOUS produce=10kB >/dev/null || fail "kaasd quota set"
lines -t scraped
scrape
check "/metrics of the user model passes the linter" lint
has "the user model decides by users" "$(cat "$work/metrics")" '^kaasd_quota_checks_total\{level="user",outcome="throttled",quota="produce"\} [1-9]'

# The kafka model, with a quota of each kind at work.
data=$work/kafka-model
start_broker --quota-model kafka --quota-window-num 2
set_quota() { "$kaasd" quota set --bootstrap-server "$plain" "$@" >/dev/null || fail "kaasd quota set $*"; }
set_quota --client-id pipes produce=10kB fetch=10kB
set_quota --user ANONYMOUS --client-default mutation=1/s
set_quota --ip 127.0.0.9 connection=1/s
lines -t scraped -X client.id=pipes
timeout 30 kcat -b "$plain" -C -t scraped -p 0 -o beginning -e -q -X client.id=pipes >/dev/null
loadgen || fail "the load generator does not build"
"$cache/loadgen" --address "$plain" --mode connect --connections 4 --duration 100ms --from 127.0.0.9 >/dev/null 2>&1 # more than may come
"$cache/loadgen" --address "$plain" --mode mutate --partitions 20 --duration 2s --topic changes >/dev/null 2>&1
set_quota --user-default request=0.0001%
for _ in 1 2 3; do timeout 20 kcat -b "$plain" -L >/dev/null 2>&1; done
scrape
check "/metrics of the kafka model passes the linter" lint
while read -r series; do check "the kafka model shows $series" awk -v series="$series" '$1 == series && $2 > 0 { found = 1 } END { exit !found }' "$work/metrics"; done <<'X'
kaasd_quota_checks_total{level="client-id",outcome="throttled",quota="produce"}
kaasd_quota_checks_total{level="client-id",outcome="throttled",quota="fetch"}
kaasd_quota_checks_total{level="user-default",outcome="throttled",quota="request"}
kaasd_quota_checks_total{level="user+client-default",outcome="throttled",quota="mutation"}
kaasd_quota_checks_total{level="ip",outcome="throttled",quota="connection"}
kaasd_quota_entity_limit_bytes_per_second{client_id="pipes",quota="produce",user=""}
kaasd_quota_entity_request_limit_ratio{client_id="",user="ANONYMOUS"}
kaasd_quota_entity_mutation_limit_per_second{client_id="loadgen",user="ANONYMOUS"}
kaasd_quota_entity_bytes_total{client_id="pipes",quota="fetch",user=""}
kaasd_quota_entity_request_seconds_total{client_id="",user="ANONYMOUS"}
kaasd_quota_entity_mutations_total{client_id="loadgen",user="ANONYMOUS"}
kaasd_quota_entity_throttled_requests_total{client_id="pipes",quota="fetch",user=""}
kaasd_quota_entity_throttle_seconds_total{client_id="",quota="request",user="ANONYMOUS"}
kaasd_ip_connections_refused_total
kafka_server_produce_throttle_time{client_id="pipes",user=""}
kafka_server_request_request_time{client_id="",user="ANONYMOUS"}
X

# A real Prometheus scrapes it and evaluates the rules over it.
prom=127.0.0.1:$(free_port)
sed "s/kaasd:9404/$http/; s/: 5s/: 1s/" "$root/deploy/prometheus/prometheus.yaml" >"$work/prometheus.yaml"
cp "$root/deploy/prometheus/kaasd-rules.yaml" "$work/"
prometheus --config.file="$work/prometheus.yaml" --storage.tsdb.path="$work/tsdb" --web.listen-address="$prom" >"$work/prom.log" 2>&1 &
prom_pid=$!
query() { curl -s "http://$prom/api/v1/query" --data-urlencode "query=$1"; }
for _ in $(seq 100); do grep -q '"value"' <<<"$(query 'kaasd_ready == 1')" && break; sleep 0.2; done
has "Prometheus scrapes it" "$(query 'up{job="kaasd"}')" '"1"\]'
has "Prometheus sees it ready" "$(query kaasd_ready)" '"1"\]'
has "Prometheus knows who was throttled" "$(query 'kaasd_quota_entity_throttle_seconds_total{quota="produce",client_id="pipes"} > 0')" '"client_id":"pipes"'
has "Prometheus loaded the alerts" "$(curl -s "http://$prom/api/v1/rules")" 'KaasdClientThrottled'
kill $prom_pid && wait $prom_pid
total
