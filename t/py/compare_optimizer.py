"""compare_optimizer.py NUMBERS FOLDER SPEC... - twenty updates beside torch.optim, fed the same gradients:
after each, no weight may differ by more than 1e-5 of the rate."""
import subprocess
import sys

import numpy as np
import torch

import st

numbers, folder, *specs = sys.argv[1:]
STEPS = 20


def compare(spec):
    torch.manual_seed(11)
    kind, _, keys = spec.partition(":")
    keys = dict(k.split("=") for k in keys.split(",") if k)
    everything = keys.pop("decay", "matrices") == "all"
    k = {name: float(value) for name, value in keys.items()}

    # Weights near zero: beside a large one a difference of 1e-5 of the rate would vanish in the rounding of the sum.
    params = {"w": torch.randn(37, 29) * 0.01, "b": torch.randn(53) * 0.01}
    grads = {n: torch.randn(STEPS, *p.shape) * torch.logspace(-2, 0, STEPS).view(-1, *[1] * p.dim()) for n, p in params.items()}
    st.write(f"{folder}/in", {**{n: p.numpy() for n, p in params.items()}, **{"grad." + n: g.numpy() for n, g in grads.items()}})
    subprocess.run([numbers, "optimizer", f"{folder}/in", f"{folder}/out", spec, str(STEPS)], check=True)
    got, meta = st.read(f"{folder}/out")

    decay = k.pop("weight_decay", 0.01 if kind == "adamw" else 0)
    groups = [{"params": [p], "weight_decay": decay if everything or n == "w" else 0} for n, p in params.items()]
    lr = k.pop("lr")
    betas = {"betas": (k.pop("beta1", 0.9), k.pop("beta2", 0.999)), **k}
    if kind in ("sgd", "momentum", "nesterov"):
        own = torch.optim.SGD(groups, lr, 0 if kind == "sgd" else k.get("momentum", 0.9), nesterov=kind == "nesterov")
    elif kind == "nadam":
        # foreach: 1.13's other variant multiplies a momentum into the product twice (later releases do not).
        own = torch.optim.NAdam(groups, lr, foreach=True, **betas)
    else:
        own = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](groups, lr, **betas)

    far, moved = 0.0, 0.0
    first = {n: p.clone() for n, p in params.items()}
    for step in range(STEPS):
        for n, p in params.items():
            p.grad = grads[n][step].clone()
        own.step()
        for n, p in params.items():
            far = max(far, np.abs(got[n][step] - p.numpy().ravel()).max() / lr)
            moved = max(moved, (p - first[n]).abs().max().item() / lr)
    print(f"{spec}: farthest off {far:.1e} of the rate, moved {moved:.1f} rates{' ' + meta['scalars'] if meta['scalars'] else ''}")
    return far <= 1e-5 and moved >= 1


near = [compare(spec) for spec in specs]
if not near or not all(near):
    sys.exit("too far")
