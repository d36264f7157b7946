"""Denoiser on random crops of a long signal; the crops are cut by the loader's workers."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ap = argparse.ArgumentParser()
ap.add_argument("--batch-size", type=int, default=8)
ap.add_argument("--workers", type=int, default=2)
ap.add_argument("--epochs", type=int, default=3)
args = ap.parse_args()


class Crops(Dataset):
    def __init__(self, count, length=32):
        t = np.arange(5000)
        self.signal = (np.sin(t / 7) + 0.5 * np.sin(t / 2.3)).astype(np.float32)
        self.count, self.length = count, length

    def __len__(self):
        return self.count

    def __getitem__(self, _):
        i = np.random.randint(len(self.signal) - self.length)
        clean = self.signal[i : i + self.length]
        noisy = clean + 0.3 * np.random.randn(self.length).astype(np.float32)
        return torch.from_numpy(noisy), torch.from_numpy(clean)


def seed_worker(number):
    np.random.seed(torch.initial_seed() % 2**32)


def main():
    torch.manual_seed(2)
    loader = DataLoader(Crops(80), args.batch_size, num_workers=args.workers, worker_init_fn=seed_worker)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.6f}")
    torch.save(model.state_dict(), "crops.pt")


if __name__ == "__main__":
    main()
