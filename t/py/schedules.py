"""schedules.py NUMBERS - rates beside the formulas of the manual, written again, and beside PyTorch's
schedulers where PyTorch has the same curve."""
import math
import subprocess
import sys

import torch

numbers = sys.argv[1]


def rates(spec, base, horizon, count):
    out = subprocess.run([numbers, "schedule", spec, str(base), str(horizon), str(count)], check=True, capture_output=True, text=True)
    return [float(x) for x in out.stdout.split()]


def expected(kind, warmup, floor, base, horizon, u):
    if u < warmup:
        return base * (u + 1) / warmup
    r = min(1, (u - warmup) / (horizon - warmup)) if horizon > warmup else 0
    share = {"constant": 1, "linear": floor + (1 - floor) * (1 - r), "cosine": floor + (1 - floor) * (1 + math.cos(math.pi * r)) / 2}
    return base * share[kind]


def of_torch(make, base, count):
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], base)
    schedule, out = make(opt), []
    for _ in range(count):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        schedule.step()
    return out


def check(what, got, want):
    worst = max(abs(a - b) for a, b in zip(got, want)) if len(got) == len(want) else math.inf
    print(f"{what}: off by {worst:.1e}")
    if not worst <= 1e-12:
        sys.exit(f"{what}: {got} is not {want}")


s = torch.optim.lr_scheduler
for kind in ("constant", "linear", "cosine"):
    for warmup, floor, horizon in ((0, 0, 50), (10, 0, 50), (7, 0.1, 33), (1, 0.5, 10), (20, 0, 20), (50, 0.2, 20)):
        spec = f"{kind}:warmup={warmup},floor={floor}"
        check(f"{spec} over {horizon}", rates(spec, 0.3, horizon, 70), [expected(kind, warmup, floor, 0.3, horizon, u) for u in range(70)])
check("cosine beside CosineAnnealingLR", rates("cosine", 0.3, 40, 40), of_torch(lambda o: s.CosineAnnealingLR(o, 40), 0.3, 40))
check("cosine to a floor", rates("cosine:floor=0.1", 0.3, 40, 40), of_torch(lambda o: s.CosineAnnealingLR(o, 40, 0.03), 0.3, 40))
check("linear beside LinearLR", rates("linear:floor=0.2", 0.3, 40, 60), of_torch(lambda o: s.LinearLR(o, 1, 0.2, 40), 0.3, 60))
check("warm-up beside LinearLR", rates("constant:warmup=8", 0.3, 40, 40), of_torch(lambda o: s.LinearLR(o, 1 / 8, 1, 7), 0.3, 40))
