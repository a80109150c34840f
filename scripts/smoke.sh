#!/bin/bash
# A smoke of every client: it produces, consumes in a group, logs in with SCRAM,
# is throttled, and is told at once what is not served.
. "$(dirname "$0")/clients/lib.sh"

clients_broker
trials smoke "$@"
has "a client that is none" "$(trials smoke --only nosuch 2>&1)" "'nosuch' is none of java-3.6, .*kafkajs"
has "clients that are not there" "$(KAASD_CACHE=$work/nowhere "$root/scripts/clients/build.sh" 2>&1)" 'is not there: scripts/install.sh brings'
total
