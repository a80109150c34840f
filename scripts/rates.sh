#!/bin/bash
# The rate is the limit, within 1 % of charged bytes, whatever the number of
# connections: produce and fetch, with and without a log-in, driven by a raw
# load generator. RATE_SECONDS (8) is how long each load lasts.
. "$(dirname "$0")/lib.sh"

limit=10000000 seconds=${RATE_SECONDS:-8}
echo '{"users":[]}' >"$work/credentials.json"
printf %s alice-secret | "$kaasd" user add alice --password-stdin --file "$work/credentials.json" >/dev/null || fail "kaasd user add"
start_broker --credentials-file "$work/credentials.json"
for user in ANONYMOUS alice; do
  "$kaasd" quota set --bootstrap-server "$plain" --user $user produce=10MB fetch=10MB >/dev/null || fail "kaasd quota set for $user"
done

# hold MODE CONNECTIONS BYTES USER: one load, its report beside the verdict.
hold() {
  local name="$1 of $4 over $2 connections" login=(--address "$plain") out
  [ "$4" = ANONYMOUS ] || login=(--address "$sasl" --user "$4" --password "$4-secret" --mechanism SCRAM-SHA-512)
  if out=$(loadgen "${login[@]}" --mode "$1" --topic "$1-$2-$4" --connections "$2" --bytes "$3" \
    --duration "${seconds}s" --limit $limit --tolerance 1 2>&1); then
    pass "$name: $(python3 -c 'import json,sys; d=json.loads(sys.argv[1]); print("%.0f bytes/s, %+.2f %%" % (d["rate"], d["error_percent"]))' "$out")"
  else fail "$name" "$out"; fi
}
for user in ANONYMOUS alice; do
  for mode in produce fetch; do
    hold $mode 1 1000000 $user
    hold $mode 20 200000 $user
    hold $mode 100 50000 $user
  done
done
total
