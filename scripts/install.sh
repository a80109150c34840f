#!/bin/bash
# Brings the tools and clients of the end-to-end tests: Debian packages, jars
# of Apache Kafka by Maven, clients in Python by pip and in JavaScript by npm. Does
# nothing twice.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${KAASD_CACHE:-$root/.cache}
mkdir -p "$cache"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need kcat kcat
need promtool prometheus
need podman podman
need buildah buildah
need runc runc
need busybox busybox-static
need mvn maven
need javac default-jdk-headless # scripts/tools/CommandLines.java is run from its source
need python3 python3
need npm npm # with node
need g++ g++ # builds the codec of kafkajs-lz4
need make make
need curl curl
need openssl openssl
python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
if [ ${#packages[@]} -gt 0 ]; then
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "${packages[@]}" >/dev/null
fi

# jars FOLDER POM VERSION: that version and what it needs.
jars() {
  [ -d "$cache/$1" ] && return
  rm -rf "$cache/$1.part"
  mvn -q -B -Dstyle.color=never -f "$root/scripts/$2" "-Dkafka.version=$3" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$cache/$1.part" >/dev/null
  mv "$cache/$1.part" "$cache/$1"
}
for version in 4.0.0 4.4.0; do jars "kafka-$version" tools/pom.xml $version; done
for version in 3.6.2 3.9.2 4.0.0 4.4.0; do jars "kafka-clients-$version" clients/java/pom.xml $version; done

# once FOLDER LIST COMMAND...: COMMAND, unless FOLDER is there as LIST wants it.
once() {
  cmp -s "$2" "$cache/$1/complete" && return
  "${@:3}"
  cp "$2" "$cache/$1/complete"
}
python_clients() {
  local python=$cache/venv/bin/python pip
  pip=("$python" -m pip install -q --disable-pip-version-check)
  [ -x "$python" ] || python3 -m venv "$cache/venv"
  "${pip[@]}" -r "$1"
  [ -d "$cache/kafka-python-2" ] || "${pip[@]}" --target "$cache/kafka-python-2" 'kafka-python==2.0.2'
  # The last with a wheel for Python 3.11 and none for 3.12: later ones build it.
  [ -d "$cache/librdkafka-2.0" ] || "${pip[@]}" --target "$cache/librdkafka-2.0" 'confluent-kafka==2.0.2'
}
node_clients() {
  local prefix
  prefix=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  mkdir -p "$cache/node"
  cp "$1" "$cache/node/package.json"
  npm_config_nodedir=$prefix npm install --prefix "$cache/node" --no-audit --no-fund --no-package-lock --loglevel error >/dev/null
}
once venv "$root/scripts/clients/python/requirements.txt" python_clients "$root/scripts/clients/python/requirements.txt"
once node "$root/scripts/clients/node/package.json" node_clients "$root/scripts/clients/node/package.json"
