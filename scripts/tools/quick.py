"""Runs one command line in the JVM of CommandLines.java, whose input is file
descriptor 7 and whose output is 8, as if the tool had been started:

    quick.py CLASS ARGS...
"""
import json
import os
import sys


def run(argv):
    """What the tool printed and its exit code. argv[0] is its class."""
    os.write(7, (json.dumps(argv) + "\n").encode())
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(8, 1 << 16)
        if not more:
            sys.exit("the JVM has ended")
        line += more
    return json.loads(line)


if __name__ == "__main__":
    got = run(sys.argv[1:])
    sys.stdout.write(got["stdout"])
    sys.stderr.write(got["stderr"])
    sys.exit(got["exit"])
