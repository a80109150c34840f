#!/bin/bash
# kill -9 under load, some fifty times, against the real binary: no record that was
# acknowledged to an idempotent producer is lost, doubled or out of order. And as
# often while quotas are altered: what was acknowledged is described, nothing else.
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1
# KILLS=17 per flush mode makes fifty and one in all.
for flush in os interval always; do
  n=${KILLS:-17}
  if out=$(KAASD_BINARY=$kaasd KAASD_KILLS=$n KAASD_FLUSH=$flush go test -count=1 -run '^TestKill$' -v ./internal/broker 2>&1); then
    pass "$n kills with log.flush=$flush: $(grep -oE '[0-9]+ acknowledged.*' <<<"$out" | tail -1)"
  else fail "$n kills with log.flush=$flush" "$(tail -20 <<<"$out")"; fi
done
n=${QUOTA_KILLS:-$((3 * ${KILLS:-17}))}
go build -o "$work/quotakill" ./scripts/quotakill || exit 1
if out=$("$work/quotakill" --kaasd "$kaasd" --kills "$n" 2>&1); then pass "$n kills 0-50 ms after an answer to an alteration: $out"
else fail "$n kills 0-50 ms after an answer to an alteration" "$(head -c 2000 <<<"$out")"; fi
total
