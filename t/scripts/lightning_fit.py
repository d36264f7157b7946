"""A Lightning module and its Trainer, on numbers that are made up here."""
import argparse
import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
        self.losses = []

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.body(x), y)
        print("loss", loss.item(), flush=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.body(x), y), batch_size=len(x))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=5e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


def rows(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 10, generator=g)
    return TensorDataset(x, (x[:, :3] + 0.3 * torch.randn(count, 3, generator=g)).argmax(1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--accum", type=int, default=1)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--save-every", type=int, default=5)
    p.add_argument("--dir", default="lit")
    p.add_argument("--resume", action="store_true")
    args = p.parse_args()
    L.seed_everything(4)
    saved = L.pytorch.callbacks.ModelCheckpoint(args.dir, every_n_train_steps=args.save_every, save_last=True, save_top_k=-1)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=args.epochs,
        accumulate_grad_batches=args.accum,
        gradient_clip_val=1.0,
        callbacks=[saved],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    train, val = DataLoader(rows(80, 1), args.batch_size, shuffle=True), DataLoader(rows(24, 2), 8)
    last = os.path.join(args.dir, "last.ckpt")
    trainer.fit(Net(), train, val, ckpt_path=last if args.resume else None)


if __name__ == "__main__":
    main()
