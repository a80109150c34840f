#!/bin/bash
# Prometheus' own opinion of what kaasd ships and serves: the rules, their unit
# tests, the scrape configuration, and the page /metrics.
. "$(dirname "$0")/lib.sh"

check() { local name=$1; shift; if "$@" >"$work/out" 2>&1; then pass "$name"; else fail "$name" "$(head -c 800 "$work/out")"; fi; }
check "rules are valid" promtool check rules "$root/deploy/prometheus/kaasd-rules.yaml"
check "rules fire when they should" promtool test rules "$root/deploy/prometheus/kaasd-rules-test.yaml"
check "scrape configuration is valid" promtool check config "$root/deploy/prometheus/prometheus.yaml"

start_broker
"$kaasd" quota set --bootstrap-server "$plain" --user ANONYMOUS produce=10kB >/dev/null || fail "kaasd quota set"
for _ in 1 2 3; do head -c 20000 /dev/zero | tr '\0' x | fold -w 1000 | timeout 20 kcat -b "$plain" -P -t scraped; done
curl -s "http://$http/metrics" >"$work/metrics"
lint() { promtool check metrics <"$work/metrics"; }
check "/metrics passes the linter" lint

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
has "Prometheus knows who was throttled" "$(query 'kaasd_quota_entity_throttle_seconds_total{quota="produce",user="ANONYMOUS"} > 0')" '"user":"ANONYMOUS"'
has "Prometheus loaded the alerts" "$(curl -s "http://$prom/api/v1/rules")" 'KaasdClientThrottled'
kill $prom_pid && wait $prom_pid
total
