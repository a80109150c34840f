"""Runs the client programs of clients.tsv against a broker that is up already,
and says of each what works:

    trials.py smoke|matrix [--only NAME,...] [--table FILE]

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
import time
import urllib.request

PLAIN, SASL, HTTP = (os.environ[k] for k in ("PLAIN", "SASL", "HTTP"))
ROOT = pathlib.Path(os.environ["root"])
PATIENCE = 120  # seconds that a step may take before it has failed: machines are slow when they are busy
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

    def needs(self, *features):
        for f in features:
            if f in self.about["lacks"]:
                raise Missing(self.about["lacks"][f])

    def needs_codec(self, codec):
        if codec not in self.about["codecs"]:
            raise Missing(self.about["lacks"].get(codec, f"{codec} is not in the library"))

    def start(self, *args, **kw):
        line = " ".join(["exec" if self.command[0] in "jp\"" else "", self.command, '"$@"'])
        return subprocess.Popen(["bash", "-c", line, self.name, *map(str, args)], start_new_session=True, stdin=subprocess.DEVNULL, **kw)

    def run(self, *args, codes=(0,)):
        """What the program printed and how it ended; Failed for any other end."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = self.start(*args, stdout=out, stderr=err)
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                code = f"not within {PATIENCE} s"
                kill(process)
            out.seek(0), err.seek(0)
            printed, complained = out.read(), err.read()
        if code not in codes:
            raise Failed(f"{args[0]} ended with {code}: {tail(printed)} | {tail(complained)}")
        return printed, code


def tail(text):
    return " / ".join(text.strip().splitlines()[-3:])[-600:]


def kill(process, how=signal.SIGKILL):
    os.killpg(process.pid, how)
    process.wait()


def clients(only):
    out = []
    for line in (ROOT / "scripts/clients/clients.tsv").read_text().splitlines():
        name, command = line.split("\t")
        if not only or name in only:
            out.append(Client(name, command))
    return out
