#!/bin/bash
# A smoke of every client: it produces, consumes in a group, logs in with SCRAM,
# is throttled, and is told at once what is not served.
. "$(dirname "$0")/clients/lib.sh"

clients_broker
trials smoke "$@"
total
