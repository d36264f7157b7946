"""Next-token model whose output layer is its embedding; keeps the best and the last weights."""
import argparse
import os

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--batch", type=int, default=8)
ap.add_argument("--steps", type=int, default=60)
ap.add_argument("--every", type=int, default=10)
ap.add_argument("--lr", type=float, default=2e-3)
ap.add_argument("--resume", default=None, metavar="FILE")
opts = ap.parse_args()

torch.manual_seed(11)
VOCAB, WIDTH, LENGTH = 20, 24, 10


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.output = nn.Linear(WIDTH, VOCAB, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.output.weight = self.embedding.weight

    def forward(self, ids):
        return self.output(self.rnn(self.embedding(ids))[0])


def batch(rows):
    ids = torch.randint(0, VOCAB, (rows, 1))
    for _ in range(LENGTH):
        ids = torch.cat([ids, (ids[:, -1:] * 3 + torch.randint(0, 2, (rows, 1))) % VOCAB], dim=1)
    return ids[:, :-1], ids[:, 1:]


model = Tied()
adam = torch.optim.Adam(model.parameters(), lr=opts.lr)
criterion = nn.CrossEntropyLoss()
done = 0
if opts.resume:
    saved = torch.load(opts.resume, weights_only=False)
    model.load_state_dict(saved["weights"])
    adam.load_state_dict(saved["adam"])
    torch.set_rng_state(saved["rng"])
    done = saved["done"]

for done in range(done + 1, opts.steps + 1):
    ids, targets = batch(opts.batch)
    loss = criterion(model(ids).transpose(1, 2), targets)
    adam.zero_grad()
    loss.backward()
    adam.step()
    print(f"{done:4d} {loss.item():.6f}")
    if done % opts.every == 0:
        torch.save(
            {
                "weights": model.state_dict(),
                "adam": adam.state_dict(),
                "rng": torch.get_rng_state(),
                "done": done,
            },
            "tied.part",
        )
        os.replace("tied.part", "tied.pt")
