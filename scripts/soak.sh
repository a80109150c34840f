#!/bin/bash
# What takes long, by hand: all rates for a minute each, three hundred kills,
# every fuzz target for two minutes.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh || exit 1
RATE_SECONDS=60 scripts/rates.sh
KILLS=100 scripts/kills.sh
scripts/fuzz.sh 2m
