"""confluent-kafka, which is librdkafka, behind the command line of commandline.py."""
import sys
import time
from importlib import metadata

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

import commandline
from commandline import Member, Pace

NAME = "confluent-kafka"
VERSION = f"{metadata.version(NAME)} (librdkafka {confluent_kafka.libversion()[0]})"
LACKS = {"sticky": "librdkafka has the cooperative kind of it only",
         "protocol": "librdkafka says in its debug log alone that a broker has no KIP-848, and asks again for ever"}
if confluent_kafka.libversion()[1] < 0x020a0000:
    LACKS["protocol"] = "librdkafka has KIP-848 as more than a preview since 2.10"
STRATEGIES = {"cooperative": "cooperative-sticky"}
FATAL = (KafkaError._AUTHENTICATION, KafkaError.FENCED_INSTANCE_ID)


def settings(o, **more):
    conf = {"bootstrap.servers": o.bootstrap_server, "client.id": NAME, **more}
    if o.user:
        conf |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": o.mechanism, "sasl.username": o.user, "sasl.password": o.password}
    return conf


def produce(o):
    throttles, failures, pace = [0.0], [], Pace(o.rate)
    p = Producer(settings(o, **{
        "compression.type": o.codec, "acks": o.acks, "linger.ms": commandline.LINGER_MS, "batch.size": commandline.BATCH_BYTES,
        "throttle_cb": lambda e: throttles.append(e.throttle_time)}))
    acknowledged = lambda error, message: failures.append(error) if error else None
    for k in range(o.records):
        while (left := pace.left(k)) > 0:
            p.poll(left)
        i = o.first + k
        while True:
            try:
                p.produce(o.topic, commandline.value(i), b"key-%d" % i, i % o.partition_count, on_delivery=acknowledged)
                break
            except BufferError:  # its queue is full
                p.poll(0.1)
    left = p.flush(120)
    p.poll(0)
    if failures or left:
        sys.exit(f"{len(failures)} of {o.records} failed, {left} are left: {failures[:1]}")
    commandline.say("produced", o.records, "throttled", round(max(throttles) * 1000))
    return 0


def membership(o):
    conf = settings(o, **{"group.id": o.group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
                          "session.timeout.ms": o.session * 1000, "heartbeat.interval.ms": commandline.HEARTBEAT_MS})
    if o.static:
        conf["group.instance.id"] = o.static
    if o.assignor:
        conf["partition.assignment.strategy"] = STRATEGIES.get(o.assignor, o.assignor)
    return conf


class Reader:
    """A consumer that commits at each pause, when much is read, and before it gives partitions away."""

    def __init__(self, o):
        self.member, self.uncommitted = Member(o), 0
        self.consumer = Consumer(membership(o))
        self.consumer.subscribe([o.topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)

    def assigned(self, _, partitions):
        self.member.assigned([(p.topic, p.partition) for p in partitions])

    def revoked(self, _, partitions):
        self.commit()
        self.lost(_, partitions)

    def lost(self, _, partitions):
        self.uncommitted = 0
        self.member.revoked([(p.topic, p.partition) for p in partitions])

    def commit(self):
        if not self.uncommitted:
            return
        self.uncommitted = 0
        try:
            self.consumer.commit(asynchronous=False)
            self.member.committed()
        except KafkaException as e:  # a rebalance came first: others read this again
            sys.stderr.write(f"commit: {e}\n")

    def read(self):
        m = self.consumer.poll(0.01 if self.uncommitted else 0.2)
        if m is None:
            return self.commit()
        if m.error():
            if m.error().fatal() or m.error().code() in FATAL:
                raise KafkaException(m.error())
            return sys.stderr.write(f"{m.error()}\n")
        self.member.record(m.partition(), m.offset(), m.value())
        self.uncommitted += 1
        if self.uncommitted >= 100:
            self.commit()


def consume(o):
    reader = Reader(o)
    try:
        while reader.member.goes_on():
            reader.read()
    except KafkaException as e:
        return commandline.refused(e)
    finally:
        reader.commit()
        reader.member.leaving()
        reader.consumer.close()
    return reader.member.code()


def transact(o):
    p = Producer(settings(o, **{"transactional.id": f"{NAME}-{time.time_ns()}"}))

    def attempt():
        p.init_transactions(o.timeout)
        p.begin_transaction()
        p.produce(o.topic, commandline.value(0))
        p.commit_transaction(o.timeout)
    return commandline.transact(attempt, KafkaException)


commandline.run(NAME, VERSION, LACKS, {"produce": produce, "consume": consume, "transact": transact})
