"""compare_model.py NUMBERS FOLDER CASE... - pilot's loss, logits and gradients beside PyTorch's, for the
same weights and batch. Prints what differs most; ends with 1 if anything is too far."""
import subprocess
import sys
from fnmatch import fnmatchcase

import numpy as np
import torch
import torch.nn.functional as F

import models
import st

torch.set_num_threads(1)
numbers, folder, *cases = sys.argv[1:]

# name: (spec, layers, width, heads, context, vocab, rows, length, masked share, further settings)
GPT = {
    "small": (2, 32, 4, 16, 17, 3, 16, 0.0, []),
    "shorter": (2, 32, 2, 40, 50, 3, 11, 0.0, []),
    "long": (2, 48, 3, 200, 65, 2, 197, 0.0, []),
    "one": (1, 8, 1, 4, 5, 1, 1, 0.0, []),
    "odd": (3, 21, 7, 70, 33, 4, 67, 0.3, []),
    "masked": (2, 32, 4, 24, 19, 5, 24, 0.7, []),
    "unequal": (2, 32, 4, 24, 19, 6, 20, 0.6, ["rows=2,1,3"]),
    "untied": (2, 32, 4, 24, 19, 3, 24, 0.2, []),
    "frozen": (3, 32, 4, 24, 19, 3, 24, 0.2, ["freeze=wte.*,h.0.*,h.*.attn.c_attn.bias,ln_f.weight"]),
    "wide": (1, 384, 6, 256, 256, 2, 256, 0.0, []),
}
MLP = {
    "mlp": ([20, 16, 12, 5], "relu", 13, []),
    "mlp-gelu": ([20, 16, 12, 5], "gelu", 13, []),
    "mlp-tanh": ([20, 16, 12, 5], "tanh", 13, []),
    "mlp-unequal": ([31, 17, 3], "relu", 9, ["rows=4,3,2"]),
    "mlp-frozen": ([31, 17, 9, 3], "relu", 9, ["freeze=fc.0.*,fc.1.bias"]),
    "mlp-large": ([784, 256, 10], "relu", 64, []),
    "mlp-linear": ([11, 4], "relu", 6, []),
    "mlp-two": ([6, 5, 5, 5, 2], "gelu", 1, []),
}


def build(case):
    if case in GPT:
        layers, width, heads, context, vocab, rows, length, masked, more = GPT[case]
        tied = case != "untied"
        w = models.gpt_weights(layers, width, context, vocab, tied)
        ids = torch.randint(0, vocab, (rows, length))
        targets = torch.randint(0, vocab, (rows, length))
        targets[torch.rand(rows, length) < masked] = -1
        spec = f"gpt:layers={layers},width={width},heads={heads},context={context},tied={int(tied)}"
        batch = {"batch.ids": ids.int().numpy(), "batch.targets": targets.int().numpy()}
        return w, batch, spec, vocab, more, targets.view(-1), lambda p: models.gpt(p, ids, layers, heads)
    sizes, act, rows, more = MLP[case]
    w = models.mlp_weights(sizes)
    x, targets = torch.randn(rows, sizes[0]), torch.randint(0, sizes[-1], (rows,))
    fun = {"relu": torch.relu, "gelu": models.gelu, "tanh": torch.tanh}[act]
    spec = f"mlp:hidden={'x'.join(map(str, sizes[1:-1])) or 0},activation={act}"
    batch = {"batch.x": x.numpy(), "batch.targets": targets.int().numpy()}
    return w, batch, spec, sizes[-1], more, targets, lambda p: models.mlp(p, x, fun)


def compare(case):
    torch.manual_seed(7)
    w, batch, spec, classes, more, targets, forward = build(case)
    st.write(f"{folder}/in", {**{k: v.numpy() for k, v in w.items()}, **batch})
    subprocess.run([numbers, "model", f"{folder}/in", f"{folder}/out", spec, f"classes={classes}", *more], check=True)
    got, meta = st.read(f"{folder}/out")

    for v in w.values():
        v.requires_grad_()
    logits = forward(w)
    logits = logits.view(-1, logits.shape[-1])
    loss = F.cross_entropy(logits, targets, ignore_index=-1)
    loss.backward()
    logits, seen = logits.detach(), targets >= 0
    bad = []

    def near(what, difference, bound):
        if not difference <= bound:
            bad.append(f"{case}: {what}: {difference:.3g} is more than {bound:.3g}")

    near("loss", abs(float(meta["loss"]) - loss.item()), 1e-5)
    near("validation loss", abs(float(meta["validation_loss"]) - loss.item()), 1e-5)
    near("logits", np.abs(got["logits"] - logits.numpy()).max(), 1e-4)
    near("correct", abs(float(meta["correct"]) - (logits[seen].argmax(1) == targets[seen]).sum().item()), 0)
    near("supervised", abs(float(meta["supervised"]) - seen.sum().item()), 0)
    near("variance", abs(float(meta["logits_variance"]) - logits[seen].var(1, unbiased=False).mean().item()), 1e-4)
    worst = ("", 0.0)
    frozen = [p for m in more if m.startswith("freeze=") for p in m[7:].split(",")]
    for name, value in w.items():
        if any(fnmatchcase(name, p) for p in frozen):
            if "grad." + name in got:
                bad.append(f"{case}: {name} is frozen and has a gradient")
            continue
        mine, theirs = got["grad." + name].astype(np.float64), value.grad.numpy().astype(np.float64)
        relative = np.linalg.norm(mine - theirs) / np.linalg.norm(theirs)
        near("gradient of " + name, relative, 1e-4)
        worst = max(worst, (name, relative), key=lambda x: x[1])
    off = abs(float(meta["loss"]) - loss.item())
    print(f"{case}: loss {loss.item():.6f}, off by {off:.1e}; gradient farthest off: {worst[0]} {worst[1]:.1e}")
    return bad


bad = [line for case in cases for line in compare(case)]
if bad or not cases:
    sys.exit("\n".join(bad))
