"""kafka-python, of version 2 or 3, behind the command line of commandline.py."""
import logging
import sys
import time

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

import commandline
from commandline import Member, Pace

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "sticky": StickyPartitionAssignor}
LACKS = {"protocol": "kafka-python has classic groups only"}
if int(kafka.__version__.split(".")[0]) >= 3:
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    ASSIGNORS["cooperative"] = CooperativeStickyAssignor
else:
    LACKS |= {"cooperative": "kafka-python 2 has the eager protocol only", "static": "kafka-python 2.0 has no static members", "transactions": "kafka-python has them since 2.2"}
NAME = "kafka-python"
POLL_MS, JOIN_MS = 5000, 60000  # long: version 3 loses its assignment where the time is over while it joins


def settings(o, **more):
    conf = {"bootstrap_servers": o.bootstrap_server, "client_id": NAME, **more}
    if o.user:
        conf |= {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": o.mechanism, "sasl_plain_username": o.user, "sasl_plain_password": o.password}
    return conf


def produce(o):
    pace, codec, acks = Pace(o.rate), o.codec if o.codec != "none" else None, o.acks if o.acks == "all" else int(o.acks)
    more = {} if o.acks == "all" or "transactions" in LACKS else {"enable_idempotence": False}
    p = KafkaProducer(**settings(o, compression_type=codec, acks=acks, linger_ms=commandline.LINGER_MS, batch_size=commandline.BATCH_BYTES, **more))
    sent = []
    for k in range(o.records):
        time.sleep(max(0, pace.left(k)))
        i = o.first + k
        sent.append(p.send(o.topic, commandline.value(i), b"key-%d" % i, partition=i % o.partition_count))
    p.flush(120)
    for s in sent:
        s.get(1)
    throttle = max(v for group in p.metrics().values() for k, v in group.items() if k.endswith("throttle-time-max"))
    p.close()
    commandline.say("produced", o.records, "throttled", round(throttle) if throttle > 0 else 0)  # -inf before any
    return 0


class Listener(ConsumerRebalanceListener):
    """Tells the member of its partitions. All that was read is committed by then."""

    def __init__(self, member):
        self.member = member

    def on_partitions_assigned(self, assigned):
        self.member.assigned([tuple(p) for p in assigned])

    def on_partitions_revoked(self, revoked):
        self.member.revoked([tuple(p) for p in revoked])

    def on_partitions_lost(self, lost):
        self.on_partitions_revoked(lost)


def consume(o):
    member, more = Member(o), {}
    if o.static:
        more["group_instance_id"] = o.static
    if o.assignor:
        more["partition_assignment_strategy"] = [ASSIGNORS[o.assignor]]
    c = KafkaConsumer(**settings(o, group_id=o.group, auto_offset_reset="earliest", enable_auto_commit=False,
                                 session_timeout_ms=o.session * 1000, heartbeat_interval_ms=commandline.HEARTBEAT_MS, **more))
    c.subscribe([o.topic], listener=Listener(member))
    while member.goes_on():
        read = 0
        for p, messages in c.poll(timeout_ms=POLL_MS if member.owned else JOIN_MS, max_records=100).items():
            for m in messages:
                read += member.record(p.partition, m.offset, m.value)
        if read:
            commit(c, member)
    member.leaving()
    c.close(autocommit=False)
    return member.code()


def commit(c, member):
    try:
        c.commit()
        member.committed()
    except KafkaError as e:  # a rebalance came first: others read this again
        sys.stderr.write(f"commit: {e}\n")


def transact(o):
    def attempt():
        p = KafkaProducer(**settings(o, transactional_id=f"{NAME}-{time.time_ns()}", max_block_ms=o.timeout * 1000))
        p.init_transactions()
        p.begin_transaction()
        p.send(o.topic, commandline.value(0))
        p.commit_transaction()
    return commandline.transact(attempt, KafkaError)


logging.basicConfig(level=logging.WARNING)
commandline.run(NAME, kafka.__version__, LACKS, {"produce": produce, "consume": consume, "transact": transact})
