"""The client program of kcat: the common command line (docs/clients.md) onto kcat's own.

It takes kcat's own words apart: what it prints of each record, and what it says
of its group on standard error.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

WORDS = "the same words again and again, "


def arguments():
    p = argparse.ArgumentParser(prog="kcat.py")
    p.add_argument("verb", choices=["describe", "produce", "consume", "transact"])
    for flag in ("--bootstrap-server", "--topic", "--group", "--static", "--assignor", "--user", "--mechanism"):
        p.add_argument(flag)
    for flag, default in (("--partition-count", 1), ("--records", 0), ("--from", 0), ("--rate", 0), ("--timeout", 60), ("--session", 10)):
        p.add_argument(flag, type=int, default=default, dest="first" if flag == "--from" else None)
    p.add_argument("--codec", default="none")
    p.add_argument("--acks", default="all")
    p.add_argument("--tag")
    return p.parse_args()


def describe(_):
    version = re.search(r"librdkafka (\d+\.\d+\.\d+)", subprocess.run(["kcat", "-V"], capture_output=True, text=True).stdout)
    print(json.dumps({"name": "kcat", "version": f"librdkafka {version[1]}", "codecs": ["none", "gzip", "snappy", "lz4", "zstd"], "lacks": {
        "throttle": "kcat tells of no throttles",
        "group": "kcat does not tell which partitions it gives up",
        "protocol": "librdkafka before 2.4"}}))


def kcat(a, *more):
    """kcat's command line up to what it is asked to do."""
    line = ["kcat", "-b", a.bootstrap_server]
    if a.user:
        line += ["-X", "security.protocol=SASL_PLAINTEXT", "-X", f"sasl.mechanism={a.mechanism}", "-X", f"sasl.username={a.user}",
                 "-X", "sasl.password=" + os.environ["CLIENT_PASSWORD"]]
    return line + list(more)


def produce(a):
    """One kcat for each partition: it takes one number for all it reads."""
    base = kcat(a, "-P", "-t", a.topic, "-K", ":", "-z", a.codec, "-X", f"acks={a.acks}", "-X", "linger.ms=5", "-X", "batch.size=16384")
    writers = [subprocess.Popen([*base, "-p", str(p)], stdin=subprocess.PIPE, text=True) for p in range(a.partition_count)]
    began = time.monotonic()
    for n in range(a.records):
        if a.rate:
            time.sleep(max(0, began + n / a.rate - time.monotonic()))
        i = a.first + n
        w = writers[i % len(writers)].stdin
        w.write(f"key-{i}:value-{i:06d} {(WORDS * 3)[:80]}\n")
        if a.rate:
            w.flush()
    for w in writers:
        w.stdin.close()
    if any([w.wait() for w in writers]):
        return 1
    print(f"produced {a.records} throttled unknown")
    return 0


def transact(a):
    timeout = a.timeout * 1000
    done = subprocess.run(kcat(a, "-P", "-t", a.topic, "-X", f"transactional.id=tx-{a.topic}", "-X", f"transaction.timeout.ms={timeout}",
                               "-X", f"message.timeout.ms={timeout}"), input="value-000000\n", text=True, capture_output=True)
    if done.returncode == 0:
        print("committed")
        return 0
    print("refused", " ".join(line for line in done.stderr.splitlines() if "ERROR" in line))
    return 3


class Member:
    """One kcat in a group."""

    def __init__(self, a):
        self.a, self.read, self.prefix = a, 0, f"{a.tag} " if a.tag else ""
        more = ["-X", f"session.timeout.ms={a.session * 1000}", "-X", "heartbeat.interval.ms=1000", "-X", "auto.offset.reset=earliest",
                "-X", "auto.commit.interval.ms=500", "-f", "%p %o %s\n", "-u"]
        if a.static:
            more += ["-X", f"group.instance.id={a.static}"]
        if a.assignor:
            more += ["-X", "partition.assignment.strategy=" + {"cooperative": "cooperative-sticky"}.get(a.assignor, a.assignor)]
        if a.records:
            more += ["-c", str(a.records)]
        self.process = subprocess.Popen(kcat(a, *more, "-G", a.group, a.topic), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        signal.signal(signal.SIGTERM, lambda *_: self.process.terminate())

    def line(self, text):
        os.write(1, f"{self.prefix}{text}\n".encode())

    def run(self):
        late = threading.Timer(self.a.timeout, self.process.kill)
        if self.a.records:
            late.start()
        complaints = threading.Thread(target=self.listen)
        complaints.start()
        for record in self.process.stdout:
            partition, offset, value = record.split(" ", 2)
            self.read += 1
            self.line(f"record {partition} {offset} {int(value[6:12])}")
        code = self.process.wait()
        late.cancel()
        complaints.join()
        if code == 0:
            self.line("committed")  # kcat commits what it has read when it closes
        return 0 if code == 0 and self.read >= self.a.records else 1

    def listen(self):
        for said in self.process.stderr:
            change = re.search(r"rebalanced \(memberid .*\): (assigned|revoked): ?(.*)", said)
            if change:
                self.line(" ".join([change[1], *(f"{t}-{p}" for t, p in re.findall(r"(\S+) \[(\d+)\]", change[2]))]))
            else:
                sys.stderr.write(said)


def consume(a):
    return Member(a).run()


asked = arguments()
sys.exit({"describe": describe, "produce": produce, "consume": consume, "transact": transact}[asked.verb](asked))
