"""adapter_lines.py LINES [OWN]: every line is a record that a program may write; OWN's facts, computed by the program, agree."""
import json
import math
import sys

KINDS = {"trainer", "blind", "model", "optimizer", "loader", "load", "state", "replica", "check", "failure", "step", "phase",
         "eval", "save"}


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


raw = open(sys.argv[1], "rb").read()
assert raw.endswith(b"\n"), "the last line is cut"
records = []
for line in raw.splitlines(True):
    assert len(line) <= 4096, "a line of %d bytes" % len(line)
    records.append(json.loads(line))
    assert records[-1]["kind"] in KINDS, records[-1]
    assert not records[-1].get("fault"), records[-1]
assert [r["kind"] for r in records].count("trainer") == 1 and records[0]["kind"] == "trainer", "one trainer, first"
if len(sys.argv) > 2:
    steps = [r for r in records if r["kind"] == "step"]
    own = json.load(open(sys.argv[2]))["steps"]
    assert len(steps) == len(own) > 0, (len(steps), len(own))
    for step, fact in zip(steps, own):
        for key, value in fact.items():
            if isinstance(value, float):
                assert close(step[key], value), (key, step, fact)
            else:
                assert step[key] == value, (key, step, fact)
print(len(records))
