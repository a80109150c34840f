#!/bin/bash
# Attacks on the real binary, each beside the same on a plain TCP sink: what they
# cost a client that behaves, and in memory. ATTACKS=silence,bombs runs some of
# them, FLOOD_SECONDS=8 each, FLOOD_CONNECTIONS=10000 where they are held.
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1
ulimit -n "$(ulimit -Hn)"
go build -o "$work/flood" ./scripts/flood || exit 1
args=(--kaasd "$kaasd" --time "${FLOOD_SECONDS:-8}s" --connections "${FLOOD_CONNECTIONS:-10000}" --only "${ATTACKS:-}")
if "$work/flood" "${args[@]}" 2>"$work/faults"; then
  pass "no attack costs others more than 3 times the sink's, or 200 MB"
else
  fail "no attack costs others more than 3 times the sink's, or 200 MB" "$(cat "$work/faults")"
fi
total
