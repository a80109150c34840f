#!/bin/bash
# fetchcost.sh [ROUNDS]: the processor time that the broker spends on a group of
# librdkafka (kcat -G) that fetches 1 GB, beside what bare loops over the same
# files spend in the same round. The median has to be below 600 ms.
. "$(dirname "$0")/lib.sh"

rounds=${1:-3} topic=gigabyte python=$cache/venv/bin/python costs=()
go build -C "$root" -o "$work/fetchceiling" ./scripts/fetchceiling || exit 1
start_broker --group-initial-rebalance-delay-ms 0
"$python" -c 'import os, sys
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
broker, topic = sys.argv[1:]
admin = AdminClient({"bootstrap.servers": broker})
admin.create_topics([NewTopic(topic, 4, 1)])[topic].result(60)
producer, value = Producer({"bootstrap.servers": broker, "linger.ms": 20, "queue.buffering.max.kbytes": 200000}), os.urandom(1073)
for i in range(1_000_000):
    while True:
        try: producer.produce(topic, value, partition=i // 1000 % 4); break
        except BufferError: producer.poll(0.05)
    if i % 1000 == 0: producer.poll(0)
producer.flush()' "$plain" "$topic"
spent() { awk -v tick="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000 / tick }' "/proc/$broker_pid/stat"; }
for r in $(seq "$rounds"); do
  before=$(spent)
  bytes=$(timeout 120 kcat -b "$plain" -G "round-$r" -X auto.offset.reset=earliest -e -q "$topic" 2>/dev/null | wc -c)
  costs+=("$(($(spent) - before))")
  [ "$bytes" = 1074000000 ] || fail "round $r: kcat got $bytes bytes"
  echo "round $r: broker ${costs[-1]} ms, $("$work/fetchceiling" "$data/$topic"-*/*.log | sed 's/$/ ms/' | paste -sd,)"
done
median=$(printf '%s\n' "${costs[@]}" | sort -n | sed -n "$(((rounds + 1) / 2))p")
[ "$median" -le 600 ] && pass "1 GB costs $median ms" || fail "1 GB costs $median ms, more than 600"
total
