#!/usr/bin/env python3
"""The faults that real training loops had, put into copies of the scripts beside this file.

    faults.py list                  names of all
    faults.py put NAME FOLDER       writes the copy there, and prints for a shell what its test needs:
                                    script, args, options of train-step and of gate, and the verdict that must come
"""
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FAULTS = {}


def fault(name, script, phase, words, *edits, args="", options="-n 12", gate="", verdict="fail"):
    """edits: (old, new) pairs; each old text must be there exactly once. words: a regular expression."""
    assert name not in FAULTS, name
    FAULTS[name] = dict(
        script=script, phase=phase, words=words, edits=edits, args=args, options=options, gate=gate, verdict=verdict
    )


GPT, LOADER, CLASSIFIER, DDP, CROPS, TIED, BF16 = (
    "gptlike.py loader.py weights_only.py ddp.py crops.py tied.py bf16.py".split()
)

# ---- data and labels
fault(
    "D3-shifted-twice", GPT, "data", "input 2 positions on",
    ("shard[i + 1 : i + 1 + block_size]", "shard[i + 2 : i + 2 + block_size]"),
)
fault(
    "D3-not-shifted", GPT, "data", "input at it",
    ("shard[i + 1 : i + 1 + block_size]", "shard[i + 0 : i + 0 + block_size]"),
    options="-n 6 --evidence full",
)
fault(
    "D4-padding-counted", LOADER, "data", "looks at what looks like padding",
    ("longest - 1), IGNORE)", "longest - 1), PAD)"),
)
fault(
    "D6-same-order", LOADER, "data", "same 90 examples in the same order",
    ("manual_seed(self.args.seed + self.epoch)", "manual_seed(self.args.seed)"),
    options="-n 18",
)
fault(
    "D6-sampler-without-epoch", DDP, "data", "same 48 examples in the same order",
    ("sampler.set_epoch(epoch)", "pass"),
    options="-n 18",
)
fault(
    "D7-workers-share-a-seed", CROPS, "data", "workers give out the same",
    ("np.random.seed(torch.initial_seed() % 2**32)", "np.random.seed(123)"),
)
fault(
    "D-replicas-same-batch", DDP, "data", "replica",
    ("rank=rank", "rank=0"),
)

# ---- loss, accumulation, gradient
fault(
    "G1-mean-of-means", LOADER, "backward", "mean",
    ("loss_of(self.model, x, y) / tokens", 'loss_of(self.model, x, y, "mean") / len(window)'),
)
fault(
    "G2-window-dropped", CLASSIFIER, "backward", "thrown away",
    (" or i + 1 == len(train_loader):", ":"),
    ("    model.train()\n", "    model.train()\n    optimizer.zero_grad()\n"),
    options="-n 12",
)
fault(
    "G2-window-never-run", LOADER, "backward", "drop|never|left out",
    ("    if window:\n        yield window\n", ""),
    options="-n 18",
)
fault(
    "G3-tail-leaks", CLASSIFIER, "backward", "leak into update 10",
    (" or i + 1 == len(train_loader):", ":"),
    options="-n 12",
)
fault(
    "G-never-zeroed", GPT, "backward", "still there when the next begins",
    ("optimizer.zero_grad(set_to_none=True)", "pass"),
)
fault(
    "G5-nan-hidden", GPT, "forward|backward|update", "NaN|not finite",
    (
        "        loss = loss / gradient_accumulation_steps\n",
        "        loss = loss / gradient_accumulation_steps\n"
        "        if iter_num == 7 and micro_step == 0:\n"
        "            loss = loss * float('nan')\n",
    ),
    (
        "lossf = loss.item() * gradient_accumulation_steps\n",
        "now = loss.item() * gradient_accumulation_steps\n"
        "        lossf = now if math.isfinite(now) else lossf\n",
    ),
)
fault(
    "G7-scale-per-micro-batch", LOADER, "backward|update", "scale",
    ("            self.scaler.scale(loss).backward()\n",
     "            self.scaler.scale(loss).backward()\n            self.scaler.update()\n"),
)

# ---- update
fault(
    "U1-frozen-decayed", LOADER, "update", "frozen tensors changed",
    ("p.requires_grad = False", "p.requires_grad = True"),
    ("        self.updates += 1\n", "        self.updates += 1\n        self.model.embed.requires_grad_(self.updates < 2)\n"),
    ("self.optimizer.zero_grad()", "self.optimizer.zero_grad(set_to_none=False)"),
)
fault(
    "U1-zeroed-gradients-decayed", LOADER, "update", "have had no gradient",
    ("p.requires_grad = False", "p.register_hook(torch.zeros_like)"),
)
fault(
    "U2-unfrozen", LOADER, "update", "--freeze names",
    ("self.model = Net()", "self.model = Net().requires_grad_(True)"),
    options="-n 12 --freeze embed*",
)
fault(
    "U4-half-the-parameters", GPT, "update", "in no optimizer",
    ('{"params": decay, "weight', '{"params": decay[: len(decay) // 2], "weight'),
)
fault(
    "U4-replaced-afterwards", GPT, "update", "in no optimizer",
    (
        "# ---- train\n",
        "model.blocks[1] = Block(n_embd=n_embd, dropout=dropout, block_size=block_size, n_head=n_head)\n",
    ),
)
fault(
    # A scaler of the script's own: that passes were thrown away is all that can be seen.
    "U5-most-skipped", LOADER, "backward", "thrown away before 11 of 12 updates",
    ("(self, scale=1024.0, growth_interval=8", "(self, scale=2.0**124, growth_interval=1"),
    ("self._scale * 2, 0", "self._scale * 16, 0"),
    verdict="(fail|unproven)",
)
fault(
    "U6-bf16-weights", BF16, "update", "rounded away",
    ("torch.nn.Linear(48, 4)\n)", "torch.nn.Linear(48, 4)\n).bfloat16()"),
    args="--lr 5e-4",
)
fault(
    "U7-schedule-per-micro-batch", LOADER, "update", "ticks once a pass",
    ("            total += loss.item()\n", "            total += loss.item()\n            self.scheduler.step()\n"),
    ("        self.scheduler.step()\n        self.position", "        self.position"),
)
fault(
    "U9-not-tied", GPT, "load", "tied in name only",
    ("self.lm_head.weight = self.wte.weight", "self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())"),
)

# ---- validation
fault("V1-no-evaluation-mode", GPT, "validate", "evaluation mode was not on", ("    model.eval()\n", ""))
fault("V1-training-mode-not-back", GPT, "validate", "training mode was not back", ("    model.train()\n", ""))
fault(
    "V2-statistics-of-validation", LOADER, "validate", "statistics|evaluation mode was not on",
    ("    model.eval()\n", "    model.eval()\n    model.norm.train()\n"),
)
fault(
    "V3-last-batch-dropped", LOADER, "validate", "last 6 of 22 examples",
    ("batch_size=8, collate_fn=collate", "batch_size=8, drop_last=True, collate_fn=collate"),
)
fault(
    "V5-mean-of-means", LOADER, "validate", "is printed, the mean of the passes' means",
    ("total += loss_of(model, x, y).item()", 'total += loss_of(model, x, y, "mean").item()'),
    ("    return total / count\n", "    return total / len(loader)\n"),
)

# ---- extra passes
FULL = "-n 6 --evidence full"
fault(
    "F-no-causal-mask", GPT, "forward", "outputs change with other tokens behind",
    ('att = att.masked_fill(~self.lower[:T, :T], float("-inf"))', "pass"),
    options=FULL,
)
fault(
    "F-rows-mixed", GPT, "forward", "half the rows",
    ("        for block in self.blocks:\n", "        x = x + x.mean(0, keepdim=True)\n        for block in self.blocks:\n"),
    options=FULL, verdict="(fail|unproven)",
)

# ---- resume: what did not come back, with gate's replay
RESUME_GPT = dict(options="-n 12 --resume-with 'PYTHON gptlike.py --init_from=resume'", gate="--allow-exec")
RESUME_LOADER = dict(options="-n 12 --resume-with 'PYTHON loader.py --resume'", gate="--allow-exec")

fault(
    "R1-loader-restarts", LOADER, "resume", "data order: the batch of update 11 is the batch of update 9 .* repeated.; weights, optimizer",
    ('self.position = state["position"]', "pass"),
    **RESUME_LOADER
)
fault(
    "R1-only-later-epochs", LOADER, "resume", "data order: the batch of update 11 is the batch of update 3",
    ("manual_seed(self.args.seed + self.epoch)", "manual_seed(self.args.seed + self.epoch * (self.position == 0))"),
    **RESUME_LOADER
)
fault(
    "R2-torch-random", GPT, "resume", "random state: torch's did not come back",
    ('torch.set_rng_state(checkpoint["random"]["torch"])', "pass"),
    **RESUME_GPT
)
fault(
    "R2-numpy-random", GPT, "resume", "random state: numpy's did not come back",
    ('np.random.set_state(checkpoint["random"]["numpy"])', "pass"),
    **RESUME_GPT
)
fault(
    "R2-python-random", GPT, "resume", "random state: python's did not come back",
    ('random.setstate(checkpoint["random"]["python"])', "pass"),
    **RESUME_GPT
)
fault(
    "R2-reseeded-later", GPT, "resume", "random state: torch's did not come back",
    ("# ---- train\n", "torch.manual_seed(seed)\n"),
    **RESUME_GPT
)
fault(
    "R3-second-resume", GPT, "resume", "resumed once more: rate",
    ('"iter_num": iter_num,', '"iter_num": iter_num - first_iter,'),
    **RESUME_GPT
)
fault(
    "R4-count-one-too-high", GPT, "resume", "rate: .* at update 11",
    ('iter_num = checkpoint["iter_num"]', 'iter_num = checkpoint["iter_num"] + 1'),
    **RESUME_GPT
)
fault(
    "R4-last-update-twice", LOADER, "resume", "data order: the batch of update 11 is the batch of update 10",
    ('self.position = state["position"]', 'self.position = max(0, state["position"] - self.args.accum)'),
    **RESUME_LOADER
)
fault(
    "R5-schedule-advanced-twice", LOADER, "resume", "schedule has counted 11 steps where it had counted 10",
    (
        'self.scheduler.load_state_dict(state["scheduler"])\n',
        'self.scheduler.load_state_dict(state["scheduler"])\n        self.scheduler.step()\n',
    ),
    **RESUME_LOADER
)
fault(
    "R5-schedule-reset", LOADER, "resume", "schedule has counted 0 steps where it had counted 10",
    ('self.scheduler.load_state_dict(state["scheduler"])', "self.scheduler = self.make_scheduler()"),
    **RESUME_LOADER
)
fault(
    "R6-optimizer-cold", GPT, "resume", "optimizer: started empty",
    ('optimizer.load_state_dict(checkpoint["optimizer"])', "pass"),
    **RESUME_GPT
)
fault(
    "R8-scale-not-saved", LOADER, "resume", "scale",
    ('self.scaler.load_state_dict(state["scaler"])', "pass"),
    **RESUME_LOADER
)
fault(
    "R11-lenient-load", LOADER, "resume", "weights: those of a fresh start",
    (
        'self.model.load_state_dict(state["model"])',
        'self.model.load_state_dict({"module." + k: v for k, v in state["model"].items()}, strict=False)',
    ),
    **RESUME_LOADER
)
fault(
    "C3-torn-state", GPT, "resume", "weights: those of update 9",
    (
        "    scaler.step(optimizer)\n",
        "    before = {k: v.clone() for k, v in model.state_dict().items()}\n    scaler.step(optimizer)\n",
    ),
    ('"model": model.state_dict()', '"model": before'),
    **RESUME_GPT
)


def put(name, folder):
    f = FAULTS[name]
    with open(os.path.join(HERE, f["script"])) as src:
        text = src.read()
    for old, new in f["edits"]:
        if text.count(old) != 1:
            sys.exit("%s: %s: %d times in the script: %r" % (name, f["script"], text.count(old), old))
        text = text.replace(old, new)
    with open(os.path.join(folder, f["script"]), "w") as out:
        out.write(text)
    for key in ("script", "phase", "words", "verdict"):
        print("%s=%s" % (key, shlex.quote(f[key])))
    for key in ("args", "options", "gate"):
        words = shlex.split(f[key].replace("PYTHON", shlex.quote(os.environ.get("PYTHON", "python3"))))
        print("%s=(%s)" % (key, " ".join(shlex.quote(w) for w in words)))


def main():
    if sys.argv[1:] == ["list"]:
        print("\n".join(FAULTS))
    elif len(sys.argv) == 4 and sys.argv[1] == "put":
        put(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
