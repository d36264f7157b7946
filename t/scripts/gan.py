"""Two networks and two optimizers: one makes points on a ring, the other tells them from real ones."""
import math
import sys

import torch
from torch import nn

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
BATCH = int(sys.argv[2]) if len(sys.argv) > 2 else 16
torch.manual_seed(3)

G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for step in range(STEPS):
    angle = torch.rand(BATCH) * 2 * math.pi
    real = torch.stack([angle.cos(), angle.sin()], dim=1)
    fake = G(torch.randn(BATCH, 4))

    opt_d.zero_grad()
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()
    opt_g.step()
    print("step", step, "d %.6f g %.6f" % (loss_d.item(), loss_g.item()))

torch.save({"g": G.state_dict(), "d": D.state_dict()}, "gan.pt")
