"""A small trainer with a save that resumes."""
import argparse, os, random
import numpy as np
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--out", default="out")
p.add_argument("--resume", action="store_true")
p.add_argument("--auto", action="store_true")
p.add_argument("--from", dest="start", default="")
p.add_argument("--steps", type=int, default=60)
p.add_argument("--batch", type=int, default=8)
a = p.parse_args()
torch.set_num_threads(1)
torch.manual_seed(1); np.random.seed(1); random.seed(1)
os.makedirs(a.out, exist_ok=True)
data = torch.randn(96, 6)
want = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.StepLR(opt, 5, 0.5)
step, order, at = 0, [], 0
path = os.path.join(a.out, "ckpt.pt")
if a.resume or a.start or (a.auto and os.path.exists(path)):
    c = torch.load(a.start or path)
    model.load_state_dict(c["model"]); opt.load_state_dict(c["opt"]); sched.load_state_dict(c["sched"])
    step, order, at = c["step"], c["order"], c["at"]
    torch.set_rng_state(c["torch"]); np.random.set_state(c["numpy"]); random.setstate(c["python"])
while step < a.steps:
    if at + a.batch > len(order):
        order, at = np.random.permutation(len(data)).tolist(), 0
    x = data[order[at:at + a.batch]]; y = want[order[at:at + a.batch]]
    at += a.batch
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y) * (1 + 0.01 * random.random())
    loss.backward()
    opt.step(); sched.step()
    step += 1
    if step % 7 == 0:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "step": step, "order": order, "at": at,
                    "torch": torch.get_rng_state(), "numpy": np.random.get_state(), "python": random.getstate()}, path + ".new")
        os.replace(path + ".new", path)
