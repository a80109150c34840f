"""Runs the client programs of clients.tsv against a broker that is up already,
and says of each what works:

    trials.py smoke|matrix [--only CLIENT,...] [--trial TRIAL,...] [--jobs N] [--table FILE]

The environment names the broker (PLAIN, SASL, HTTP: host:port; DATA: its folder;
KAASD: the command), the folders (root, cache) and the password of all users.
Users are the clients' names; NAME-256 are those that log in with SCRAM-SHA-256.

Every program takes the same command line (docs/clients.md). What it describes as
missing in its library is not tried and is told as such.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

from confluent_kafka.admin import AdminClient, NewTopic

PLAIN, SASL, HTTP = (os.environ[k] for k in ("PLAIN", "SASL", "HTTP"))
ROOT = pathlib.Path(os.environ["root"])
PATIENCE = 120  # seconds that a step may take before it has failed: machines are slow when they are busy
WAIT = 60  # seconds that a client may wait by its settings for what is not served
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 4
LIMIT = 40_000  # bytes/s of the throttled


class Failed(Exception):
    """A trial did not do what it should."""


class Missing(Exception):
    """The client's library does not have it."""


class Client:
    """One program: its name, its command and what it says of itself."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        out, _ = self.run("describe")
        self.about = json.loads(out)
        self.refusals = {}  # trial -> what the library says
        self.reasons = {}  # trial -> why it is not tried

    def needs(self, *features):
        for f in features:
            if f in self.about["lacks"]:
                raise Missing(self.about["lacks"][f])

    def needs_codec(self, codec):
        if codec not in self.about["codecs"]:
            raise Missing(self.about["lacks"].get(codec, f"{codec} is not in the library"))

    def start(self, *args, **kw):
        line = f'exec env {self.command} "$@"'  # env: the command may begin with NAME=VALUE
        return subprocess.Popen(["bash", "-c", line, self.name, *map(str, args)], start_new_session=True, stdin=subprocess.DEVNULL, **kw)

    def run(self, *args, codes=(0,)):
        """What the program printed and how it ended; Failed for any other end."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = self.start(*args, stdout=out, stderr=err)
            try:
                code = process.wait(1.5 * PATIENCE)
            except subprocess.TimeoutExpired:
                code = f"nothing within {1.5 * PATIENCE} s"
                kill(process)
            out.seek(0), err.seek(0)
            printed, complained = out.read(), err.read()
        if code not in codes:
            raise Failed(f"{args[0]} ended with {code}: {tail(printed)} | {tail(complained)}")
        return printed, code


def tail(text):
    return " / ".join(text.strip().splitlines()[-3:])[-600:]


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def listed():
    """Client -> its command."""
    return dict(line.split("\t") for line in (ROOT / "scripts/clients/clients.tsv").read_text().splitlines())


def clients(commands):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda c: Client(*c), commands.items()))


# What is asked of a broker's other doors.

def scrape():
    """The samples of /metrics: name and labels as they are written -> value."""
    text = urllib.request.urlopen(f"http://{HTTP}/metrics", timeout=30).read().decode()
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")
    return {name: float(value) for name, value in lines}


def throttles(user, quota):
    return scrape().get(f'kaasd_quota_entity_throttled_requests_total{{client_id="",quota="{quota}",user="{user}"}}', 0)


def create(topic, partitions=PARTITIONS):
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(PATIENCE)
    return topic


def codecs_on_disk(topic):
    """The codecs of all batches in a topic's segments (attributes, bits 0-2)."""
    found = set()
    for path in pathlib.Path(os.environ["DATA"]).glob(f"{topic}-*/*.log"):
        data, at = path.read_bytes(), 0
        while at + 61 <= len(data):
            found.add(CODECS[data[at + 22] & 7])
            at += 12 + int.from_bytes(data[at + 8:at + 12])
    return found


# The steps that trials are made of.

def login(user, mechanism):
    return ["--user", user, "--mechanism", mechanism] if mechanism else []


def broker(mechanism):
    return ["--bootstrap-server", SASL if mechanism else PLAIN]


def produce(client, topic, records, user=None, mechanism=None, codec="none", start=0):
    """Writes records, and returns the longest throttle in ms by the client's own account, None where it has none."""
    out, _ = client.run("produce", *broker(mechanism), "--topic", topic, "--partition-count", PARTITIONS, "--records", records,
                        "--from", start, "--codec", codec, *login(user or client.name, mechanism))
    last = out.strip().splitlines()[-1] if out.strip() else ""
    said = re.fullmatch(r"produced (\d+) throttled (unknown|[\d.]+)", last)
    if not said or int(said[1]) != records:
        raise Failed(f"produce said {last!r}, not that it has produced {records}")
    return None if said[2] == "unknown" else float(said[2])


def consume(client, topic, group, records, user=None, mechanism=None, more=()):
    """Reads records as the only member of a group, and returns the lines it printed."""
    out, _ = client.run("consume", *broker(mechanism), "--topic", topic, "--group", group, "--records", records, "--timeout", PATIENCE,
                        *login(user or client.name, mechanism), *more)
    return out.splitlines()


def read(lines):
    """The records among the lines of consumers: (partition, offset, value), in the order they were read."""
    return [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("record ")]


def holds(got, want, start=0):
    """Exactly the records from start on, each in the partition and at the offset where it was written."""
    for partition, offset, value in got:
        if partition != value % PARTITIONS:
            raise Failed(f"value {value} in partition {partition}")
    if sorted(value for _, _, value in got) != list(range(start, start + want)):
        raise Failed(f"{len(got)} records read, {len({v for _, _, v in got})} different, of {want}")
    for p in range(PARTITIONS):
        offsets = [offset for partition, offset, _ in got if partition == p]
        if offsets != sorted(set(offsets)):
            raise Failed(f"partition {p} not in the order of its offsets")


def group_is(group, members, state, lag, topic):
    """Waits until the broker says so."""
    want = {f'kaasd_group_members{{group="{group}"}}': members, f'kaasd_group_state{{group="{group}",state="{state}"}}': 1,
            f'kaasd_group_lag{{group="{group}",topic="{topic}"}}': lag}
    deadline = time.monotonic() + PATIENCE
    while True:
        samples = scrape()
        got = {k: samples.get(k) for k in want}
        if got == want:
            return
        if time.monotonic() > deadline:
            raise Failed(f"the broker says {got}, not {want}")
        time.sleep(0.2)


def pipeline(client, topic, records, user=None, mechanism=None, codec="none"):
    """Produces and consumes with one client; the group is committed and empty afterwards."""
    create(topic)
    produce(client, topic, records, user, mechanism, codec)
    holds(read(consume(client, topic, topic, records, user, mechanism)), records)
    group_is(topic, 0, "Empty", 0, topic)


# The trials: each returns the word for its cell of the table.

def plain_trial(client):
    pipeline(client, client.name, 200)
    return "works"


def codec_trial(codec):
    def trial(client):
        client.needs_codec(codec)
        topic = f"{client.name}-{codec}"
        pipeline(client, topic, 200, codec=codec)
        if codecs_on_disk(topic) != {codec}:
            raise Failed(f"asked for {codec}, wrote {codecs_on_disk(topic)}")
        return "works"
    return trial


def consume_trial(client):
    """Reads what others have written, each codec by another client."""
    topic = create(client.name + "-others")
    mine = [c for c in CODECS if c in client.about["codecs"]]
    for i, codec in enumerate(mine):
        others = [c for c in everybody if c is not client and codec in c.about["codecs"]] or [client]
        other = others[(everybody.index(client) + i) % len(others)]
        produce(other, topic, 40, codec=codec, start=40 * i)
    got = read(consume(client, topic, topic, 40 * len(mine)))
    holds(got, 40 * len(mine))
    return "works"


def sasl_trial(mechanism):
    def trial(client):
        client.needs(mechanism)
        user = client.name + ("-256" if mechanism == "SCRAM-SHA-256" else "")
        pipeline(client, f"{client.name}-{mechanism}", 40, user, mechanism)
        return "works"
    return trial


def throttled_trial(client):
    """A producer and a group, each held back: both end, the broker counts it, the client knows of it, the group does not rebalance."""
    mechanism = next((m for m in ("SCRAM-SHA-512", "PLAIN") if m not in client.about["lacks"]), None)
    if not mechanism:
        raise Missing("no user to hold back")
    topic, user = create(client.name + "-throttled"), client.name
    quota = [os.environ["KAASD"], "quota", "set", "--bootstrap-server", PLAIN, "--user", user]
    subprocess.run([*quota, f"produce={LIMIT}", f"fetch={LIMIT}"], check=True, stdout=subprocess.DEVNULL)
    before = {q: throttles(user, q) for q in ("produce", "fetch")}
    told = produce(client, topic, 1500, user, mechanism)
    lines = consume(client, topic, topic, 1500, user, mechanism)
    holds(read(lines), 1500)
    for q in before:
        if throttles(user, q) <= before[q]:
            raise Failed(f"the broker has counted no throttle of {q}")
    if told is not None and told <= 0:
        raise Failed("the client does not know that it was throttled")
    if (told is None) != ("throttle" in client.about["lacks"]):
        raise Failed(f"says {client.about['lacks']}, but told {told}")
    given = [p for line in lines if line.startswith("assigned ") for p in line.split()[1:]]
    if len(given) != PARTITIONS:
        raise Failed(f"the group has rebalanced: {given}")
    subprocess.run([quota[0], "quota", "unset", *quota[3:], "produce", "fetch"], check=True, stdout=subprocess.DEVNULL)
    return "works" if told is None else "works, tells"


def refused(client, trial, *args, codes):
    """Runs a program that may wait for WAIT and is to give up at once, with an
    error that is not a timeout. Returns what it printed and how it ended."""
    began = time.monotonic()
    out, code = client.run(*args, "--timeout", WAIT, codes=codes)
    if code == 3:
        text = next((line[len("refused "):] for line in out.splitlines() if line.startswith("refused ")), "")
        if not text or re.search("time(d|r)?[ -]?out", text, re.I) or time.monotonic() - began > 0.8 * WAIT:
            raise Failed(f"no clear error after {time.monotonic() - began:.0f} s: {text!r}")
        text = re.sub(r"127\.0\.0\.1:\d+(/\w+)?", "HOST:PORT", text)  # the same in every run; librdkafka adds /1, or /bootstrap before it knows
        client.refusals[trial] = re.sub(r"\d{6,}", "N", text)
    return out, code


def transactions_trial(client):
    client.needs("transactions")
    topic = create(client.name + "-transactions")
    refused(client, "transactions", "transact", *broker(None), "--topic", topic, codes=(3,))
    return "refused"


def protocol_trial(client):
    """The library may refuse to run without KIP-848, or go on with the classic protocol."""
    client.needs("protocol")
    topic = create(client.name + "-protocol")
    produce(client, topic, 1)
    out, code = refused(client, "KIP-848", "consume", *broker(None), "--topic", topic, "--group", topic, "--records", 1,
                        "--protocol", "consumer", codes=(0, 3))
    if code == 3:
        return "refused"
    holds(read(out.splitlines()), 1)
    return "falls back"


def static_trial(client):
    """A static member leaves and comes back: it goes on where it has committed."""
    client.needs("static")
    topic = create(client.name + "-static")
    produce(client, topic, 80)
    first = consume(client, topic, topic, 80, more=["--static", "one"])
    produce(client, topic, 40, start=80)
    second = consume(client, topic, topic, 40, more=["--static", "one"])
    holds(read(first), 80)
    holds(read(second), 40, start=80)
    return "works"


def takeover_trial(*assignors):
    """With the first of them that the library has."""
    def trial(client):
        client.needs("group")
        for assignor in assignors:
            if assignor not in client.about["lacks"]:
                return Takeover(client, assignor).run()
        client.needs(*assignors)
    return trial


class Takeover:
    """While one writes, a second member joins a group and the first is killed:
    every record is read, no partition has two owners at a time. Both members
    append what they do to one file, which puts it in order."""
    RECORDS, RATE = 4000, 150

    def __init__(self, client, assignor):
        self.client = client
        self.topic, self.more = f"{client.name}-{assignor}", ["--assignor", assignor]
        self.file = pathlib.Path(os.environ["work"], self.topic)
        self.errors = open(str(self.file) + ".err", "ab")
        self.running = []

    def run(self):
        create(self.topic)
        try:
            writing = self.begin("produce", "--partition-count", PARTITIONS, "--records", self.RECORDS, "--rate", self.RATE, "--codec", "none", stdout=self.errors)
            first = self.member("a")
            self.until("the first member reads", lambda: len(self.of("a", "record")) > 100)
            second = self.member("b")
            self.until("the second member reads", lambda: len(self.of("b", "record")) > 20)
            kill(first)
            self.note("a killed")
            self.until("the second member has all partitions", lambda: len(self.owners()) == PARTITIONS and set(self.owners().values()) == {"b"})
            if writing.wait(PATIENCE) != 0:
                raise Failed(f"produce ended with {writing.returncode}: {self.complaints()}")
            self.until("every record is read", lambda: len(set(self.values())) == self.RECORDS)
            second.send_signal(signal.SIGTERM)
            if second.wait(PATIENCE) != 0:
                raise Failed(f"the second member ended with {second.returncode}: {self.complaints()}")
            self.owners()
            group_is(self.topic, 0, "Empty", 0, self.topic)
            return "works"
        finally:
            for process in self.running:
                if process.poll() is None:
                    kill(process)

    def begin(self, what, *args, stdout):
        process = self.client.start(what, "--bootstrap-server", PLAIN, "--topic", self.topic, *args, stdout=stdout, stderr=self.errors)
        self.running.append(process)
        return process

    def member(self, tag):
        with open(self.file, "ab") as shared:
            return self.begin("consume", "--group", self.topic, "--records", 0, "--timeout", PATIENCE, "--session", 6, "--tag", tag, *self.more, stdout=shared)

    def note(self, line):
        with open(self.file, "ab") as shared:
            shared.write(line.encode() + b"\n")

    def complaints(self):
        return tail(pathlib.Path(self.errors.name).read_text())

    def until(self, what, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise Failed(f"not within {PATIENCE} s: {what}; {self.complaints()}")
            time.sleep(0.2)

    def events(self):
        text = self.file.read_text() if self.file.exists() else ""
        return [line.split() for line in text[:text.rfind("\n") + 1].splitlines()]

    def of(self, tag, verb):
        return [e for e in self.events() if e[:2] == [tag, verb]]

    def values(self):
        return [int(e[4]) for e in self.events() if e[1] == "record"]

    def owners(self):
        """Partition -> owner, now; Failed when one was given to two."""
        owner = {}
        for tag, verb, *partitions in self.events():
            if verb == "assigned":
                for p in partitions:
                    if owner.setdefault(p, tag) != tag:
                        raise Failed(f"{p} is given to {tag} while {owner[p]} has it")
            elif verb in ("revoked", "killed"):
                for p in [p for p, t in owner.items() if t == tag and (verb == "killed" or p in partitions)]:
                    del owner[p]
        return owner


SMOKE = {
    "produce and group consume": plain_trial,
    "SCRAM": sasl_trial("SCRAM-SHA-512"),
    "throttled": throttled_trial,
    "transactions": transactions_trial,
    "KIP-848": protocol_trial,
}
MATRIX = {
    **{codec: codec_trial(codec) for codec in CODECS},
    "consume": consume_trial,
    "group": takeover_trial("range", "roundrobin", "sticky"),
    "cooperative": takeover_trial("cooperative"),
    "static": static_trial,
    "PLAIN": sasl_trial("PLAIN"),
    "SCRAM-SHA-256": sasl_trial("SCRAM-SHA-256"),
    "SCRAM-SHA-512": sasl_trial("SCRAM-SHA-512"),
    "throttled": throttled_trial,
    "transactions": transactions_trial,
    "KIP-848": protocol_trial,
}


def attempt(client, name, trial):
    """One trial of one client: its cell."""
    began = time.monotonic()
    try:
        cell, why = trial(client), client.refusals.get(name, "")
    except Missing as e:
        client.reasons[name] = str(e)
        return "-"
    except Exception as e:  # whatever breaks a trial fails it
        cell, why = "fails", f"{type(e).__name__}: {e}"
    with printing:
        print(f"{'FAIL' if cell == 'fails' else 'PASS'}  {client.name}: {name}: {cell}, {time.monotonic() - began:.1f} s", flush=True)
        if why:
            print(f"      {why}", flush=True)
    return cell


def table(cells, trials):
    """The page's part that a run writes: who does what, what is missing and why, what users read."""
    lines = ["| client | version | " + " | ".join(trials) + " |", "|---" * (2 + len(trials)) + "|"]
    for client in everybody:
        lines.append(f"| {client.name} | {client.about['version']} | " + " | ".join(cells[client.name, t] for t in trials) + " |")
    lines += ["", "What is not tried (`-`), because it is not in the client or for the reason given:", ""]
    for client in everybody:
        lines += [f"- {client.name}, {', '.join(ts)}: {why}" for why, ts in by_text((why, t) for t, why in client.reasons.items())]
    lines += ["", "What users read where something is refused:", ""]
    said = by_text(((t, text.replace(client.name, "NAME")), client.name) for client in everybody for t, text in client.refusals.items())
    lines += [f"- {t}, {', '.join(names)}: `{text}`" for (t, text), names in sorted(said, key=lambda s: s[0][0], reverse=True)]
    return "\n".join(lines) + "\n"


def by_text(pairs):
    """Who says the same, together, in the order in which it is first said."""
    together = {}
    for text, who in pairs:
        together.setdefault(text, []).append(who)
    return together.items()


def chosen(option, text, of):
    """What an option names, all where it is not given; a name that is none ends the run."""
    names = text.split(",") if text else of
    for name in names:
        if name not in of:
            parser.error(f"{option}: {name!r} is none of {', '.join(of)}")
    return {name: of[name] for name in names}


parser = argparse.ArgumentParser()
parser.add_argument("trials", choices=["smoke", "matrix"])
parser.add_argument("--only", help="clients, separated by commas")
parser.add_argument("--trial", help="trials, separated by commas")
parser.add_argument("--jobs", type=int, default=4, help="clients at a time")
parser.add_argument("--table", help="file for the table")
asked = parser.parse_args()
commands = chosen("--only", asked.only, listed())
trials = chosen("--trial", asked.trial, {"smoke": SMOKE, "matrix": MATRIX}[asked.trials])
printing = threading.Lock()
admin = AdminClient({"bootstrap.servers": PLAIN})
everybody = clients(commands)
with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
    rows = pool.map(lambda client: {(client.name, t): attempt(client, t, trial) for t, trial in trials.items()}, everybody)
    cells = {key: cell for row in rows for key, cell in row.items()}
if asked.table:
    pathlib.Path(asked.table).write_text(table(cells, trials))
