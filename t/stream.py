"""Writes record streams for the ledger's tests, by python3-msgpack: bytes that pilot did not write.

usage: stream.py [--steps N] [--eval-every K] [--runs R] [--seed S] [--no-gate] [--no-verdict] [--fail PHASE]
                 [--probe] [--status S] [--open] [--notes N] [--length BYTES] >FILE
One gate bracket around R runs of role train, each with its verdicts (or, with --probe, the trials and the last
run of a probe). --open leaves the last run without its end and the rest out. --notes N is N notes, nothing else."""
import argparse
import datetime
import math
import random
import sys

import msgpack

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=20)
ap.add_argument("--eval-every", type=int, default=10)
ap.add_argument("--runs", type=int, default=1)
ap.add_argument("--seed", type=int, default=1)
ap.add_argument("--no-gate", action="store_true")
ap.add_argument("--no-verdict", action="store_true")
ap.add_argument("--fail", default="")
ap.add_argument("--probe", action="store_true")
ap.add_argument("--status", type=int, default=0)
ap.add_argument("--open", action="store_true")
ap.add_argument("--notes", type=int, default=0)
ap.add_argument("--length", type=int, default=20)
a = ap.parse_args()

rng = random.Random(a.seed)
now = datetime.datetime(2026, 11, 30, 12, 0, 0, tzinfo=datetime.timezone.utc).timestamp() + a.seed * 3600
out = sys.stdout.buffer
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid():
    ms = int(now * 1000)
    head = "".join(ALPHABET[ms >> 5 * i & 31] for i in range(9, -1, -1))
    return head + "".join(rng.choice(ALPHABET) for _ in range(16))


def put(kind, **fields):
    global now
    now += 0.01
    record = {"kind": kind, "t": msgpack.Timestamp(int(now), int(now % 1 * 1e9))}
    record.update(fields)
    out.write(msgpack.packb(record))


def steps(run, n, b):
    for i in range(1, n + 1):
        put("step", run=run, update=i, epoch=i / 100, examples=i * b, tokens=i * b * 64, loss=3 * math.exp(-i / 500) + rng.random() / 10,
            lr=0.001, gradient_norm=rng.random(), rows=b, seconds=0.01 + rng.random() / 1000)
        if a.eval_every and i % a.eval_every == 0:
            put("eval", run=run, split="validation", update=i, examples=100, loss=3 * math.exp(-i / 500), accuracy=min(1.0, i / 1000))


def run_of(role, b, n, **more):
    run = ulid()
    put("run", run=run, role=role, model="gpt:layers=2,width=64,heads=2,context=64", data="text:file=/data/a.txt", optimizer="adamw:lr=1e-3",
        micro_batch=b, accum=1, effective_batch=b, planned_updates=n, device="cpu", argv=["train-step"], **more)
    for phase in ("data", "forward", "backward", "update"):
        put("phase", run=run, phase=phase, occurrence="first", micro_batch=b, length=64, allocated_peak_bytes=1000000 * b, seconds=0.01)
    steps(run, n, b)
    return run


def end(run, n, b):
    put("end", run=run, status="done", updates=n, examples=n * b, examples_per_second=100.0 * b, validation_loss=1.5, best_validation_loss=1.25,
        best_update=n // 2, validations=4, allocated_peak_bytes=1000000 * b, reserved_peak_bytes=1100000 * b)


if a.notes:
    for i in range(a.notes):
        put("note", text="%06d-%d " % (i, a.seed) + "x" * a.length)
    sys.exit()

gate, tool, judged = ulid(), ulid(), []
if not a.no_gate:
    put("tool", id=gate, name="gate", version="0.1.0")
put("tool", id=tool, name="train-step", version="0.1.0", argv=["train-step", "-n", str(a.steps)])
probe = ulid()
if a.probe:
    for b in (1, 2, 4):
        run = run_of("trial", b, 3, parent=probe)
        if b < 4:
            end(run, 3, b)
        else:
            put("end", run=run, status="oom", oom_phase="forward", asked_bytes=123456)
        put("trial", run=run, probe=probe, micro_batch=b, part="search", verdict="fits" if b < 4 else "oom", allocated_peak_bytes=1000000 * b,
            examples_per_second=100.0 * b)
for i in range(a.runs):
    run = run_of("confirm" if a.probe else "train", 2 if a.probe else 8, a.steps, **({"parent": probe} if a.probe else {}))
    if a.open and i == a.runs - 1:
        sys.exit()
    end(run, a.steps, 8)
    judged.append(run)
if a.probe:
    put("probe", id=probe, status="found", largest=2, largest_exact=True, recommended=2, examples_per_second=200.0, trials=3)
put("done", id=tool, status=a.status, records=1)
if not a.no_gate:
    for run in judged if not a.no_verdict else []:
        for phase in ("load", "data", "forward", "backward", "update", "validate", "save", "resume", "export"):
            verdict = "fail" if phase == a.fail else "unproven" if phase == "resume" else "n/a" if phase == "export" else "ok"
            put("verdict", run=run, phase=phase, verdict=verdict, evidence="a fact", tool=gate, micro_batch=8, length=64, reason="because" if verdict == "fail" else "")
    put("done", id=gate, status=1 if a.fail else 0)
