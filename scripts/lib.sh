# What the scripts share: where the tools are, a broker of one's own, and the
# count of what passed. Sourced, not run.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${KAASD_CACHE:-$root/.cache}
kaasd=${KAASD_BINARY:-$root/dist/kaasd}
kafka_versions=${VERSIONS:-4.0.0 4.4.0}
unset ${!KAASD_@} ${!KAFKA_@} # or kaasd takes them for settings
export LC_ALL=C.UTF-8 # names are UTF-8, and tools print 0.98, not 0,98
[ -x "$kaasd" ] || { echo "$kaasd is not there: make build makes it" >&2; exit 1; }
work=$(mktemp -d)
passed=0 failed=0 broker_pid='' jvm_pid='' broker_log=$work/broker.log

pass() { passed=$((passed + 1)); printf 'PASS  %s\n' "$1"; }
fail() { failed=$((failed + 1)); printf 'FAIL  %s\n' "$1"; shift; [ $# -eq 0 ] || printf '      %s\n' "$@"; }
total() { printf '%d passed, %d failed\n' "$passed" "$failed"; [ "$failed" -eq 0 ]; }
# count FILE: PASS and FAIL as somebody else has printed them, and what it said besides.
count() { while IFS= read -r line; do case $line in PASS*) pass "${line#PASS  }" ;; FAIL*) fail "${line#FAIL  }" ;; *) echo "$line" ;; esac; done <"$1"; }

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
# on $http, data in $data, and the listeners in $more_listeners, if any; a broker
# that is already there is stopped first.
start_broker() {
  stop_broker
  plain=127.0.0.1:$(free_port) sasl=127.0.0.1:$(free_port) http=127.0.0.1:$(free_port)
  data=${data:-$work/data}
  "$kaasd" start --listeners "PLAINTEXT://$plain,SASL_PLAINTEXT://$sasl${more_listeners:+,$more_listeners}" --http-listen "$http" --data-dir "$data" \
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
leave() { end_jvm; stop_broker; rm -rf "$work"; }
trap leave EXIT

# hold NAME SECONDS FLAGS...: the load generator finds the rate within 1 % of the limit.
hold() {
  local name=$1 seconds=$2 out
  shift 2
  loadgen || { fail "$name" "the load generator does not build"; return; }
  if out=$("$cache/loadgen" --duration "${seconds}s" --tolerance 1 "$@" 2>&1); then
    pass "$name: $(python3 -c 'import json,sys
for b in json.loads(sys.argv[1])["buckets"]: print("%s: %.0f bytes/s, %+.2f %%, books %+.3f %%" % (b["bucket"], b["rate"], b["error_percent"], b["books_percent"]))' "$out" | paste -sd\;)"
  else fail "$name" "$out"; fi
}
loadgen() { (cd "$root" && go build -o "$cache/loadgen" ./scripts/loadgen); }

# class_of VERSION NAME: the class of a tool.
class_of() {
  case $2 in
    configs) case $1 in 4.[0-3].*) echo kafka.admin.ConfigCommand ;; *) echo org.apache.kafka.tools.ConfigCommand ;; esac ;;
    acls) echo org.apache.kafka.tools.AclCommand ;;
    topics) echo org.apache.kafka.tools.TopicCommand ;;
    console-producer) echo org.apache.kafka.tools.ConsoleProducer ;;
    console-consumer) echo org.apache.kafka.tools.consumer.ConsoleConsumer ;;
    consumer-groups) echo org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
    groups) echo org.apache.kafka.tools.GroupsCommand ;;
    producer-perf) echo org.apache.kafka.tools.ProducerPerformance ;;
    get-offsets) echo org.apache.kafka.tools.GetOffsetShell ;;
    delete-records) echo org.apache.kafka.tools.DeleteRecordsCommand ;;
    api-versions) echo org.apache.kafka.tools.BrokerApiVersionsCommand ;;
    dump-log) case $1 in 4.[0-2].*) echo kafka.tools.DumpLogSegments ;; *) echo org.apache.kafka.tools.DumpLogSegments ;; esac ;;
    cluster) echo org.apache.kafka.tools.ClusterTool ;;
    leader-election) echo org.apache.kafka.tools.LeaderElectionCommand ;;
    reassign-partitions) echo org.apache.kafka.tools.reassign.ReassignPartitionsCommand ;;
    log-dirs) echo org.apache.kafka.tools.LogDirsCommand ;;
    features) echo org.apache.kafka.tools.FeatureCommand ;;
    metadata-quorum) echo org.apache.kafka.tools.MetadataQuorumCommand ;;
    transactions) echo org.apache.kafka.tools.TransactionsCommand ;;
    consumer-perf) echo org.apache.kafka.tools.ConsumerPerformance ;;
    verifiable-producer) echo org.apache.kafka.tools.VerifiableProducer ;;
    verifiable-consumer) echo org.apache.kafka.tools.VerifiableConsumer ;;
    e2e-latency) echo org.apache.kafka.tools.EndToEndLatency ;;
    client-metrics) echo org.apache.kafka.tools.ClientMetricsCommand ;;
    share-groups) echo org.apache.kafka.tools.consumer.group.ShareGroupCommand ;;
    streams-groups) echo org.apache.kafka.tools.streams.StreamsGroupCommand ;; # since 4.2
    delegation-tokens) echo org.apache.kafka.tools.DelegationTokenCommand ;;
    *) echo "no such tool: $2" >&2; return 2 ;;
  esac
}
java_options=(-Xmx256m -Xlog:disable -Xlog:all=error:stderr -XX:TieredStopAtLevel=1 -XX:+UseSerialGC)

# tool VERSION NAME ARGS...: one of Apache Kafka's command line tools. The first
# run of each leaves an archive of its classes: later ones start in half the time.
tool() {
  local version=$1 class code archive=$cache/kafka-$1-$2.jsa
  class=$(class_of "$1" "$2") || return
  shift 2
  local java=(timeout 90 java "${java_options[@]}")
  if [ -f "$archive" ]; then
    "${java[@]}" -XX:SharedArchiveFile="$archive" -cp "$cache/kafka-$version/*" "$class" "$@"
    return
  fi
  "${java[@]}" -XX:ArchiveClassesAtExit="$archive.$$" -cp "$cache/kafka-$version/*" "$class" "$@"
  code=$?
  mv "$archive.$$" "$archive" 2>/dev/null
  return $code
}

# one_jvm VERSION: from now on `quick NAME ARGS...` runs a tool of that version,
# all in one JVM, which takes a tenth of the time. They have no standard input.
one_jvm() {
  end_jvm
  rm -f "$work/argv" "$work/answers"
  mkfifo "$work/argv" "$work/answers"
  java "${java_options[@]}" -cp "$cache/kafka-$1/*" "$root/scripts/tools/CommandLines.java" <"$work/argv" >"$work/answers" 2>"$work/jvm.log" &
  jvm_pid=$! jvm_version=$1
  exec 7>"$work/argv" 8<"$work/answers"
}
end_jvm() {
  [ -n "$jvm_pid" ] || return 0
  exec 7>&- 8<&-
  kill "$jvm_pid"
  wait "$jvm_pid" 2>/dev/null
  jvm_pid=''
}
quick() {
  python3 "$root/scripts/tools/quick.py" "$(class_of "$jvm_version" "$1")" "${@:2}"
}
