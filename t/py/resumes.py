"""A trainer without a framework that speaks pilot's protocol: a line fitted with momentum, on shuffled data, with
noise from python's random numbers; it saves, resumes, and stops when asked. Tests break it line by line."""
import argparse
import hashlib
import json
import os
import random

p = argparse.ArgumentParser()
p.add_argument("--out", default="out")
p.add_argument("--resume", default="")
p.add_argument("--auto", action="store_true")
p.add_argument("--steps", type=int, default=60)
p.add_argument("--every", type=int, default=8)
p.add_argument("--batch", type=int, default=4)
a = p.parse_args()


def tell(kind, **fields):
    fd = os.environ.get("PILOT_RECORD_FD")
    if fd:
        os.write(int(fd), (json.dumps(dict(kind=kind, **fields)) + "\n").encode())


def digest(x):
    return hashlib.sha256(json.dumps(x).encode()).hexdigest()[:16]


def state(at):
    if not a.quiet:
        tell("state", update=done, at=at, weights_digest=digest(w), optimizer_digest=digest(v), optimizer_count=count, lr=rate(), scale=scale,
             python_random=digest(random.getstate()), batch_digest=digest(peek()))


def rate():
    return 0.02 if count < 12 else 0.01


def peek():
    return order[at:at + a.batch]


random.seed(3)
a.quiet = False
data = [(x / 20, 3 * x / 20 - 1) for x in range(40)]
w, v, order, at, count, scale = [0.0, 0.0], [0.0, 0.0], [], 0, 0, 1024.0
stop = int(os.environ.get("PILOT_UPDATES", "0"))
os.makedirs(a.out, exist_ok=True)
path = os.path.join(a.out, "line.json")
if a.auto and os.path.exists(path):
    a.resume = path
if a.resume:
    c = json.load(open(a.resume))
    w = c["w"]
    v = c["v"]
    count = c["count"]
    order, at = c["order"], c["at"]
    scale = c["scale"]
    random.setstate((c["random"][0], tuple(c["random"][1]), c["random"][2]))
    tell("load", path=a.resume, restored=["weights", "optimizer", "count", "random"], matched=2, missing=0)
    if os.environ.get("PILOT_CONTROL") == "cold":
        v, scale = [0.0, 0.0], 1024.0
        random.seed(99)
tell("trainer", name="resumes")
done = 0
while count < a.steps:
    if at + a.batch > len(order):
        order, at = random.Random(count * a.batch // len(data)).sample(range(len(data)), len(data)), 0
    if done == 0:
        state("start")
    if stop and done == stop:
        state("stop")
        break
    batch = peek()
    at += a.batch
    loss, g = 0.0, [0.0, 0.0]
    for i in batch:
        e = w[0] * data[i][0] + w[1] - data[i][1] + 0.1 * random.random()
        loss += e * e / a.batch
        g = [g[0] + 2 * e * data[i][0] / a.batch, g[1] + 2 * e / a.batch]
    v = [0.9 * m + d for m, d in zip(v, g)]
    lr = rate()
    w = [x - lr * m for x, m in zip(w, v)]
    count += 1
    done += 1
    scale = scale * 2 if count % 7 == 0 else scale
    tell("step", update=done, rows=a.batch, loss=loss, lr=lr, batch_digest=digest(batch), gradient_norm=(g[0] ** 2 + g[1] ** 2) ** 0.5)
    if count % a.every == 0:
        json.dump(dict(w=w, v=v, count=count, order=order, at=at, scale=scale, random=random.getstate()), open(path + ".new", "w"))
        os.replace(path + ".new", path)
        tell("save", update=done, path=os.path.abspath(path), holds=["weights", "optimizer", "count", "random"])
