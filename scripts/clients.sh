#!/bin/bash
# Unmodified clients and tools against the real binary: what they write is read
# back by others, and each codec's bits are checked on disk with Kafka's own
# dump tool.
. "$(dirname "$0")/lib.sh"

cat >"$work/credentials.json" <<'X'
{"version":1,"users":[{"username":"alice","authType":"plain","plainPassword":"alice-secret"}]}
X
printf %s scram-secret | "$kaasd" user add bob --password-stdin --file "$work/credentials.json" >/dev/null || fail "kaasd user add"
start_broker --credentials-file "$work/credentials.json"
python=$cache/venv/bin/python

# codecs TOPIC...: the codecs of the batches of partition 0 of each on disk, as
# Kafka's dump tool names them, one line a topic: "topic codec[,codec]".
codecs() {
  tool 4.4.0 dump-log --files "$(printf "$data/%s-0/00000000000000000000.log\n" "$@" | paste -sd,)" 2>"$work/stderr" |
    sed -nE 's#^Dumping .*/(.*)-0/[0-9]*\.log$#topic \1#p; s/.*compresscodec: *([a-zA-Z0-9]+).*/codec \1/p' |
    awk '$1 == "topic" { t = $2 } $1 == "codec" && !(t SUBSEP $2 in seen) { seen[t, $2] = 1; got[t] = got[t] (got[t] ? "," : "") $2 } END { for (t in got) print t, got[t] }'
}
# each_codec NAME PREFIX CODEC...: the topics PREFIX-CODEC hold nothing else.
each_codec() {
  local name=$1 prefix=$2 c found
  shift 2
  found=$(codecs "${@/#/$prefix-}")
  for c in "$@"; do same "$name writes $c" "$prefix-$c $c" "$(grep "^$prefix-$c " <<<"$found")"; done
}
read_back() { timeout 30 kcat -b "$plain" -C -t "$1" -p 0 -o beginning -e -q 2>/dev/null; }
lines() { seq "$1" | sed 's/^/a line that repeats itself so that every codec has something to do /'; }
lines 200 >"$work/lines"

kafka_tools() {
  local v=$1 topic=tools-$1 out
  tool "$v" topics --bootstrap-server "$plain" --create --topic "$topic" --partitions 2 >/dev/null 2>"$work/stderr" ||
    fail "$v: kafka-topics --create" "$(head -c 400 "$work/stderr")"
  has "$v: kafka-topics --describe" "$(tool "$v" topics --bootstrap-server "$plain" --describe --topic "$topic" 2>&1)" \
    "Topic: $topic.*TopicId: .*PartitionCount: 2.*ReplicationFactor: 1"
  has "$v: kafka-topics --list" "$(tool "$v" topics --bootstrap-server "$plain" --list 2>&1)" "^$topic$"
  tool "$v" topics --bootstrap-server "$plain" --alter --topic "$topic" --partitions 3 >/dev/null 2>&1
  has "$v: kafka-topics --alter" "$(tool "$v" topics --bootstrap-server "$plain" --describe --topic "$topic" 2>&1)" "PartitionCount: 3"
  tool "$v" configs --bootstrap-server "$plain" --alter --entity-type topics --entity-name "$topic" --add-config retention.ms=7200000 >/dev/null 2>&1
  has "$v: kafka-configs for a topic" "$(tool "$v" configs --bootstrap-server "$plain" --describe --entity-type topics --entity-name "$topic" 2>&1)" \
    'retention.ms=7200000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention.ms=7200000'
  out=$(tool "$v" configs --bootstrap-server "$plain" --alter --entity-type topics --entity-name "$topic" --add-config cleanup.policy=compact 2>&1)
  has "$v: compaction is refused" "$out" 'cleanup.policy.*compact|compact.*cleanup.policy'
  has "$v: kafka-configs for the broker" "$(tool "$v" configs --bootstrap-server "$plain" --describe --entity-type brokers --entity-name 1 --all 2>&1)" 'num.partitions=1'

  tool "$v" topics --bootstrap-server "$plain" --create --topic "console-$v" >/dev/null 2>&1
  tool "$v" console-producer --bootstrap-server "$plain" --topic "console-$v" <"$work/lines" >/dev/null 2>"$work/stderr" ||
    fail "$v: console producer" "$(head -c 400 "$work/stderr")"
  out=$(tool "$v" console-consumer --bootstrap-server "$plain" \
    --topic "console-$v" --partition 0 --offset earliest --max-messages 200 --timeout-ms 20000 2>/dev/null)
  [ "$out" = "$(cat "$work/lines")" ] && pass "$v: console producer to console consumer with --partition" ||
    fail "$v: console producer to console consumer with --partition" "$(head -3 <<<"$out")"
  has "$v: kafka-get-offsets" "$(tool "$v" get-offsets --bootstrap-server "$plain" --topic "console-$v" --time -1 2>&1)" "console-$v:0:200"
  for t in -2:0 -3:[0-9]+ -4:0 -5:.*; do
    has "$v: kafka-get-offsets --time ${t%%:*}" "$(tool "$v" get-offsets --bootstrap-server "$plain" --topic "console-$v" --time "${t%%:*}" 2>&1 | sed 's/^$/none/')" \
      "console-$v:0:${t#*:}|^$"
  done
  echo "{\"partitions\":[{\"topic\":\"console-$v\",\"partition\":0,\"offset\":50}],\"version\":1}" >"$work/delete.json"
  has "$v: kafka-delete-records" "$(tool "$v" delete-records --bootstrap-server "$plain" --offset-json-file "$work/delete.json" 2>&1)" 'low_watermark: 50'
  out=$(tool "$v" producer-perf --topic "$topic" --num-records 50000 --record-size 200 --throughput -1 --producer-props bootstrap.servers="$plain" 2>&1)
  has "$v: perf producer" "$out" '^50000 records sent'
  has "$v: kafka-broker-api-versions" "$(tool "$v" api-versions --bootstrap-server "$plain" 2>&1)" 'AlterClientQuotas\(49\): 0 to 1'
  has "$v: kafka-cluster cluster-id" "$(tool "$v" cluster cluster-id --bootstrap-server "$plain" 2>&1)" 'Cluster ID: [A-Za-z0-9_-]{22}'
  tool "$v" topics --bootstrap-server "$plain" --delete --topic "$topic" >/dev/null 2>&1
  has "$v: kafka-topics --delete" "[$(tool "$v" topics --bootstrap-server "$plain" --list 2>&1 | grep -x "$topic")]" '^\[\]$'
  for c in gzip snappy lz4 zstd none; do
    tool "$v" producer-perf --topic "java-$v-$c" --num-records 500 --record-size 500 --throughput -1 \
      --producer-props bootstrap.servers="$plain" compression.type=$c >/dev/null 2>&1
  done
  each_codec "$v: java" "java-$v" none gzip snappy lz4 zstd
}

kcat_client() {
  local c
  for c in none gzip snappy zstd; do # lz4 of this old librdkafka hangs on FindCoordinator, which comes with groups
    timeout 30 kcat -b "$plain" -P -t "kcat-$c" -z "$c" -X linger.ms=50 <"$work/lines" 2>"$work/stderr" || fail "kcat -P -z $c" "$(cat "$work/stderr")"
    same "kcat -C reads $c" "$(cat "$work/lines")" "$(read_back "kcat-$c")"
  done
  each_codec "kcat -P" kcat none gzip snappy zstd
  timeout 30 kcat -b "$plain" -P -t kcat-acks0 -X acks=0 <"$work/lines"
  for _ in $(seq 50); do [ "$(read_back kcat-acks0 | wc -l)" = 200 ] && break; done
  same "kcat -P with acks=0" 200 "$(read_back kcat-acks0 | wc -l)"
  has "kcat -L" "$(timeout 20 kcat -b "$plain" -L)" 'topic "kcat-gzip" with 1 partitions'
  echo idempotent | timeout 30 kcat -b "$plain" -P -t kcat-idempotent -X enable.idempotence=true
  same "kcat -P with idempotence" idempotent "$(read_back kcat-idempotent)"
  local user mechanism password
  while read -r user mechanism password; do
    sasl_args=(-X security.protocol=SASL_PLAINTEXT -X sasl.mechanism="$mechanism" -X sasl.username="$user")
    echo "$user" | timeout 30 kcat -b "$sasl" -P -t "kcat-$user" "${sasl_args[@]}" -X sasl.password="$password" 2>"$work/stderr"
    same "kcat logs in with $mechanism" "$user" "$(read_back "kcat-$user")"
    has "kcat with a wrong password for $mechanism is told so" \
      "$(echo x | timeout 5 kcat -b "$sasl" -P -t "kcat-$user" "${sasl_args[@]}" -X sasl.password=wrong 2>&1)" 'uthentication fail'
  done <<<'alice PLAIN alice-secret
bob SCRAM-SHA-512 scram-secret'
}

confluent() {
  "$python" - "$plain" "$sasl" <<'X'
import sys
from confluent_kafka import Producer, Consumer, TopicPartition, libversion
plain, sasl = sys.argv[1:]
def roundtrip(name, topic, **conf):
    failed = []
    p = Producer({"bootstrap.servers": plain, "linger.ms": 20, **conf})
    for i in range(200):
        p.produce(topic, value=b"a value that repeats itself %d" % i, partition=0, on_delivery=lambda e, m: failed.append(str(e)) if e else None)
    left = p.flush(20)
    conf.pop("compression.type", None); conf.pop("enable.idempotence", None)
    c = Consumer({"bootstrap.servers": plain, "group.id": "unused", "enable.auto.commit": False, **conf})
    c.assign([TopicPartition(topic, 0, 0)])
    got = []
    while len(got) < 200:
        m = c.poll(20)
        if m is None: break
        if m.error(): failed.append(str(m.error())); break
        got.append(m.value())
    c.close()
    good = not failed and left == 0 and got == [b"a value that repeats itself %d" % i for i in range(200)]
    print(("PASS  " if good else "FAIL  ") + f"librdkafka {libversion()[0]}: {name}", "" if good else f"{failed[:2]} {left} {len(got)}")
for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    roundtrip(codec, "rdk-" + codec, **{"compression.type": codec})
roundtrip("idempotence", "rdk-idempotent", **{"enable.idempotence": True})
roundtrip("SCRAM-SHA-512", "rdk-scram", **{"bootstrap.servers": sasl, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512",
          "sasl.username": "bob", "sasl.password": "scram-secret"})
X
  each_codec "librdkafka" rdk none gzip snappy lz4 zstd
}

kafka_python() {
  cat >"$work/client.py" <<'X'
import sys, kafka
from kafka import KafkaProducer, KafkaConsumer, TopicPartition
plain = sys.argv[1]
topic = "python-" + kafka.__version__
want = [b"value %d" % i for i in range(200)]
p = KafkaProducer(bootstrap_servers=plain, compression_type="gzip", linger_ms=20)
for v in want: p.send(topic, v, partition=0)
p.flush(20); p.close()
c = KafkaConsumer(bootstrap_servers=plain, consumer_timeout_ms=10000, enable_auto_commit=False)
c.assign([TopicPartition(topic, 0)]); c.seek(TopicPartition(topic, 0), 0)
got = []
for m in c:
    got.append(m.value)
    if len(got) == 200: break
c.close()
print(("PASS  " if got == want else "FAIL  ") + f"kafka-python {kafka.__version__} produces and consumes" + ("" if got == want else f" {len(got)}"))
X
  timeout 60 "$python" "$work/client.py" "$plain" || echo "FAIL  kafka-python ended with an error"
  PYTHONPATH=$cache/kafka-python-2 timeout 60 "$python" "$work/client.py" "$plain" || echo "FAIL  kafka-python 2.0.2 ended with an error"
}

count() { while IFS= read -r line; do case $line in PASS*) pass "${line#PASS  }" ;; FAIL*) fail "${line#FAIL  }" ;; *) echo "$line" ;; esac; done <"$1"; }
for v in $kafka_versions; do kafka_tools "$v"; done
kcat_client
confluent >"$work/out" 2>&1; count "$work/out"
kafka_python >"$work/out" 2>&1; count "$work/out"
stop_broker && pass "the broker stops with 0" || fail "the broker stops with 0"
"$kaasd" storage verify "$data" >"$work/out" 2>&1 && pass "kaasd storage verify finds nothing wrong" || fail "kaasd storage verify finds nothing wrong" "$(tail -3 "$work/out")"
total
