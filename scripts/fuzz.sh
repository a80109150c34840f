#!/bin/bash
# Runs every fuzz target for TIME (30s), or those whose names match the second
# argument, and tells how often each was tried and what processor time that took.
# What a target fails on stays in testdata/fuzz. The exit code is 1 when one failed.
#
# What it finds interesting stays in Go's cache alone. With --keep, nothing is
# fuzzed: of the cache, a few small inputs that reach code which no seed does go
# into testdata/fuzz, where every go test runs them (see scripts/corpus).
#
#   fuzz.sh [TIME [TARGETS]]
#   fuzz.sh --keep [TARGETS]
set -uo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == --keep ]]; then exec go run ./scripts/corpus "${@:2}"; fi
time=${1:-30s} only=${2:-.}
out=$(mktemp) code=0 targets=0 tried=0 spent=0
trap 'rm -f "$out"' EXIT
TIMEFORMAT='%U %S'
printf '%-28s %-24s %12s %8s %8s\n' package target executions 'CPU min' 'new'
for file in $(grep -rlE '^func Fuzz' --include='*_test.go' . | sort); do
  dir=$(dirname "$file")
  for target in $(grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | sed 's/^func //' | grep -E -- "$only"); do
    go test -run '^$' -fuzz "^$target\$" -fuzztime 1x "$dir" >/dev/null 2>&1 # builds it
    cpu=$({ time go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$dir" >"$out" 2>&1 || echo "failed" >>"$out"; } 2>&1)
    execs=$(grep -oE 'execs: [0-9]+' "$out" | tail -1 | cut -d' ' -f2)
    new=$(grep -oE 'new interesting: [0-9]+' "$out" | tail -1 | cut -d' ' -f3)
    minutes=$(awk '{ printf "%.2f", ($1 + $2) / 60 }' <<<"$cpu")
    printf '%-28s %-24s %12s %8s %8s\n' "${dir#./}" "$target" "${execs:-0}" "$minutes" "${new:-0}"
    if grep -q '^failed$' "$out"; then cat "$out"; code=1; fi
    targets=$((targets + 1)) tried=$((tried + ${execs:-0})) spent=$(awk -v a="$spent" -v b="$minutes" 'BEGIN { print a + b }')
  done
done
printf '%d targets, %d executions, %s CPU minutes\n' "$targets" "$tried" "$spent"
exit $code
