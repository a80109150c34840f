#!/bin/bash
# Consumer groups of unmodified clients and tools against the real binary: they
# consume, commit, come and go, and what one of them keeps the others see.
. "$(dirname "$0")/lib.sh"

start_broker --group-initial-rebalance-delay-ms 0
python=$cache/venv/bin/python
groups() { tool "$v" consumer-groups --bootstrap-server "$plain" "$@" 2>&1; }
seq 200 | sed 's/^/line /' >"$work/lines"

# describe GROUP: one line a partition: number, committed offset, end, lag.
describe() { groups --describe --group "$1" | awk '$3 ~ /^[0-9]+$/ { print $3, $4, $5, $6 }' | sort; }

# kafka_tools: a group's whole life in the hands of the tools of one version.
kafka_tools() {
  v=$1
  local topic=orders-$1 g=tools-$1 out
  tool "$v" topics --bootstrap-server "$plain" --create --topic "$topic" --partitions 2 >/dev/null 2>&1
  for p in 0 1; do timeout 30 kcat -b "$plain" -P -t "$topic" -p $p <"$work/lines"; done
  out=$(tool "$v" console-consumer --bootstrap-server "$plain" --topic "$topic" --group "$g" --from-beginning --max-messages 400 --timeout-ms 20000 2>/dev/null | sort | uniq -c | awk '$1 == 2' | wc -l)
  same "$v: console consumer in a group" 200 "$out"
  same "$v: kafka-consumer-groups --describe" $'0 200 200 0\n1 200 200 0' "$(describe "$g")"
  has "$v: --list" "$(groups --list)" "^$g$"
  has "$v: --list --state" "$(groups --list --state empty)" "^$g +Empty"
  has "$v: --describe --state" "$(groups --describe --group "$g" --state)" "$g .*Empty +0"
  has "$v: an unknown group" "$(groups --describe --group nobody)" "GroupIdNotFoundException: there is no group .nobody."
  has "$v: kafka-groups --list" "$(tool "$v" groups --bootstrap-server "$plain" --list 2>&1)" "^$g +Classic +consumer"
  groups --reset-offsets --group "$g" --topic "$topic" --to-earliest --execute >/dev/null
  same "$v: --reset-offsets --to-earliest" $'0 0 200 200\n1 0 200 200' "$(describe "$g")"
  has "$v: its lag is a metric" "$(curl -s "http://$http/metrics" | grep ^kaasd_group_lag)" "group=\"$g\",topic=\"$topic\"\\} 400"
  groups --reset-offsets --group "$g" --topic "$topic:1" --to-offset 150 --execute >/dev/null
  same "$v: --reset-offsets --to-offset of one partition" $'0 0 200 200\n1 150 200 50' "$(describe "$g")"
  has "$v: --delete-offsets" "$(groups --delete-offsets --group "$g" --topic "$topic:0")" 'Successful'
  same "$v: and only that one is gone" '1 150 200 50' "$(describe "$g")"
  has "$v: --delete" "$(groups --delete --group "$g")" 'successful'
  has "$v: and it is gone" "[$(groups --list | grep -x "$g")]" '^\[\]$'
  live "$topic" "live-$v"
}

# live TOPIC GROUP: what may not be done while there is a member.
live() {
  local out
  tool "$v" console-consumer --bootstrap-server "$plain" --topic "$1" --group "$2" >/dev/null 2>&1 &
  local member=$!
  for _ in $(seq 100); do groups --describe --group "$2" --state | grep -q 'Stable *1' && break; done
  has "$v: --describe --members" "$(groups --describe --group "$2" --members)" "console-consumer.*/127.0.0.1 .* 2"
  has "$v: --list --state stable --type classic" "$(groups --list --state stable --type classic)" "^$2 "
  has "$v: a live group is not reset" "$(groups --reset-offsets --group "$2" --topic "$1" --to-earliest --execute)" 'inactive'
  has "$v: a live group is not deleted" "$(groups --delete --group "$2")" 'not empty'
  has "$v: offsets of a topic that is read stay" "$(groups --delete-offsets --group "$2" --topic "$1")" 'subscribed'
  pkill -TERM -P $member 2>/dev/null
  kill $member 2>/dev/null
  wait $member 2>/dev/null
}

# resets: every way to choose an offset.
resets() {
  v=4.4.0
  local g=resets how
  groups --reset-offsets --group $g --topic "orders-$v" --to-latest --execute >/dev/null
  while read -r how; do
    local want=${how%%:*}
    groups --reset-offsets --group $g --topic "orders-$v:0" ${how#*:} --execute >/dev/null
    same "--reset-offsets ${how#*:}" "0 $want" "$(describe $g | head -1 | cut -d' ' -f1,2)"
  done <<X
190:--shift-by -10
190:--to-current
0:--by-duration PT1H
200:--to-datetime 2099-01-01T00:00:00.000
200:--to-latest
X
  echo "orders-$v,0,77" >"$work/offsets.csv"
  groups --reset-offsets --group $g --from-file "$work/offsets.csv" --execute >/dev/null
  same "--reset-offsets --from-file" "0 77" "$(describe $g | head -1 | cut -d' ' -f1,2)"
}

kcat_client() {
  timeout 30 kcat -b "$plain" -P -t kcat-group -p 0 <"$work/lines"
  local out
  out=$(timeout 30 kcat -b "$plain" -G kcat -X auto.offset.reset=earliest -e -q kcat-group 2>/dev/null)
  same "kcat -G reads all" "$(cat "$work/lines")" "$out"
  echo more | timeout 30 kcat -b "$plain" -P -t kcat-group -p 0
  same "kcat -G goes on where it was" more "$(timeout 30 kcat -b "$plain" -G kcat -X auto.offset.reset=earliest -e -q kcat-group 2>/dev/null)"
}

# dead: a member that is killed gives its partitions up when its session ends.
dead() {
  local args=(-b "$plain" -G dead -X auto.offset.reset=earliest -X session.timeout.ms=6000) began out
  kcat "${args[@]}" kcat-group >/dev/null 2>&1 &
  local member=$!
  for _ in $(seq 100); do
    curl -s "http://$http/metrics" | grep -q 'kaasd_group_state{group="dead",state="Stable"} 1' && break
    sleep 0.1
  done
  kill -9 $member
  wait $member 2>/dev/null
  began=$SECONDS
  out=$(timeout 30 kcat "${args[@]}" -e -q -c 1 kcat-group 2>/dev/null)
  if [ -n "$out" ] && [ $((SECONDS - began)) -le 10 ]; then pass "a killed member is out after its session: $((SECONDS - began)) s"
  else fail "a killed member is out after its session" "after $((SECONDS - began)) s: $out"; fi
}

confluent() {
  cat >"$work/confluent.py" <<'X'
import sys, time
from confluent_kafka import Producer, Consumer, TopicPartition, libversion
from confluent_kafka.admin import AdminClient, NewTopic
plain = sys.argv[1]
name = "librdkafka " + libversion()[0]
def told(what, got, want):
    print(f"PASS  {name}: {what}" if got == want else f"FAIL  {name}: {what}: got {got}, want {want}")
admin = AdminClient({"bootstrap.servers": plain})
def create(topic):
    for f in admin.create_topics([NewTopic(topic, 4, 1)]).values(): f.result(20)
def produce(topic, numbers):
    p = Producer({"bootstrap.servers": plain, "linger.ms": 5})
    for i in numbers: p.produce(topic, value=b"%d" % i, partition=i % 4)
    assert p.flush(20) == 0
def member(topic, **conf):
    c = Consumer({"bootstrap.servers": plain, "group.id": "rdk", "auto.offset.reset": "earliest", "enable.auto.commit": False,
                  "session.timeout.ms": 6000, "heartbeat.interval.ms": 200, **conf})
    c.subscribe([topic])
    return c
def drain(members, n, until=30):
    got, end = [], time.time() + until
    while len(got) < n and time.time() < end:
        for c in members:
            m = c.poll(0.05)
            if m and not m.error():
                got.append(int(m.value())); c.commit(m, asynchronous=False)
    return sorted(got)
def settle(members, want, until=30):
    end = time.time() + until
    while sorted(len(c.assignment()) for c in members) != want and time.time() < end:
        for c in members: c.poll(0.05)
    return sorted(len(c.assignment()) for c in members)
for strategy in ("range", "cooperative-sticky"):
    topic = "rdk-" + strategy
    conf = {"group.id": topic, "partition.assignment.strategy": strategy}
    create(topic)
    produce(topic, range(100))
    a = member(topic, **conf)
    told(f"one member reads all, {strategy}", drain([a], 100), list(range(100)))
    b = member(topic, **conf)
    told(f"two share, {strategy}", settle([a, b], [2, 2]), [2, 2])
    produce(topic, range(100))
    told(f"two members read all, once, {strategy}", drain([a, b], 100), list(range(100)))
    a.close()
    told(f"the one that stays gets all, {strategy}", settle([b], [4]), [4])
    told(f"commits are there, {strategy}", sum(p.offset for p in b.committed([TopicPartition(topic, i) for i in range(4)], 10)), 200)
    b.close()
s = member("rdk-range", **{"group.id": "rdk-static", "group.instance.id": "one"})
settle([s], [4])
s.close()
described = admin.describe_consumer_groups(["rdk-static"])["rdk-static"].result(20)
told("a static member stays when it is closed", (str(described.state), [m.group_instance_id for m in described.members]), ("ConsumerGroupState.STABLE", ["one"]))
told("list_consumer_groups", {"rdk-range", "rdk-cooperative-sticky", "rdk-static"} <= {g.group_id for g in admin.list_consumer_groups().result(20).valid}, True)
told("delete_consumer_groups", admin.delete_consumer_groups(["rdk-range"])["rdk-range"].result(20), None)
X
  timeout 170 "$python" "$work/confluent.py" "$plain"
}

kafka_python() {
  cat >"$work/client.py" <<'X'
import sys, kafka
from kafka import KafkaProducer, KafkaConsumer, TopicPartition
plain = sys.argv[1]
topic = "python-group-" + kafka.__version__
want = [b"value %d" % i for i in range(100)]
p = KafkaProducer(bootstrap_servers=plain, linger_ms=20)
for v in want: p.send(topic, v, partition=0)
p.flush(20); p.close()
c = KafkaConsumer(topic, bootstrap_servers=plain, group_id="python-" + kafka.__version__, auto_offset_reset="earliest", consumer_timeout_ms=20000, enable_auto_commit=False)
got = []
for m in c:
    got.append(m.value)
    if len(got) == 100: break
c.commit()
kept = c.committed(TopicPartition(topic, 0))
c.close()
good = got == want and kept == 100
print(("PASS  " if good else "FAIL  ") + f"kafka-python {kafka.__version__} consumes in a group" + ("" if good else f" {len(got)} {kept}"))
X
  timeout 60 "$python" "$work/client.py" "$plain" || echo "FAIL  kafka-python ended with an error"
  PYTHONPATH=$cache/kafka-python-2 timeout 60 "$python" "$work/client.py" "$plain" || echo "FAIL  kafka-python 2.0.2 ended with an error"
}

# killed: what was acknowledged is there after kill -9, in each flush mode.
killed() {
  cat >"$work/commits.py" <<'X'
import sys
from confluent_kafka import Consumer, TopicPartition
c = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "killed", "socket.timeout.ms": 3000})
if len(sys.argv) > 2:
    print(c.committed([TopicPartition("commits", 0)], 20)[0].offset); sys.exit()
for i in range(1, 10**9):
    try: c.commit(offsets=[TopicPartition("commits", 0, i)], asynchronous=False)
    except Exception: break
    print(i, flush=True)
X
  local mode acked kept
  for mode in os interval always; do
    data=$work/killed-$mode
    start_broker --log-flush $mode
    echo x | kcat -b "$plain" -P -t commits
    "$python" "$work/commits.py" "$plain" >"$work/acked" 2>/dev/null &
    local committer=$!
    for _ in $(seq 3000); do [ "$(wc -l <"$work/acked")" -gt 300 ] && break; sleep 0.02; done
    kill -9 $broker_pid
    wait $broker_pid 2>/dev/null
    broker_pid=''
    kill $committer 2>/dev/null
    wait $committer 2>/dev/null
    start_broker --log-flush $mode
    acked=$(tail -1 "$work/acked") kept=$("$python" "$work/commits.py" "$plain" look)
    if [ "${acked:-0}" -gt 300 ] && [ "$kept" -ge "$acked" ] && [ "$kept" -le $((acked + 1)) ]; then pass "kill -9 with log.flush=$mode: $acked acknowledged, $kept kept"
    else fail "kill -9 with log.flush=$mode" "acknowledged: $acked, kept: $kept"; fi
  done
}

count() { while IFS= read -r line; do case $line in PASS*) pass "${line#PASS  }" ;; FAIL*) fail "${line#FAIL  }" ;; *) echo "$line" ;; esac; done <"$1"; }
for version in $kafka_versions; do kafka_tools "$version"; done
resets
kcat_client
dead
confluent >"$work/out" 2>&1 || echo "FAIL  librdkafka ended with an error" >>"$work/out"; count "$work/out"
kafka_python >"$work/out" 2>&1; count "$work/out"
stop_broker && pass "the broker stops with 0" || fail "the broker stops with 0"
killed
total
