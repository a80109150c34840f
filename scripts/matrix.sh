#!/bin/bash
# Every client by everything: each codec, what others wrote, a group with a
# second member joining and the first killed, static members, every log-in,
# throttled, and what is not served. Prints the table of docs/clients.md;
# --rewrite writes it there, without it the two must be the same. Other flags
# are those of trials.py, for a part of it.
. "$(dirname "$0")/clients/lib.sh"

page=$root/docs/clients.md
begin='<!-- written by scripts/matrix.sh --rewrite -->' end='<!-- end -->'
rewrite=''
[ "${1:-}" = --rewrite ] && { rewrite=1; shift; }
clients_broker
trials matrix --table "$work/table" "$@"
cat "$work/table"
if [ -n "$rewrite" ]; then
  { sed "\\|^$begin\$|q" "$page" && cat "$work/table" && sed -n "\\|^$end\$|,\$p" "$page"; } >"$work/page" && cat "$work/page" >"$page"
elif [ $# -eq 0 ]; then
  difference=$(diff <(sed -n "\\|^$begin\$|,\\|^$end\$|p" "$page" | sed '1d;$d') "$work/table") && pass "docs/clients.md has the table of this run" ||
    fail "docs/clients.md has the table of this run: scripts/matrix.sh --rewrite writes it" "$difference"
fi
total
