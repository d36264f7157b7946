"""bfloat16: under autocast (default), or bf16 weights beside a float32 master copy (--master)."""
import argparse
import os

import torch
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--master", action="store_true")
ap.add_argument("--batch-size", type=int, default=16)
ap.add_argument("--steps", type=int, default=40)
ap.add_argument("--lr", type=float, default=1e-3)
args = ap.parse_args()
torch.manual_seed(5)

net = torch.nn.Sequential(
    torch.nn.Linear(12, 48), torch.nn.GELU(), torch.nn.Linear(48, 48), torch.nn.GELU(), torch.nn.Linear(48, 4)
)
if args.master:
    net = net.bfloat16()
    master = [p.detach().float().requires_grad_() for p in net.parameters()]
    optimizer = torch.optim.AdamW(master, lr=args.lr)
else:
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
teacher = torch.randn(12, 4)

for step in range(args.steps):
    x = torch.randn(args.batch_size, 12)
    y = (x @ teacher).argmax(1)
    if args.master:
        loss = F.cross_entropy(net(x.bfloat16()).float(), y)
    else:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
    loss.backward()
    if args.master:
        for big, small in zip(master, net.parameters()):
            big.grad, small.grad = small.grad.float(), None
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if args.master:
        with torch.no_grad():
            for big, small in zip(master, net.parameters()):
                small.copy_(big)
    print(f"step {step} loss {loss.item():.5f}")
torch.save(net.state_dict(), "bf16.tmp")
os.replace("bf16.tmp", "bf16.pt")
