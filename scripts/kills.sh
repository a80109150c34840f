#!/bin/bash
# kill -9 under load, some fifty times, against the real binary: no record that was
# acknowledged to an idempotent producer is lost, doubled or out of order.
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1
# KILLS=17 per flush mode makes fifty and one in all.
for flush in os interval always; do
  n=${KILLS:-17}
  if out=$(KAASD_BINARY=$kaasd KAASD_KILLS=$n KAASD_FLUSH=$flush go test -count=1 -run '^TestKill$' -v ./internal/broker 2>&1); then
    pass "$n kills with log.flush=$flush: $(grep -oE '[0-9]+ acknowledged.*' <<<"$out" | tail -1)"
  else fail "$n kills with log.flush=$flush" "$(tail -20 <<<"$out")"; fi
done
total
