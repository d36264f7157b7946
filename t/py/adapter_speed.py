"""A training loop that times its own updates: adapter_speed.py tiny|wide UPDATES RESULT

Writes one line of JSON to RESULT: median and mean milliseconds an update (the first ten left out), the median of its processor time and the highest
resident memory. With and without pilot's adapter it must do the same work; the adapter is not asked for anything.
"""
import json
import sys
import time

import torch
from torch import nn


def make(size: str) -> "tuple[nn.Module, torch.Tensor, torch.Tensor]":
    if size == "tiny":
        return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)), torch.randn(16, 8), torch.randint(0, 4, (16,))
    layers: "list[nn.Module]" = []
    for _ in range(6):
        layers += [nn.Linear(1024, 1024), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(1024, 64)), torch.randn(256, 1024), torch.randint(0, 64, (256,))


def resident() -> int:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))


def main() -> None:
    size, updates, result = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.manual_seed(0)
    model, x, y = make(size)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    laps, work = [], []
    for _ in range(updates):
        begin, busy = time.perf_counter(), time.thread_time()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        laps.append(1e3 * (time.perf_counter() - begin))
        work.append(1e3 * (time.thread_time() - busy))
    laps, work = laps[10:], sorted(work[10:])
    with open(result, "w") as f:
        json.dump({"median": sorted(laps)[len(laps) // 2], "processor": work[len(work) // 2], "mean": sum(laps) / len(laps), "least": min(laps), "resident": resident()}, f)


if __name__ == "__main__":
    main()
