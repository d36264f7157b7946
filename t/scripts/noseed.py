"""Resumes by itself from the file that it finds. Without --seed no two of its runs are the same."""
import argparse
import os

import torch
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=60)
p.add_argument("--seed", type=int)
a = p.parse_args()
if a.seed is not None:
    torch.manual_seed(a.seed)

centre = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
model = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
step = 0
if os.path.exists("noseed.pt"):
    state = torch.load("noseed.pt", weights_only=False)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    step = state["step"]
    torch.set_rng_state(state["rng"])
while step < a.steps:
    label = torch.randint(0, 3, (12,))
    loss = F.cross_entropy(model(centre[label] + 0.3 * torch.randn(12, 3)), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    print(step, loss.item())
    if step % 8 == 0:
        state = dict(model=model.state_dict(), opt=opt.state_dict(), step=step, rng=torch.get_rng_state())
        torch.save(state, "noseed.tmp")
        os.replace("noseed.tmp", "noseed.pt")
