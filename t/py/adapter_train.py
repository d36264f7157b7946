"""A training program as the tests of the adapter need it: prints its losses, computes the facts by itself.

adapter_train.py [CASE] [updates=N] [own=FILE] [save=FILE] [load=FILE] [workers=N] [context=spawn]"""
import copy
import hashlib
import json
import os
import random
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FLAGS = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
CASE = next((a for a in sys.argv[1:] if "=" not in a), "")
VOCAB, LENGTH, PAD, IGNORE = 19, 12, 0, -100


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.drop = nn.Embedding(VOCAB, 24), nn.Dropout(0.1)
        self.norm, self.frozen = nn.BatchNorm1d(24), nn.Linear(24, 24)
        self.gru, self.head = nn.GRU(24, 24, batch_first=True), nn.Linear(24, VOCAB, bias=False)
        self.unused = nn.Parameter(torch.ones(5))
        if CASE in ("tied", "apart"):
            self.head.weight = self.embed.weight
        if CASE == "copied":
            self.head.weight.data.copy_(self.embed.weight.data)

    def forward(self, ids):
        h = self.norm(self.drop(self.embed(ids)).transpose(1, 2)).transpose(1, 2)
        h, _ = self.gru(h + self.frozen(h))
        if CASE == "leak":
            h = h + h.mean(1, keepdim=True)
        if CASE == "mixed":
            h = h + h.mean(0, keepdim=True)
        return self.head(h)


def rows_of(count, seed):
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, VOCAB, (count, LENGTH + 2), generator=g)
    lengths = torch.randint(4, LENGTH + 1, (count,), generator=g)
    ids, targets = tokens[:, :LENGTH].clone(), tokens[:, 1 : LENGTH + 1].clone()
    if CASE == "shift":
        targets = tokens[:, 2:].clone()
    for row, length in enumerate(lengths):
        ids[row, length:] = PAD
        targets[row, length:] = PAD if CASE == "padding" else IGNORE
    return TensorDataset(ids, targets)


def loss_of(model, ids, targets):
    return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORE)


def validate(model, loader):
    """The mean over targets, counted here."""
    if CASE != "noeval":
        model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for ids, targets in loader:
            n = int((targets != IGNORE).sum())
            total, count = total + loss_of(model, ids, targets).item() * n, count + n
    if CASE != "staysoff":
        model.train()
    return total / count


def main():
    torch.manual_seed(3)
    random.seed(3)
    numpy.random.seed(3)
    model, accum, own = Net(), 2, []
    for p in model.frozen.parameters():
        p.requires_grad = CASE == "unfrozen"
    held = [p for n, p in model.named_parameters() if CASE != "half" or not n.startswith("head")]
    if CASE == "bf16":
        model = model.to(torch.bfloat16)
    rate = 1e-9 if CASE == "bf16" else 1e-3
    optimizer = torch.optim.AdamW(held, lr=rate, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))
    data = DataLoader(rows_of(36, 1), 4, shuffle=True, num_workers=int(FLAGS.get("workers", 0)),
                      multiprocessing_context=FLAGS.get("context"))
    held_out = DataLoader(rows_of(10, 2), 4, drop_last=CASE == "lastdropped")
    if "load" in FLAGS:
        state = torch.load(FLAGS["load"])
        model.load_state_dict(state["model"])
        if CASE != "cold":
            optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["rng"][0])
        random.setstate(state["rng"][1])
        numpy.random.set_state(state["rng"][2])
    done, limit = 0, int(FLAGS.get("updates", 9))
    while done < limit:
        batches = iter(data)
        for _ in range(len(data) // accum):
            sums, counts = [], []
            for one in range(accum):
                ids, targets = next(batches)
                loss = loss_of(model, ids, targets)
                counts.append(int((targets != IGNORE).sum()))
                sums.append(loss.item() * counts[-1])
                if CASE == "nan" and done == 2:
                    loss = loss * float("nan")
                (loss / accum).backward()
                if CASE == "dropped" and one == 0:
                    optimizer.zero_grad()
                if CASE == "perpass":
                    schedule.step()
            if CASE == "apart" and done == 1:
                model.head.weight = nn.Parameter(model.head.weight.detach().clone())
            if CASE == "decay":
                model.unused.grad = torch.zeros_like(model.unused)
            squares = [p.grad.float().pow(2).sum().item() for p in model.parameters() if p.grad is not None]
            if CASE == "clip":
                nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
            done += 1
            own.append(dict(update=done, loss=sum(sums) / sum(counts), supervised=sum(counts), pass_supervised=counts,
                            gradient_norm=sum(squares) ** 0.5, lr=optimizer.param_groups[0]["lr"], rows=4 * accum))
            print("%d %.9g" % (done, own[-1]["loss"]), flush=True)
            if CASE != "nozero":
                optimizer.zero_grad()
            if CASE != "perpass":
                schedule.step()
            if done == limit:
                break
        print("validation %.9g" % validate(model, held_out), flush=True)
    if "save" in FLAGS:
        torch.save(dict(model=model.state_dict(), optimizer=optimizer.state_dict(), schedule=schedule.state_dict(), update=done,
                        rng=(torch.get_rng_state(), random.getstate(), numpy.random.get_state())), FLAGS["save"] + ".part")
        os.replace(FLAGS["save"] + ".part", FLAGS["save"])
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode() + value.float().numpy().tobytes())
    print("weights", digest.hexdigest(), "random", torch.rand(1).item(), random.random(), numpy.random.rand())
    if "own" in FLAGS:
        with open(FLAGS["own"], "w", encoding="utf-8") as f:
            json.dump(dict(steps=own, copies=len(copy.copy(own))), f)


if __name__ == "__main__":
    main()
