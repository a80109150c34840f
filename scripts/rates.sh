#!/bin/bash
# The limit holds: charged bytes within 1 % of it, produce and fetch, with 1, 20
# and 100 connections, with and without a log-in; and without a limit the same
# measurement fails. RATE_SECONDS is how long each of them loads.
. "$(dirname "$0")/lib.sh"
limit=10000000 seconds=${RATE_SECONDS:-10}
loadgen=$root/dist/loadgen
[ -x "$loadgen" ] || (cd "$root" && go build -o dist/loadgen ./scripts/loadgen) || exit 1

printf alice-secret | "$kaasd" user add alice --file "$work/credentials.json" --password-stdin >/dev/null || exit 1
start_broker --credentials-file "$work/credentials.json"
anonymous=(--address "$plain")
alice=(--address "$sasl" --user alice --password alice-secret)

load() { "$loadgen" --topic rates --duration "${seconds}s" --limit $limit --tolerance 1 "$@" 2>&1; }
rate() { # rate NAME ARGS...
  local name=$1 out
  shift
  if out=$(load "$@"); then
    pass "$name: $(python3 -c 'import json,sys; r=json.load(sys.stdin); print("%.0f of %.0f bytes/s, %+.2f %%" % (r["rate"], r["limit"], r["error_percent"]))' <<<"$out")"
  else fail "$name" "$out"; fi
}

if out=$(load --duration 1s "${anonymous[@]}"); then fail "without a limit the measurement fails" "$out"; else
  pass "without a limit the measurement fails: $out"; fi
for user in ANONYMOUS alice; do
  "$kaasd" quota set --bootstrap-server "$plain" --user $user produce=$limit fetch=$limit >/dev/null || exit 1
done
for connections in 1 20 100; do
  rate "produce, $connections connections" "${anonymous[@]}" --connections $connections
  rate "produce, $connections connections, logged in" "${alice[@]}" --connections $connections
  rate "fetch, $connections connections" "${anonymous[@]}" --mode fetch --connections $connections --bytes 1000000
  rate "fetch, $connections connections, logged in" "${alice[@]}" --mode fetch --connections $connections --bytes 1000000
done
stop_broker || fail "the broker stops cleanly"
total
