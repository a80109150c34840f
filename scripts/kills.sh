#!/bin/bash
# kill -9 under load, fifty times, against the real binary: no record that was
# acknowledged to an idempotent producer is lost, doubled or out of order.
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1
for flush in os interval always; do
  n=17; [ "$flush" = interval ] && n=16
  if out=$(KAASD_BINARY=$kaasd KAASD_KILLS=$n KAASD_FLUSH=$flush go test -count=1 -run '^TestKill$' -v ./internal/broker 2>&1); then
    pass "$n kills with log.flush=$flush: $(grep -oE '[0-9]+ acknowledged.*' <<<"$out" | tail -1)"
  else fail "$n kills with log.flush=$flush" "$(tail -20 <<<"$out")"; fi
done
total
