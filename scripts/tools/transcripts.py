"""Replays what Apache Kafka's own tool printed against Apache Kafka: the command
lines of one version and group of a transcript, in order, against the broker
that runs. Lines of stdout, and the k=v pairs within a line, compare as sets;
so do exit codes and the errors a broker answered with, by their names.

    transcripts.py VERSION GROUP BROKER CLASS    with the JVM of CommandLines.java at hand (one_jvm in lib.sh)
"""
import json
import pathlib
import re
import sys

from quick import run

testdata = pathlib.Path(__file__).parent.parent / "testdata"


def lines(text):
    """The lines of a text as a set, and what stands behind "are" too."""
    return sorted(re.sub(r"( are )(.*)", lambda m: m[1] + ", ".join(sorted(m[2].split(", "))), line) for line in text.splitlines() if line)


def errors(text):
    """The errors of a broker; without one, what the tool itself had to say first."""
    named = sorted(set(re.findall(r"org\.apache\.kafka\.common\.errors\.(\w+)", text)))
    return named or [line for line in text.splitlines()[:1]]


def outcome(got):
    return {"exit": got["exit"], "stdout": lines(got["stdout"]), "stderr": errors(got["stderr"])}


def replay(version, group, broker, tool):
    differences = {(d["group"], d["n"]): d for d in json.loads((testdata / "kafka-configs-differences.json").read_text())}
    for text in (testdata / "kafka-configs.jsonl").read_text().splitlines():
        line = json.loads(text)
        if (line["kafka"], line["group"]) != (version, group):
            continue
        different = differences.get((group, line["n"]))
        if different and "exit" not in different:
            continue
        name = f"{version}: {group} {line['n']}: {' '.join(a if a else repr(a) for a in line['argv'][2:])}"
        want = outcome(different or line)
        got = outcome({k: v.replace(broker, "{bootstrap}") if isinstance(v, str) else v for k, v in run([tool] + [a.replace("{bootstrap}", broker) for a in line["argv"]]).items()})
        if got == want:
            print("PASS ", name + (f" (differs: {different['why']})" if different else ""))
        else:
            print("FAIL ", name)
            print("      want:", json.dumps(want))
            print("      got: ", json.dumps(got))


if __name__ == "__main__":
    replay(*sys.argv[1:])
