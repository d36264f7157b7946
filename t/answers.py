#!/usr/bin/env python3
"""answers.py - record streams for the questions of the ledger, as JSON Lines, with the fields that train-step writes.

    answers.py arms [options]     runs of a comparison: --arm NAME=MEAN[:SETTING=VALUE...] ...
    answers.py nights [options]   the same job night after night

Numbers come from a generator with a seed, so a stream is the same every time."""
import argparse
import json
import math
import random
import sys
from datetime import datetime, timedelta, timezone

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
count = 0


def ulid(when, what):
    """Sorts by time; the rest is a number, so that ids of a stream are known beforehand."""
    global count
    count += 1
    ms, out = int(when.timestamp() * 1000), ""
    for _ in range(10):
        out = ALPHABET[ms % 32] + out
        ms //= 32
    n, tail = (what << 40) + count, ""
    for _ in range(16):
        tail = ALPHABET[n % 32] + tail
        n //= 32
    return out + tail


def stamp(t):
    return t.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write(kind, t, **fields):
    record = {"kind": kind, "t": stamp(t)}
    for k, v in fields.items():
        if v is None:
            continue
        if isinstance(v, float) and not math.isfinite(v):
            v = "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
        record[k] = v
    print(json.dumps(record, ensure_ascii=False))


def settings(seed, over):
    fields = {
        "role": "train", "trainer": "builtin", "model": "gpt:layers=2,width=64,heads=4", "data": "sums:digits=2",
        "optimizer": "adamw:lr=1e-3", "schedule": "constant", "micro_batch": 32, "accum": 1, "replicas": 1, "last_window": "keep", "updates": 200,
        "seed": seed, "precision": "fp32", "device": "cpu", "val_every": 50, "cwd": "/srv/run", "version": "0.1.0", "revision": "a" * 40, "dirty": False,
        "host": "node1", "cpu": "a processor", "devices": ["cpu"], "data_digests": ["sha256:" + "d" * 64], "weights_provenance": "initialised",
        "train_examples": 8000, "validation_examples": 1000, "effective_batch": 32, "planned_updates": 200, "budget": "updates",
    }
    fields.update(over)
    fields["effective_batch"] = fields["micro_batch"] * fields["accum"] * fields["replicas"]
    return fields


PHASES = [("load", 0.02), ("data", 0.0001), ("forward", 0.003), ("backward", 0.004), ("update", 0.0006), ("validate", 0.2), ("save", 0.05)]


def run(t, what, seed, final, over, rng, *, status="done", updates=None, evals=4, steps=0, speed=6000.0, peak=5125632, slow=None, twice=False, clock=0, verdict=None, end=True):
    """One run; final is its last validation loss. Returns its id."""
    f = settings(seed, over)
    run_id = ulid(t, what)
    write("run", t, run=run_id, **f)
    planned = f["planned_updates"]
    updates = planned if updates is None else updates
    seconds = updates * f["effective_batch"] / speed
    for name, s in PHASES:
        s *= (slow or {}).get(name, 1.0) * 6000.0 / speed * math.exp(rng.gauss(0, 0.01))
        for occurrence in ("first", "steady"):
            write("phase", t, run=run_id, phase=name, occurrence=occurrence, seconds=s, micro_batch=f["micro_batch"], allocated_peak_bytes=peak, reserved_peak_bytes=peak + 8192)
    for u in range(1, steps + 1):
        n = 2 if twice and u % 3 == 0 else 1
        for _ in range(n):
            write("step", t + timedelta(seconds=clock), run=run_id, update=u, examples=u * f["effective_batch"], loss=final + 2.0 / u, lr=1e-3, seconds=seconds / max(1, updates))
    loss = math.nan
    for k in range(1, evals + 1):
        u = planned * k // evals
        if u > updates:
            break
        loss = math.nan if status == "diverged" and k == evals else final + (1.0 / k - 1.0 / evals)
        write("eval", t + timedelta(seconds=clock if k > 1 else seconds * k / evals), run=run_id, split="validation", update=u, loss=loss, accuracy=max(0.0, 1 - loss / 3) if loss == loss else None,
              run_examples=u * f["effective_batch"], training_seconds=seconds * k / evals, run_seconds=1.1 * seconds * k / evals)
    if end:
        write("end", t + timedelta(seconds=seconds), run=run_id, status=status, why="stop rule loss>10" if status == "diverged" else None, updates=updates, examples=updates * f["effective_batch"],
              seconds=1.1 * seconds, training_seconds=seconds, examples_per_second=speed, validation_loss=loss, allocated_peak_bytes=peak, reserved_peak_bytes=peak + 8192, device_used_peak_bytes=2 * peak)
    if verdict:
        for phase in ("data", "forward", "backward", "update"):
            write("verdict", t + timedelta(seconds=seconds), run=run_id, phase=phase, verdict=verdict if phase == "update" else "ok")
    return run_id


def pairs(text):
    out = {}
    for word in text.split(":"):
        if not word:
            continue
        k, v = word.split("=", 1)
        v = v.replace(";", ":")  # a spec has colons of its own
        out[k] = int(v) if v.lstrip("-").isdigit() else v == "true" if v in ("true", "false") else v
    return out


def arms(a):
    rng = random.Random(a.random)
    t = datetime(2026, 11, 30, 18, 0, tzinfo=timezone.utc)
    comparison = ulid(t, 1)
    names, means, overs = [], {}, {}
    for word in a.arm:
        name, rest = word.rsplit("@", 1)
        mean, _, over = rest.partition(":")
        names.append(name)
        means[name], overs[name] = float(mean), pairs(over)
    seeds = list(range(1, a.seeds + 1))
    gone = {tuple(w.rsplit(":", 1)) for w in a.missing}
    if not a.unplanned:
        write("comparison", t, id=comparison, name=a.name, question=a.question, factors=a.factor, arms=names, runs=len(names) * a.seeds, seeds=seeds, paired=not a.unpaired,
              metric=a.metric, choice="last", within=a.within, target=a.target, budget="updates", amount=200.0, val_every=50, stop=a.stop)
    plan = [(s, n) for s in seeds for n in names]
    requests = {}
    for s, n in plan:
        requests[s, n] = ulid(t, 2)
        if not a.unplanned:
            write("request", t, id=requests[s, n], role="train", comparison=comparison, arm=n, seed=s)
    shift = {s: rng.gauss(0, a.between) for s in seeds}
    for s, n in plan:
        if (n, str(s)) in gone:
            continue
        t += timedelta(minutes=1)
        over = dict(overs[n])
        if not a.unplanned:
            over.update(comparison=comparison, arm=n, request=requests[s, n])
        for word in a.odd:
            name, seed, rest = word.split(":", 2)
            if (name, seed) == (n, str(s)):
                over.update(pairs(rest))
        key = f"{n}:{s}"
        status = "diverged" if key in a.diverged else "stopped" if key in a.stopped else "done"
        run(t, 3, s, means[n] + shift[s] + rng.gauss(0, a.sd), over, rng, status=status, end=key not in a.unended, updates=120 if key in a.stopped else None, steps=a.steps, twice=a.twice,
            clock=-86400 if a.clock else 0, evals=a.evals, speed=a.speed)


def nights(a):
    rng = random.Random(a.random)
    last = datetime.fromisoformat(a.last.replace("Z", "+00:00"))
    for i in range(a.nights):
        k = a.nights - 1 - i
        if str(k) in a.skip:
            continue
        tonight = k == 0
        over = pairs(a.set)
        if tonight:
            over.update(pairs(a.set_tonight))
        run(last - timedelta(days=k), 4, 1, 1.5 * math.exp(rng.gauss(0, a.noise)) * (a.loss if tonight else 1), over, rng, speed=6000 * math.exp(rng.gauss(0, a.noise)) * (a.throughput if tonight else 1),
            peak=int(5125632 * (a.memory if tonight else 1)), slow={a.slow: a.slower} if tonight and a.slow else None, status=a.status if tonight else "done", end=not (tonight and a.unended),
            verdict=a.verdict if tonight else a.verdict_before)


def main():
    p = argparse.ArgumentParser()
    sub = p.add_subparsers(dest="what", required=True)
    q = sub.add_parser("arms")
    q.add_argument("--arm", action="append", default=[], metavar="NAME@MEAN[:FIELD=VALUE..]")
    q.add_argument("--factor", action="append", default=[])
    q.add_argument("--seeds", type=int, default=5)
    q.add_argument("--sd", type=float, default=0.01)
    q.add_argument("--between", type=float, default=0.05, help="spread of seeds that arms share")
    q.add_argument("--name", default="rates")
    q.add_argument("--question")
    q.add_argument("--metric", default="validation_loss")
    q.add_argument("--within", type=float)
    q.add_argument("--target", type=float)
    q.add_argument("--stop")
    q.add_argument("--evals", type=int, default=4)
    q.add_argument("--steps", type=int, default=0)
    q.add_argument("--speed", type=float, default=6000.0)
    for flag in ("unplanned", "unpaired", "twice", "clock"):
        q.add_argument("--" + flag, action="store_true")
    for many in ("missing", "diverged", "stopped", "unended", "odd"):
        q.add_argument("--" + many, action="append", default=[], metavar="ARM:SEED")
    q.add_argument("--random", type=int, default=1)
    q = sub.add_parser("nights")
    q.add_argument("--nights", type=int, default=15)
    q.add_argument("--last", default="2026-11-30T02:00:00Z")
    q.add_argument("--noise", type=float, default=0.02)
    q.add_argument("--skip", action="append", default=[], help="nights ago that did not come; 0 is the last")
    for name in ("throughput", "loss", "memory", "slower"):
        q.add_argument("--" + name, type=float, default=1.0)
    q.add_argument("--slow", help="phase that is slower")
    q.add_argument("--status", default="done")
    q.add_argument("--unended", action="store_true")
    q.add_argument("--verdict")
    q.add_argument("--verdict-before")
    q.add_argument("--set", default="")
    q.add_argument("--set-tonight", default="")
    q.add_argument("--random", type=int, default=1)
    a = p.parse_args()
    write("tool", datetime(2026, 11, 1, tzinfo=timezone.utc), id="01M8G0000000000000000000T0", name="answers", version="0")
    (arms if a.what == "arms" else nights)(a)
    write("done", datetime(2026, 12, 1, tzinfo=timezone.utc), id="01M8G0000000000000000000T0", status=0)


if __name__ == "__main__":
    sys.exit(main())
