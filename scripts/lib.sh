# What the scripts share: where the tools are, a broker of one's own, and the
# count of what passed. Sourced, not run.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${KAASD_CACHE:-$root/.cache}
kaasd=${KAASD_BINARY:-$root/dist/kaasd}
kafka_versions=${VERSIONS:-4.0.0 4.4.0}
unset ${!KAASD_@} ${!KAFKA_@} # or kaasd takes them for settings
work=$(mktemp -d)
passed=0 failed=0 broker_pid='' broker_log=$work/broker.log

pass() { passed=$((passed + 1)); printf 'PASS  %s\n' "$1"; }
fail() { failed=$((failed + 1)); printf 'FAIL  %s\n' "$1"; shift; [ $# -eq 0 ] || printf '      %s\n' "$@"; }
total() { printf '%d passed, %d failed\n' "$passed" "$failed"; [ "$failed" -eq 0 ]; }

# same NAME WANT GOT: lines, and the k=v pairs within a line, compare as sets.
same() {
  if [ "$(as_set "$2")" = "$(as_set "$3")" ]; then pass "$1"; else fail "$1" "want: $2" "got:  $3"; fi
}
as_set() {
  python3 -c 'import re,sys
for line in sorted(re.sub(r"( are )(.*)", lambda m: m[1] + ", ".join(sorted(m[2].split(", "))), l.strip()) for l in sys.argv[1].splitlines() if l.strip()): print(line)' "$1"
}
# within NAME GOT WANT PERCENT
within() {
  if python3 -c 'import sys; g,w,p=map(float,sys.argv[1:]); sys.exit(abs(g-w)>w*p/100)' "$2" "$3" "$4"; then
    pass "$1: $2 is within $4 % of $3"; else fail "$1: $2 is not within $4 % of $3"; fi
}
has() { # has NAME TEXT PATTERN
  if grep -qE -- "$3" <<<"$2"; then pass "$1"; else fail "$1" "no match for: $3" "in: $(head -c 600 <<<"$2")"; fi
}

free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }

# start_broker [settings...]: PLAINTEXT on $plain, SASL_PLAINTEXT on $sasl, HTTP
# on $http, data in $data; a broker that is already there is stopped first.
start_broker() {
  stop_broker
  plain=127.0.0.1:$(free_port) sasl=127.0.0.1:$(free_port) http=127.0.0.1:$(free_port)
  data=${data:-$work/data}
  "$kaasd" start --listeners "PLAINTEXT://$plain,SASL_PLAINTEXT://$sasl" --http-listen "$http" --data-dir "$data" \
    --sasl-enabled-mechanisms PLAIN,SCRAM-SHA-256,SCRAM-SHA-512 "$@" >"$broker_log" 2>&1 &
  broker_pid=$!
  for _ in $(seq 200); do
    grep -q 'kaasd ready' "$broker_log" && return 0
    kill -0 "$broker_pid" 2>/dev/null || break
    sleep 0.05
  done
  cat "$broker_log" >&2
  echo "the broker did not get ready" >&2
  exit 1
}
stop_broker() {
  [ -n "$broker_pid" ] || return 0
  kill "$broker_pid" 2>/dev/null
  wait "$broker_pid"
  local code=$?
  broker_pid=''
  return $code
}
leave() { stop_broker; rm -rf "$work"; }
trap leave EXIT

# hold NAME SECONDS FLAGS...: the load generator finds the rate within 1 % of the limit.
hold() {
  local name=$1 seconds=$2 out
  shift 2
  (cd "$root" && go build -o "$cache/loadgen" ./scripts/loadgen) || { fail "$name" "the load generator does not build"; return; }
  if out=$("$cache/loadgen" --duration "${seconds}s" --tolerance 1 "$@" 2>&1); then
    pass "$name: $(python3 -c 'import json,sys; d=json.loads(sys.argv[1]); print("%.0f bytes/s, %+.2f %%" % (d["rate"], d["error_percent"]))' "$out")"
  else fail "$name" "$out"; fi
}

# tool VERSION NAME ARGS...: one of Apache Kafka's command line tools. The first
# run of each leaves an archive of its classes: later ones start in half the time.
tool() {
  local version=$1 name=$2 class code archive=$cache/kafka-$1-$2.jsa
  shift 2
  case $name in
    configs) case $version in 4.[0-3].*) class=kafka.admin.ConfigCommand ;; *) class=org.apache.kafka.tools.ConfigCommand ;; esac ;;
    acls) class=org.apache.kafka.tools.AclCommand ;;
    topics) class=org.apache.kafka.tools.TopicCommand ;;
    console-producer) class=org.apache.kafka.tools.ConsoleProducer ;;
    console-consumer) class=org.apache.kafka.tools.consumer.ConsoleConsumer ;;
    consumer-groups) class=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
    groups) class=org.apache.kafka.tools.GroupsCommand ;;
    producer-perf) class=org.apache.kafka.tools.ProducerPerformance ;;
    get-offsets) class=org.apache.kafka.tools.GetOffsetShell ;;
    delete-records) class=org.apache.kafka.tools.DeleteRecordsCommand ;;
    api-versions) class=org.apache.kafka.tools.BrokerApiVersionsCommand ;;
    dump-log) case $version in 4.[0-2].*) class=kafka.tools.DumpLogSegments ;; *) class=org.apache.kafka.tools.DumpLogSegments ;; esac ;;
    cluster) class=org.apache.kafka.tools.ClusterTool ;;
    *) echo "no such tool: $name" >&2; return 2 ;;
  esac
  local java=(timeout 90 java -Xmx256m -Xlog:disable -Xlog:all=error:stderr -XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
  if [ -f "$archive" ]; then
    "${java[@]}" -XX:SharedArchiveFile="$archive" -cp "$cache/kafka-$version/*" "$class" "$@"
    return
  fi
  "${java[@]}" -XX:ArchiveClassesAtExit="$archive.$$" -cp "$cache/kafka-$version/*" "$class" "$@"
  code=$?
  mv "$archive.$$" "$archive" 2>/dev/null
  return $code
}
