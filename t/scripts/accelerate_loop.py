"""A loop of one's own under accelerate, with its accumulation and its checkpoints."""
import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def rows(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 12, generator=g)
    return TensorDataset(x, x @ torch.randn(12, 2, generator=torch.Generator().manual_seed(9)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--dir", default="acc")
    p.add_argument("--resume", action="store_true")
    args = p.parse_args()
    set_seed(6)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accum)
    model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    train, val = DataLoader(rows(96, 1), args.batch_size, shuffle=True), DataLoader(rows(20, 2), 8)
    model, optimizer, schedule, train, val = accelerator.prepare(model, optimizer, schedule, train, val)
    first = 0
    if args.resume:
        accelerator.load_state(os.path.join(args.dir, "state"))
        with open(os.path.join(args.dir, "epoch")) as f:
            first = int(f.read())
    for epoch in range(first, args.epochs):
        model.train()
        for x, y in train:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            print("loss", loss.item(), flush=True)
        model.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in val:
                total += nn.functional.mse_loss(model(x), y, reduction="sum").item()
        print("epoch", epoch, "validation", total / 40, flush=True)
        accelerator.save_state(os.path.join(args.dir, "state"))
        with open(os.path.join(args.dir, "epoch"), "w") as f:
            f.write(str(epoch + 1))


if __name__ == "__main__":
    main()
