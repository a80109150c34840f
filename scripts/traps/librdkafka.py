"""What clients on librdkafka trip over, at the same time. Prints a line PASS or
FAIL for each:

    librdkafka.py BROKER QUIET IDLE RESTARTED WORK
"""
import logging
import pathlib
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

broker, quiet, idle, restarted = sys.argv[1:5]
work = pathlib.Path(sys.argv[5])


class Lines(logging.Handler):
    """The log of a client."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def client(kind, address, **conf):
    lines, log, errors = Lines(), logging.Logger("librdkafka"), []
    log.addHandler(lines)
    made = kind({"bootstrap.servers": address, "error_cb": lambda e: errors.append(str(e)), **conf}, logger=log)
    return made, lines.lines, errors


def consumer(address, group, **conf):
    return client(Consumer, address, **{"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, **conf})


def read(c, n, seconds):
    got, end = [], time.monotonic() + seconds
    while len(got) < n and time.monotonic() < end:
        m = c.poll(0.1)
        if m and not m.error():
            got.append(m)
        elif m and m.error().code() != KafkaError._PARTITION_EOF:
            raise KafkaException(m.error())
    return got


def produce(address, topic, *values, **conf):
    failed = []
    p, _, _ = client(Producer, address, **conf)
    for v in values:
        p.produce(topic, v, partition=0, on_delivery=lambda e, m: failed.append(str(e)) if e else None)
    if p.flush(30) or failed:
        raise RuntimeError(f"not produced: {failed[:1]}")


def assigned(c, n, seconds=30):
    end = time.monotonic() + seconds
    while len(c.assignment()) < n and time.monotonic() < end:
        m = c.poll(0.1)
        if m and m.error() and m.error().fatal():
            raise KafkaException(m.error())
    if len(c.assignment()) != n:
        raise RuntimeError(f"{len(c.assignment())} partitions")


def demand():
    """a consumer makes no topic"""
    c, _, _ = consumer(broker, "polite-rdk")
    c.subscribe(["not-asked-for-rdk"])
    c.poll(2)
    c.close()
    made = AdminClient({"bootstrap.servers": broker}).list_topics(timeout=20).topics
    assert "not-asked-for-rdk" not in made, "it is there"


def fenced():
    """the old life of a static member is fenced, without a rebalance"""
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic("static-rdk", 2, 1)])["static-rdk"].result(20)
    conf = {"group.instance.id": "one", "heartbeat.interval.ms": 200}
    old, _, errors = consumer(broker, "static-rdk", **conf)
    old.subscribe(["static-rdk"])
    assigned(old, 2)
    now, _, _ = consumer(broker, "static-rdk", **conf)
    now.subscribe(["static-rdk"])
    assigned(now, 2)
    told, end = None, time.monotonic() + 20
    while not told and time.monotonic() < end:
        m = old.poll(0.1)
        told = m and m.error() and m.error().name() or next((e for e in errors if "FENCED" in e.upper()), None)
    assert "FENCED" in str(told).upper() or told == "_FATAL", f"told {told}, {errors}"
    assigned(now, 2)
    now.close()


def transactions():
    """a transactional producer fails at once"""
    began = time.monotonic()
    p, _, _ = client(Producer, broker, **{"transactional.id": "rdk"})
    try:
        p.init_transactions(60)
    except KafkaException as e:
        took = time.monotonic() - began
        assert took < 15 and e.args[0].code() != KafkaError._TIMED_OUT, f"{e} after {took} s"
        return
    raise RuntimeError("there are transactions")


def long_poll():
    """joins once, idles without asking, and is served at once"""
    c, lines, errors = consumer(quiet, "rdk", **{"fetch.wait.max.ms": 5000, "socket.timeout.ms": 20000})
    produce(quiet, "rdk-idle", b"first")
    c.subscribe(["rdk-idle"])
    assert len(read(c, 1, 30)) == 1
    read(c, 1, 1)
    (work / "rdk-waits").touch()
    read(c, 1, 10)
    (work / "rdk-waited").touch()
    while not (work / "counted").exists():
        c.poll(0.1)
    produce(quiet, "rdk-idle", b"now")
    sent = time.monotonic()
    n = len(read(c, 1, 10))
    took = time.monotonic() - sent
    assert n == 1 and took < 2, f"{n} records after {took} s"
    assert not lines and not errors, f"its log says {lines[:2]} {errors[:2]}"
    c.close()


def idle_closes():
    """comes back from idle closes and loses nothing"""
    failed = []
    p, _, _ = client(Producer, idle)
    c, _, _ = consumer(idle, "idle-rdk")
    c.assign([TopicPartition("idle-rdk", 0, 0)])
    for i in range(3):
        p.produce("idle-rdk", b"%d" % i, partition=0, on_delivery=lambda e, m: failed.append(str(e)) if e else None)
        assert p.flush(20) == 0 and not failed, f"record {i}: {failed}"
        got = read(c, 1, 20)
        assert [m.value() for m in got] == [b"%d" % i], f"record {i}: {got}"
        c.pause(c.assignment())
        time.sleep(2.5)  # longer than connections.max.idle.ms
        c.resume(c.assignment())


def restart():
    """goes on over a restart without a reset"""
    c, lines, errors = consumer(restarted, "restart-rdk", **{"auto.offset.reset": "error", "reconnect.backoff.max.ms": 500})
    c.assign([TopicPartition("over", 0, 0)])
    got = read(c, 100, 30)
    (work / "rdk-read").touch()
    got += read(c, 100, 60)
    assert [m.offset() for m in got] == list(range(200)), f"{len(got)} records"
    odd = [l for l in lines if any(w in l.replace("reset by peer", "") for w in ("reset", "truncat", "OUT_OF_RANGE", "FENCED", "EPOCH"))]
    assert not odd, odd[:2]


def run(trap):
    try:
        trap()
        print(f"PASS  librdkafka: {trap.__doc__}", flush=True)
    except BaseException as e:
        print(f"FAIL  librdkafka: {trap.__doc__}: {type(e).__name__} {e}".replace("\n", " "), flush=True)


threads = [threading.Thread(target=run, args=(t,)) for t in (demand, fenced, transactions, long_poll, idle_closes, restart)]
for t in threads:
    t.start()
for t in threads:
    t.join()
