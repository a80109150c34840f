#!/bin/bash
# The processor time that a SCRAM-SHA-512 log-in costs the broker with all its
# requests, above that of a connection on which nothing is said: 0.2 ms at the most.
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1
go build -o "$work/flood" ./scripts/flood || exit 1
if "$work/flood" cost --kaasd "$kaasd" 2>"$work/faults"; then
  pass "a log-in costs the broker 0.2 ms at the most"
else
  fail "a log-in costs the broker 0.2 ms at the most" "$(cat "$work/faults")"
fi
total
