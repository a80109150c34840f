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

for user in ANONYMOUS alice; do
  login=(--address "$plain")
  [ $user = ANONYMOUS ] || login=(--address "$sasl" --user $user --password $user-secret --mechanism SCRAM-SHA-512)
  for mode in produce fetch; do
    for load in "1 1000000" "20 200000" "100 50000"; do
      read -r connections bytes <<<"$load"
      hold "$mode of $user, connections: $connections" "$seconds" "${login[@]}" --mode $mode --topic "$mode-$connections-$user" \
        --connections "$connections" --bytes "$bytes" --limit $limit
    done
  done
done
total
