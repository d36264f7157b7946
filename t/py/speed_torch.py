"""speed_torch.py gpt|mlp ... ROWS LENGTH CLASSES UPDATES THREADS - the same updates in PyTorch, as one would
write them there: fused layers, AdamW, nothing recomputed. Prints what `numbers speed` prints."""
import json
import math
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.ones(context, context).tril().view(1, 1, context, context) == 0)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.ln1(x)).split(c, 2))
        s = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(c // self.heads))
        y = s.masked_fill(self.mask, float("-inf")).softmax(-1) @ v
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers, width, heads, context, vocab):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.ln = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.ln(x) @ self.wte.weight.T


kind, *numbers = sys.argv[1:]
if kind == "gpt":
    layers, width, heads, *numbers = map(int, numbers)
else:
    hidden, *numbers = map(int, numbers)
rows, length, classes, updates, threads = map(int, numbers)
torch.set_num_threads(threads)
torch.manual_seed(1)
if kind == "gpt":
    model, x = GPT(layers, width, heads, length, classes), torch.randint(0, classes, (rows, length))
    y = torch.randint(0, classes, (rows * length,))
else:
    model, x = nn.Sequential(nn.Linear(length, hidden), nn.ReLU(), nn.Linear(hidden, classes)), torch.randn(rows, length)
    y = torch.randint(0, classes, (rows,))
optimizer = torch.optim.AdamW(model.parameters(), 1e-4, foreach=True)


def update():
    optimizer.zero_grad(set_to_none=True)
    out = model(x)
    F.cross_entropy(out.view(-1, out.shape[-1]), y).backward()
    optimizer.step()


update()
laps = []
processor = time.process_time()
for _ in range(updates):
    begin = time.monotonic()
    update()
    laps.append(time.monotonic() - begin)
processor = (time.process_time() - processor) / updates  # of all threads
laps.sort()
print(json.dumps({"seconds": laps[updates // 2], "best": laps[0], "processor": processor, "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
