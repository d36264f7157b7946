#!/usr/bin/env python3
"""Next-token model on rows of unequal length: data loader, accumulation, loss scale, schedule, checkpoints."""
import argparse
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

PAD = 0
IGNORE = -100


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--accum", type=int, default=3)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--examples", type=int, default=90)
    p.add_argument("--max-updates", type=int, default=0, help="stop after so many; 0: by epochs")
    p.add_argument("--save-every", type=int, default=5, help="updates")
    p.add_argument("--val-every", type=int, default=6, help="updates")
    p.add_argument("--dir", default="run")
    p.add_argument("--resume", action="store_true")
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


class Rows(Dataset):
    """Rows of 4 to 13 tokens; each token follows from the two before it, with some noise."""

    def __init__(self, count, seed, vocab=24):
        rng = np.random.RandomState(seed)
        self.rows = []
        for _ in range(count):
            row = list(rng.randint(1, vocab, size=2))
            length = rng.randint(4, 14)
            while len(row) < length:
                row.append(1 + (2 * row[-1] + row[-2] + rng.randint(0, 2)) % (vocab - 1))
            self.rows.append(torch.tensor(row))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    longest = max(len(r) for r in rows)
    x = torch.full((len(rows), longest - 1), PAD)
    y = torch.full((len(rows), longest - 1), IGNORE)
    for i, r in enumerate(rows):
        x[i, : len(r) - 1] = r[:-1]
        y[i, : len(r) - 1] = r[1:]
    return x, y


class Net(nn.Module):
    def __init__(self, vocab=24, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.project = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.norm = nn.BatchNorm1d(width)
        self.head = nn.Linear(width, vocab)
        for p in self.embed.parameters():
            p.requires_grad = False

    def forward(self, x):
        h = self.drop(self.project(self.embed(x)))
        h, _ = self.rnn(h)
        h = self.norm(h.transpose(1, 2)).transpose(1, 2)
        return self.head(self.drop(h))


class LossScaler:
    """Multiplies the loss, divides the gradients, and leaves an update out where they overflowed."""

    def __init__(self, scale=1024.0, growth_interval=8):
        self._scale, self._growth_interval, self._good, self._found = scale, growth_interval, 0, False

    def scale(self, loss):
        return loss * self._scale

    def unscale_(self, optimizer):
        self._found = False
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(self._scale)
                    self._found |= not torch.isfinite(p.grad).all().item()

    def step(self, optimizer):
        if not self._found:
            optimizer.step()

    def update(self):
        self._good = 0 if self._found else self._good + 1
        if self._found:
            self._scale /= 2
        elif self._good == self._growth_interval:
            self._scale, self._good = self._scale * 2, 0

    def get_scale(self):
        return self._scale

    def state_dict(self):
        return {"scale": self._scale, "good": self._good}

    def load_state_dict(self, state):
        self._scale, self._good = state["scale"], state["good"]


def make_scaler():
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=8)
    return LossScaler()


def loss_of(model, x, y, reduction="sum"):
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=IGNORE, reduction=reduction)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total, count = 0.0, 0
    for x, y in loader:
        total += loss_of(model, x, y).item()
        count += (y != IGNORE).sum().item()
    model.train()
    return total / count


def windows(batches, accum):
    """Groups of `accum` micro-batches; the last of an epoch may be smaller."""
    window = []
    for batch in batches:
        window.append(batch)
        if len(window) == accum:
            yield window
            window = []
    if window:
        yield window


class Training:
    def __init__(self, args):
        self.args = args
        self.order = torch.Generator()
        self.train_loader = DataLoader(
            Rows(args.examples, 1),
            batch_size=args.batch_size,
            shuffle=True,
            num_workers=args.workers,
            collate_fn=collate,
            generator=self.order,
        )
        self.val_loader = DataLoader(Rows(22, 2), batch_size=8, collate_fn=collate)
        self.model = Net()
        self.optimizer = torch.optim.AdamW(
            [p for p in self.model.parameters() if p.requires_grad],
            lr=args.lr,
            weight_decay=args.weight_decay,
        )
        self.scheduler = self.make_scheduler()
        self.scaler = make_scaler()
        self.epoch = 0
        self.position = 0  # micro-batches of this epoch that are done
        self.updates = 0

    def make_scheduler(self):
        warmup = self.args.warmup

        def factor(step):
            if step < warmup:
                return (step + 1) / warmup
            return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / 60)))

        return torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)

    def path(self):
        return os.path.join(self.args.dir, "last.pt")

    def save(self):
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "epoch": self.epoch,
            "position": self.position,
            "updates": self.updates,
            "torch_rng": torch.get_rng_state(),
            "numpy_rng": np.random.get_state(),
            "python_rng": random.getstate(),
        }
        torch.save(state, self.path() + ".new")
        os.rename(self.path() + ".new", self.path())

    def load(self):
        state = torch.load(self.path(), map_location="cpu", weights_only=False)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        self.epoch = state["epoch"]
        self.position = state["position"]
        self.updates = state["updates"]
        return state

    def restore_random(self, state):
        torch.set_rng_state(state["torch_rng"])
        np.random.set_state(state["numpy_rng"])
        random.setstate(state["python_rng"])

    def batches(self):
        """The rest of this epoch."""
        self.order.manual_seed(self.args.seed + self.epoch)
        batches = iter(self.train_loader)
        for _ in range(self.position):
            next(batches)
        return batches

    def update(self, window):
        tokens = sum((y != IGNORE).sum().item() for _, y in window)
        total = 0.0
        for x, y in window:
            loss = loss_of(self.model, x, y) / tokens
            self.scaler.scale(loss).backward()
            total += loss.item()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.scheduler.step()
        self.position += len(window)
        self.updates += 1
        return total

    def run(self, state):
        self.model.train()
        if state:
            self.restore_random(state)
        while self.epoch < self.args.epochs:
            for window in windows(self.batches(), self.args.accum):
                rate = self.optimizer.param_groups[0]["lr"]
                loss = self.update(window)
                print(f"epoch {self.epoch} update {self.updates} loss {loss:.6f} lr {rate:.6f}")
                if self.updates % self.args.val_every == 0:
                    print(f"validation loss {validate(self.model, self.val_loader):.6f}")
                if self.updates % self.args.save_every == 0:
                    self.save()
                if self.updates == self.args.max_updates:
                    return
            self.epoch += 1
            self.position = 0


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    random.seed(args.seed)
    os.makedirs(args.dir, exist_ok=True)
    training = Training(args)
    state = training.load() if args.resume else None
    training.run(state)


if __name__ == "__main__":
    main()
