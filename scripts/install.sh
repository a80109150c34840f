#!/bin/bash
# Brings the tools and clients of the end-to-end tests: Debian packages, jars
# of Apache Kafka by Maven, Python clients by pip. Does nothing twice.
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
need curl curl
need openssl openssl
python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
if [ ${#packages[@]} -gt 0 ]; then
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "${packages[@]}" >/dev/null
fi

for version in 4.0.0 4.4.0; do
  [ -d "$cache/kafka-$version" ] && continue
  rm -rf "$cache/kafka-$version.part"
  mvn -q -B -Dstyle.color=never -f "$root/scripts/tools/pom.xml" -Dkafka.version=$version dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$cache/kafka-$version.part" >/dev/null
  mv "$cache/kafka-$version.part" "$cache/kafka-$version"
done

if [ ! -x "$cache/venv/bin/python" ] || [ ! -f "$cache/venv/complete" ]; then
  python3 -m venv "$cache/venv"
  pip=("$cache/venv/bin/pip" install -q --disable-pip-version-check)
  "${pip[@]}" 'kafka-python>=3' 'confluent-kafka>=2.11'
  "${pip[@]}" --target "$cache/kafka-python-2" 'kafka-python==2.0.2'
  touch "$cache/venv/complete"
fi
