"""The command line that all client programs have in common (scripts/clients/clients.tsv)
and the lines that they print, for those in Python. The code is 0 when all went well,
1 when it did not, 2 when the client lacks what was asked for, 3 when the broker
refuses it.
"""
import argparse
import json
import os
import signal
import sys
import time

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative")
HEARTBEAT_MS = 500
LINGER_MS, BATCH_BYTES = 5, 32 << 10  # several requests, each of many records
TEXT = b"the same words again and again, " * 3
REFUSED = 3


def value(i):
    return b"value-%06d %s" % (i, TEXT[:80])


def number(v):
    """The I of value(I)."""
    return int(v.split(b" ")[0].removeprefix(b"value-"))


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())  # one write for each line: two members may append to one file


class Member:
    """A member of a group as its lines tell of it: what it owns, how many records
    it has read, and whether it is done. The lines come in the order of the events,
    and a partition is told revoked before the client gives it away."""

    def __init__(self, options):
        self.owned, self.read, self.options = set(), 0, options
        self.end, self.stopped = time.monotonic() + options.timeout, False
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopped", True))

    def say(self, *words):
        say(*([self.options.tag] if self.options.tag else []), *words)

    def assigned(self, partitions):
        """partitions are (topic, number), those that are new."""
        self.owned |= set(partitions)
        self.say("assigned", *sorted(f"{t}-{p}" for t, p in partitions))

    def revoked(self, partitions):
        partitions = self.owned & set(partitions)
        self.owned -= partitions
        if partitions:
            self.say("revoked", *sorted(f"{t}-{p}" for t, p in partitions))

    def leaving(self):
        self.revoked(self.owned)

    def record(self, partition, offset, v):
        """Tells of a record; false when it is not wanted any more."""
        if 0 < self.options.records <= self.read:
            return False
        self.read += 1
        self.say("record", partition, offset, number(v))
        return True

    def committed(self):
        self.say("committed")

    def goes_on(self):
        """False when it has read all that it was to, was told to go, or is late."""
        if self.options.records:
            return not self.stopped and self.read < self.options.records and time.monotonic() < self.end
        return not self.stopped

    def code(self):
        if self.read >= self.options.records:
            return 0
        sys.stderr.write(f"{self.read} of {self.options.records} records within {self.options.timeout:g} s\n")
        return 1


class Pace:
    """Holds records back to a rate."""

    def __init__(self, rate):
        self.rate, self.began = rate, time.monotonic()

    def left(self, k):
        """How many seconds it is until record k may go."""
        return self.began + k / self.rate - time.monotonic() if self.rate else 0


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("describe", "produce", "consume", "transact"))
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--topic", help="which exists")
    parser.add_argument("--partition-count", type=int, default=1, help="record I goes to partition I modulo this")
    parser.add_argument("--records", type=int, default=0, help="how many; a consumer of 0 reads until it is told to end")
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first record")
    parser.add_argument("--rate", type=float, default=0, help="records per second")
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--acks", choices=("all", "1", "0"), default="all")
    parser.add_argument("--group")
    parser.add_argument("--static", help="instance id of a static member")
    parser.add_argument("--assignor", choices=ASSIGNORS, help="none: what the library takes")
    parser.add_argument("--protocol", choices=("classic", "consumer"), default="classic", help="consumer is KIP-848")
    parser.add_argument("--timeout", type=float, default=60, help="seconds until the program gives up")
    parser.add_argument("--session", type=int, default=10, help="session timeout of a member, in seconds")
    parser.add_argument("--user", help="user to log in, its password in CLIENT_PASSWORD")
    parser.add_argument("--mechanism", choices=MECHANISMS, default="PLAIN")
    parser.add_argument("--tag", help="what every line of a member begins with")
    return parser.parse_args(argv)


def lacking(options, lacks):
    """What was asked for that the client does not have: its name, or None."""
    asked = [options.codec, options.assignor, options.mechanism, options.static and "static",
             options.protocol == "consumer" and "protocol", options.verb == "transact" and "transactions"]
    return next((a for a in asked if a in lacks), None)


def transact(attempt, failures):
    """Says what becomes of attempt(), which commits a transaction or raises one of failures."""
    try:
        attempt()
    except failures as e:
        return refused(e)
    say("committed")
    return 0


def refused(error):
    say("refused", " ".join(str(error).split()))
    return REFUSED


def run(name, version, lacks, verbs):
    """Runs the program of a client. lacks says of codecs, mechanisms, assignors, and
    of static, throttle, transactions and protocol why it does not have them; verbs
    has for each verb a function of the options that returns the exit code."""
    options = parse(sys.argv[1:])
    if options.verb == "describe":
        say(json.dumps({"name": name, "version": version, "codecs": [c for c in CODECS if c not in lacks], "lacks": lacks}))
        sys.exit(0)
    if missing := lacking(options, lacks):
        sys.stderr.write(f"{name} {version} has no {missing}: {lacks[missing]}\n")
        sys.exit(2)
    options.password = os.environ.get("CLIENT_PASSWORD", "")
    sys.exit(verbs[options.verb](options))
