#!/bin/bash
# What takes long, by hand: every client by everything, all rates for a minute
# each, three hundred kills, floods, the cost of log-ins and of large fetches, every
# fuzz target for two minutes. The exit code is 1 when one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh || exit 1
code=0
scripts/matrix.sh || code=1
RATE_SECONDS=60 LEVEL_SECONDS=60 scripts/rates.sh || code=1
KILLS=100 scripts/kills.sh || code=1
scripts/floods.sh || code=1
scripts/logincost.sh || code=1
scripts/fetchcost.sh 5 || code=1
scripts/fuzz.sh 2m || code=1
exit $code
