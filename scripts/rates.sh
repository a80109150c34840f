#!/bin/bash
# The rate is the limit, within 1 % of charged bytes, whatever the number of
# connections: produce and fetch, with and without a log-in, driven by a raw
# load generator. RATE_SECONDS (8) is how long each load lasts.
. "$(dirname "$0")/lib.sh"

limit=10000000 seconds=${RATE_SECONDS:-8}
echo '{"users":[]}' >"$work/credentials.json"
printf %s alice-secret | "$kaasd" user add alice --password-stdin --file "$work/credentials.json" >/dev/null || fail "kaasd user add"

# fresh USER: a new broker, so that what waits of one load is not charged in the next.
fresh() {
  start_broker --credentials-file "$work/credentials.json"
  "$kaasd" quota set --bootstrap-server "$plain" --user "$1" produce=10MB fetch=10MB >/dev/null || fail "kaasd quota set for $1"
  login=(--address "$plain")
  [ "$1" = ANONYMOUS ] || login=(--address "$sasl" --user "$1" --password "$1-secret" --mechanism SCRAM-SHA-512)
}
for user in ANONYMOUS alice; do
  for mode in produce fetch; do
    for load in "1 1000000" "20 200000" "100 50000"; do
      read -r connections bytes <<<"$load"
      fresh $user
      hold "$mode of $user, connections: $connections" "$seconds" "${login[@]}" --mode $mode --topic "$mode-$connections-$user" \
        --connections "$connections" --bytes "$bytes" --limit $limit
    done
  done
done
total
