#!/bin/bash
# Unmodified clients and tools against the real binary: what they write is read
# back by others, and each codec's bits are checked on disk with Kafka's own
# dump tool.
. "$(dirname "$0")/lib.sh"

python3 - >"$work/credentials.json" <<'X'
import base64, hashlib, hmac, json
salted = hashlib.pbkdf2_hmac("sha256", b"scram-secret", b"salt of carol", 4096)
key = lambda name: hmac.digest(salted, name, "sha256")
b64 = lambda b: base64.b64encode(b).decode()
print(json.dumps({"version": 1, "users": [
    {"username": "alice", "authType": "plain", "plainPassword": "alice-secret"},
    {"username": "carol", "authType": "scram-sha-256", "scram": {"salt": b64(b"salt of carol"), "iterations": 4096,
     "storedKey": b64(hashlib.sha256(key(b"Client Key")).digest()), "serverKey": b64(key(b"Server Key"))}}]}))
X
printf %s scram-secret | "$kaasd" user add bob --password-stdin --file "$work/credentials.json" >/dev/null || fail "kaasd user add"
start_broker --credentials-file "$work/credentials.json"
python=$cache/venv/bin/python

# codecs TOPIC...: the codecs of the batches of partition 0 of each on disk, as
# Kafka's dump tool names them, one line a topic: "topic codec[,codec]".
codecs() {
  quick dump-log --files "$(printf "$data/%s-0/00000000000000000000.log\n" "$@" | paste -sd,)" 2>"$work/stderr" |
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
  local v=$1 topic=tools-$1 out c
  one_jvm "$v"
  quick topics --bootstrap-server "$plain" --create --topic "$topic" --partitions 2 >/dev/null 2>"$work/stderr" ||
    fail "$v: kafka-topics --create" "$(head -c 400 "$work/stderr")"
  has "$v: kafka-topics --describe" "$(quick topics --bootstrap-server "$plain" --describe --topic "$topic" 2>&1)" \
    "Topic: $topic.*TopicId: .*PartitionCount: 2.*ReplicationFactor: 1"
  has "$v: kafka-topics --list" "$(quick topics --bootstrap-server "$plain" --list 2>&1)" "^$topic$"
  quick topics --bootstrap-server "$plain" --alter --topic "$topic" --partitions 3 >/dev/null 2>&1
  has "$v: kafka-topics --alter" "$(quick topics --bootstrap-server "$plain" --describe --topic "$topic" 2>&1)" "PartitionCount: 3"
  quick configs --bootstrap-server "$plain" --alter --entity-type topics --entity-name "$topic" --add-config retention.ms=7200000 >/dev/null 2>&1
  has "$v: kafka-configs for a topic" "$(quick configs --bootstrap-server "$plain" --describe --entity-type topics --entity-name "$topic" 2>&1)" \
    'retention.ms=7200000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention.ms=7200000'
  out=$(quick configs --bootstrap-server "$plain" --alter --entity-type topics --entity-name "$topic" --add-config cleanup.policy=compact 2>&1)
  has "$v: compaction is refused" "$out" 'cleanup.policy.*compact|compact.*cleanup.policy'
  has "$v: kafka-configs for the broker" "$(quick configs --bootstrap-server "$plain" --describe --entity-type brokers --entity-name 1 --all 2>&1)" 'num.partitions=1'

  quick topics --bootstrap-server "$plain" --create --topic "console-$v" >/dev/null 2>&1
  tool "$v" console-producer --bootstrap-server "$plain" --topic "console-$v" <"$work/lines" >/dev/null 2>"$work/stderr" ||
    fail "$v: console producer" "$(head -c 400 "$work/stderr")"
  out=$(quick console-consumer --bootstrap-server "$plain" \
    --topic "console-$v" --partition 0 --offset earliest --max-messages 200 --timeout-ms 20000 2>/dev/null)
  [ "$out" = "$(cat "$work/lines")" ] && pass "$v: console producer to console consumer with --partition" ||
    fail "$v: console producer to console consumer with --partition" "$(head -3 <<<"$out")"
  local times="-1:200 -3:1?[0-9]?[0-9]" t # end, start, the latest timestamp, local start, none in remote storage
  [ "$v" = 4.0.0 ] || times="$times -2:0 -4:0 -5:"
  for t in $times; do
    out=$(quick get-offsets --bootstrap-server "$plain" --topic "console-$v" --time "${t%%:*}" 2>&1)
    has "$v: kafka-get-offsets --time ${t%%:*}" "[$out]" "^\\[(console-$v:0:)?${t#*:}\\]$"
  done
  echo "{\"partitions\":[{\"topic\":\"console-$v\",\"partition\":0,\"offset\":50}],\"version\":1}" >"$work/delete.json"
  has "$v: kafka-delete-records" "$(quick delete-records --bootstrap-server "$plain" --offset-json-file "$work/delete.json" 2>&1)" 'low_watermark: 50'
  out=$(quick producer-perf --topic "$topic" --num-records 50000 --record-size 200 --throughput -1 --producer-props bootstrap.servers="$plain" 2>&1)
  has "$v: perf producer" "$out" '^50000 records sent'
  has "$v: kafka-broker-api-versions" "$(quick api-versions --bootstrap-server "$plain" 2>&1)" 'AlterClientQuotas\(49\): 0 to 1'
  has "$v: kafka-cluster cluster-id" "$(quick cluster cluster-id --bootstrap-server "$plain" 2>&1)" 'Cluster ID: [A-Za-z0-9_-]{22}'
  quick topics --bootstrap-server "$plain" --delete --topic "$topic" >/dev/null 2>&1
  has "$v: kafka-topics --delete" "[$(quick topics --bootstrap-server "$plain" --list 2>&1 | grep -x "$topic")]" '^\[\]$'
  for c in gzip snappy lz4 zstd none; do
    quick producer-perf --topic "java-$v-$c" --num-records 500 --record-size 500 --throughput -1 \
      --producer-props bootstrap.servers="$plain" compression.type=$c >/dev/null 2>&1
  done
  each_codec "$v: java" "java-$v" none gzip snappy lz4 zstd
}

# java_only: what needs one version of the tools to be shown.
java_only() {
  local out user mechanism password
  quick topics --bootstrap-server "$plain" --create --topic split --config max.message.bytes=100000 >/dev/null 2>&1
  out=$(quick producer-perf --topic split --num-records 20000 --record-size 1000 --throughput -1 \
    --producer-props bootstrap.servers="$plain" batch.size=2000000 max.request.size=4000000 linger.ms=200 2>&1)
  has "java splits batches that are larger than the topic takes" "$out" '^20000 records sent'
  same "and none is lost" "split:0:20000" "$(quick get-offsets --bootstrap-server "$plain" --topic split --time -1 2>&1)"
  out=$(quick producer-perf --topic split --num-records 1 --record-size 200000 --throughput -1 --producer-props bootstrap.servers="$plain" 2>&1)
  has "a single record that is too large is told so" "$out" 'RecordTooLargeException'
  quick producer-perf --topic large --num-records 20 --record-size 45000 --throughput -1 \
    --producer-props bootstrap.servers="$plain" batch.size=1000000 linger.ms=1000 >/dev/null 2>&1
  out=$(quick console-consumer --bootstrap-server "$plain" --topic large --partition 0 --offset earliest --max-messages 20 --timeout-ms 20000 \
    --command-property fetch.max.bytes=1024 --command-property max.partition.fetch.bytes=1024 2>/dev/null | wc -l)
  same "a batch larger than the fetch limits is handed out" 20 "$out"
  out=$(quick topics --bootstrap-server "$plain" --create --topic three --replication-factor 3 2>&1)
  has "three replicas on one broker are refused" "$out" 'replication factor 3.*1 broker'
  out=$(quick producer-perf --topic transaction --num-records 1 --record-size 1 --throughput -1 --transactional-id t --transaction-duration-ms 100 \
    --producer-props bootstrap.servers="$plain" max.block.ms=5000 2>&1)
  has "a transactional producer is told at once that there are no transactions" "$out" 'transactions are not served by this broker: use a producer without transactional.id'
  while read -r user mechanism password; do
    local module=scram.Scram
    [ "$mechanism" = PLAIN ] && module=plain.Plain
    printf '%s\n' security.protocol=SASL_PLAINTEXT "sasl.mechanism=$mechanism" \
      "sasl.jaas.config=org.apache.kafka.common.security.${module}LoginModule required username=\"$user\" password=\"$password\";" >"$work/$user.properties"
    has "java logs in with $mechanism" "$(quick cluster cluster-id --bootstrap-server "$sasl" --command-config "$work/$user.properties" 2>&1)" 'Cluster ID'
  done <<<'alice PLAIN alice-secret
bob SCRAM-SHA-512 scram-secret
carol SCRAM-SHA-256 scram-secret'
  sed -i 's/scram-secret/wrong/' "$work/bob.properties"
  has "java with a wrong password is told so" "$(quick cluster cluster-id --bootstrap-server "$sasl" --command-config "$work/bob.properties" 2>&1)" \
    'SaslAuthenticationException'
}

kcat_client() {
  local c
  for c in none gzip snappy lz4 zstd; do
    timeout 30 kcat -b "$plain" -P -t "kcat-$c" -z "$c" -X linger.ms=200 <"$work/lines" 2>"$work/stderr" || fail "kcat -P -z $c" "$(cat "$work/stderr")"
    same "kcat -C reads $c" "$(cat "$work/lines")" "$(read_back "kcat-$c")"
  done
  each_codec "kcat -P" kcat none gzip snappy lz4 zstd
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
      "$(echo x | timeout 30 kcat -b "$sasl" -P -t "kcat-$user" "${sasl_args[@]}" -X sasl.password=wrong 2>&1)" 'uthentication fail'
  done <<<'alice PLAIN alice-secret
bob SCRAM-SHA-512 scram-secret
carol SCRAM-SHA-256 scram-secret'
}

confluent() {
  "$python" - "$plain" "$sasl" <<'X'
import sys, time
from confluent_kafka import Producer, Consumer, TopicPartition, libversion, TIMESTAMP_LOG_APPEND_TIME
from confluent_kafka.admin import AdminClient, NewTopic
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
admin = AdminClient({"bootstrap.servers": plain})
def told(name, got, want):
    print(f"PASS  librdkafka: {name}" if got == want else f"FAIL  librdkafka: {name}: got {got}, want {want}")
def create(topic, **config):
    for f in admin.create_topics([NewTopic(topic, 1, 1, config=config)]).values(): f.result(20)
def produce(topic, *stamps, **conf):
    p = Producer({"bootstrap.servers": plain, "linger.ms": 50, **conf})
    for t in stamps: p.produce(topic, value=b"at %d" % t, partition=0, timestamp=t)
    return p.flush(20)
def consume(topic, n):
    c = Consumer({"bootstrap.servers": plain, "group.id": "unused", "enable.partition.eof": True})
    c.assign([TopicPartition(topic, 0, 0)])
    got = [c.poll(20) for _ in range(n + 1)]
    return c, [m for m in got if m and not m.error()], [m.error().name() for m in got if m and m.error()]
for codec in ("none", "zstd"):
    topic = "rdk-append-" + codec
    create(topic, **{"message.timestamp.type": "LogAppendTime"})
    produce(topic, 1000, 2000, 3000, **{"compression.type": codec})
    _, got, _ = consume(topic, 3)
    told(f"the broker's time on every record, {codec}",
         [(m.timestamp()[0], abs(m.timestamp()[1] / 1000 - time.time()) < 60) for m in got], [(TIMESTAMP_LOG_APPEND_TIME, True)] * 3)
    topic = "rdk-times-" + codec
    create(topic)
    produce(topic, 1000, 2000, 3000, **{"compression.type": codec})
    c, _, _ = consume(topic, 3)
    told(f"offsets for times within a batch, {codec}",
         [c.offsets_for_times([TopicPartition(topic, 0, t)], 20)[0].offset for t in (500, 1500, 3000, 3500)], [0, 1, 2, -1])
create("rdk-empty")
told("an empty partition is at its end", consume("rdk-empty", 0)[2], ["_PARTITION_EOF"])
for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    roundtrip(codec, "rdk-" + codec, **{"compression.type": codec})
roundtrip("idempotence", "rdk-idempotent", **{"enable.idempotence": True})
roundtrip("SCRAM-SHA-512", "rdk-scram", **{"bootstrap.servers": sasl, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512",
          "sasl.username": "bob", "sasl.password": "scram-secret"})
X
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

for v in $kafka_versions; do kafka_tools "$v"; done
one_jvm 4.4.0
java_only
kcat_client
confluent >"$work/out" 2>&1 || echo "FAIL  librdkafka ended with an error" >>"$work/out"; count "$work/out"
each_codec "librdkafka" rdk none gzip snappy lz4 zstd
kafka_python >"$work/out" 2>&1; count "$work/out"
stop_broker && pass "the broker stops with 0" || fail "the broker stops with 0"
"$kaasd" storage verify "$data" >"$work/out" 2>&1 && pass "kaasd storage verify finds nothing wrong" || fail "kaasd storage verify finds nothing wrong" "$(tail -3 "$work/out")"
total
