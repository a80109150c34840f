#!/bin/bash
# All end-to-end tests, one suite after the other, each with its own total. The
# last line counts all of them; the exit code is 1 when one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh || exit 1
passed=0 failed=0
for suite in ${SUITES:-readme kafka-configs kafka-acls clients smoke tls groups traps tools throttled throttled-groups rates kills prometheus image}; do
  printf '\n-- %s\n' "$suite"
  out=$(mktemp) began=$SECONDS
  "scripts/$suite.sh" 2>&1 | tee "$out"
  code=${PIPESTATUS[0]}
  p=$(grep -c '^PASS' "$out") f=$(grep -c '^FAIL' "$out")
  [ "$code" != 0 ] && [ "$f" = 0 ] && { echo "FAIL  $suite ended with $code"; f=1; }
  passed=$((passed + p)) failed=$((failed + f))
  rm -f "$out"
  printf '%s took %d s\n' "$suite" $((SECONDS - began))
done
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
