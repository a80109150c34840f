#!/bin/bash
# Builds the client programs that have to be built, into $cache/clients: those
# of Go, and the one of Java for each version. Does nothing twice.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${KAASD_CACHE:-$root/.cache}

for brought in venv node kafka-clients-{3.6.2,3.9.2,4.0.0,4.4.0}; do
  [ -d "$cache/$brought" ] && continue
  echo "$cache/$brought is not there: scripts/install.sh brings the clients" >&2
  exit 1
done
go build -C "$root/scripts/clients/go" -o "$cache/clients/go/" ./franz ./sarama ./kafkago
source=$root/scripts/clients/java/Client.java
for version in 3.6.2 3.9.2 4.0.0 4.4.0; do
  classes=$cache/clients/java-$version
  [ "$classes/Client.class" -nt "$source" ] && continue
  mkdir -p "$classes"
  javac -d "$classes" -cp "$cache/kafka-clients-$version/*" "$source"
done
