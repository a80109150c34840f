"""aiokafka behind the command line of commandline.py."""
import asyncio
import logging
import sys
import time

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

import commandline
from commandline import Member, Pace

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "sticky": StickyPartitionAssignor}
NAME = "aiokafka"
LACKS = {"cooperative": "aiokafka has the eager protocol only", "protocol": "aiokafka has classic groups only", "throttle": "aiokafka does not tell"}


def settings(o, **more):
    conf = {"bootstrap_servers": o.bootstrap_server, "client_id": NAME, **more}
    if o.user:
        conf |= {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": o.mechanism, "sasl_plain_username": o.user, "sasl_plain_password": o.password}
    return conf


async def produce(o):
    pace, codec, acks = Pace(o.rate), o.codec if o.codec != "none" else None, o.acks if o.acks == "all" else int(o.acks)
    sent = []
    async with AIOKafkaProducer(**settings(o, compression_type=codec, acks=acks, linger_ms=commandline.LINGER_MS, max_batch_size=commandline.BATCH_BYTES)) as p:
        for k in range(o.records):
            if (left := pace.left(k)) > 0:
                await asyncio.sleep(left)
            i = o.first + k
            sent.append(await p.send(o.topic, commandline.value(i), b"key-%d" % i, partition=i % o.partition_count))
        await asyncio.wait_for(asyncio.gather(*sent), 120)
    commandline.say("produced", o.records, "throttled unknown")
    return 0


class Listener(ConsumerRebalanceListener):
    """Tells the member of its partitions, while no batch is between being read and being committed."""

    def __init__(self, member, batch):
        self.member, self.batch = member, batch

    async def on_partitions_assigned(self, assigned):
        async with self.batch:
            self.member.assigned([tuple(p) for p in assigned])

    async def on_partitions_revoked(self, revoked):
        async with self.batch:
            self.member.revoked([tuple(p) for p in revoked])


async def consume(o):
    member, batch, more = Member(o), asyncio.Lock(), {}
    if o.static:
        more["group_instance_id"] = o.static
    if o.assignor:
        more["partition_assignment_strategy"] = [ASSIGNORS[o.assignor]]
    c = AIOKafkaConsumer(**settings(o, group_id=o.group, auto_offset_reset="earliest", enable_auto_commit=False,
                                    session_timeout_ms=o.session * 1000, heartbeat_interval_ms=commandline.HEARTBEAT_MS, **more))
    await c.start()
    c.subscribe([o.topic], listener=Listener(member, batch))
    while member.goes_on():
        polled = await c.getmany(timeout_ms=200, max_records=100)
        async with batch:
            await take(c, member, polled)
    member.leaving()
    await c.stop()
    return member.code()


async def take(c, member, polled):
    """Tells of the records that were read and commits them, less those of partitions that are gone by now."""
    read = {p: messages for p, messages in polled.items() if tuple(p) in member.owned}
    done = {p: m.offset + 1 for p, messages in read.items() for m in messages if member.record(p.partition, m.offset, m.value)}
    if not done:
        return
    try:
        await c.commit(done)
        member.committed()
    except KafkaError as e:  # a rebalance came first: others read this again
        sys.stderr.write(f"commit: {e}\n")


async def commit_one(o):
    p = AIOKafkaProducer(**settings(o, transactional_id=f"{NAME}-{time.time_ns()}"))
    try:
        await p.start()
        async with p.transaction():
            await p.send_and_wait(o.topic, commandline.value(0))
    finally:
        await p.stop()


def transact(o):
    return commandline.transact(lambda: asyncio.run(asyncio.wait_for(commit_one(o), o.timeout)), (KafkaError, TimeoutError))


logging.basicConfig(level=logging.WARNING)
commandline.run(NAME, aiokafka.__version__, LACKS, {"produce": lambda o: asyncio.run(produce(o)), "consume": lambda o: asyncio.run(consume(o)), "transact": transact})
