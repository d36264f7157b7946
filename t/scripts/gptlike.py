"""Train a small character model in a single file. Every name below can be set with --name=value."""
import math
import os
import random
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# ---- what can be set on the command line
out_dir = "out"
init_from = "scratch"  # scratch or resume
data_dir = ""  # folder with train.bin and val.bin (uint16 tokens); empty: make some up
eval_interval = 5
eval_iters = 3
log_interval = 1
gradient_accumulation_steps = 2
batch_size = 8
block_size = 16
n_layer = 2
n_head = 4
n_embd = 32
vocab_size = 32
dropout = 0.1
learning_rate = 3e-3
min_lr = 3e-4
warmup_iters = 4
lr_decay_iters = 60
max_iters = 60
weight_decay = 0.1
beta1 = 0.9
beta2 = 0.95
grad_clip = 1.0
device = "cpu"
dtype = "float32"
seed = 1337

for arg in sys.argv[1:]:
    key, _, value = arg.lstrip("-").partition("=")
    if key not in globals():
        sys.exit("unknown setting: " + arg)
    globals()[key] = type(globals()[key])(value)

config = {
    k: v for k, v in globals().items() if isinstance(v, (int, float, str)) and not k.startswith("_")
}
model_args = dict(
    vocab_size=vocab_size,
    block_size=block_size,
    n_layer=n_layer,
    n_head=n_head,
    n_embd=n_embd,
    dropout=dropout,
)

os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(seed)
np.random.seed(seed)
random.seed(seed)


# ---- the model
class SelfAttention(nn.Module):
    def __init__(self, block_size, n_head, n_embd, dropout, **_):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.drop = nn.Dropout(dropout)
        lower = torch.tril(torch.ones(block_size, block_size)).bool()
        self.register_buffer("lower", lower, persistent=False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            for y in self.qkv(x).split(C, dim=2)
        )
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att = att.masked_fill(~self.lower[:T, :T], float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).reshape(B, T, C)
        return self.drop(self.proj(y))


class Block(nn.Module):
    def __init__(self, n_embd, dropout, **kw):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = SelfAttention(n_embd=n_embd, dropout=dropout, **kw)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd),
            nn.GELU(),
            nn.Linear(4 * n_embd, n_embd),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer, n_embd, dropout, **kw):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.drop = nn.Dropout(dropout)
        kw.update(block_size=block_size, n_embd=n_embd, dropout=dropout)
        self.blocks = nn.ModuleList(Block(**kw) for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets=None):
        pos = torch.arange(idx.size(1), device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss


# ---- data: one long row of tokens per split, cut into shards
def tokens(split):
    if data_dir:
        return np.memmap(os.path.join(data_dir, split + ".bin"), dtype=np.uint16, mode="r")
    rng = np.random.RandomState(1 if split == "train" else 2)
    row = [0]
    for step in rng.randint(0, 3, size=4000 if split == "train" else 400):
        row.append((5 * row[-1] + 3 + step) % vocab_size)
    return np.array(row, dtype=np.uint16)


shards = {
    "train": np.array_split(tokens("train"), 4),
    "val": np.array_split(tokens("val"), 1),
}


def get_batch(split):
    shard = random.choice(shards[split])
    ix = np.random.randint(0, len(shard) - block_size - 1, size=batch_size)
    x = np.stack([shard[i : i + block_size] for i in ix]).astype(np.int64)
    y = np.stack([shard[i + 1 : i + 1 + block_size] for i in ix]).astype(np.int64)
    return torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)


# ---- a new model, or the one that was saved
def random_states():
    return dict(torch=torch.get_rng_state(), numpy=np.random.get_state(), python=random.getstate())


iter_num = 0
best_val_loss = 1e9
checkpoint = None
if init_from == "resume":
    checkpoint = torch.load(os.path.join(out_dir, "ckpt.pt"), map_location=device, weights_only=False)
    model_args = checkpoint["model_args"]
model = Model(**model_args)
if checkpoint is not None:
    model.load_state_dict(checkpoint["model"])
    iter_num = checkpoint["iter_num"]
    best_val_loss = checkpoint["best_val_loss"]
model.to(device)
first_iter = iter_num

decay = [p for p in model.parameters() if p.dim() >= 2]
no_decay = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
    ],
    lr=learning_rate,
    betas=(beta1, beta2),
)
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
if checkpoint is not None:
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["random"]["torch"])
    np.random.set_state(checkpoint["random"]["numpy"])
    random.setstate(checkpoint["random"]["python"])
    checkpoint = None


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ("train", "val"):
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean().item()
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    if it > lr_decay_iters:
        return min_lr
    ratio = (it - warmup_iters) / (lr_decay_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


# ---- train
t0 = time.time()
while iter_num < max_iters:
    lr = get_lr(iter_num)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr

    for micro_step in range(gradient_accumulation_steps):
        X, Y = get_batch("train")
        logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps
        scaler.scale(loss).backward()
    if grad_clip != 0.0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    iter_num += 1

    t1 = time.time()
    if iter_num % log_interval == 0:
        lossf = loss.item() * gradient_accumulation_steps
        print(f"iter {iter_num}: loss {lossf:.6f}, lr {lr:.3e}, time {(t1 - t0) * 1000:.1f}ms")
    t0 = t1

    if iter_num % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
        best_val_loss = min(best_val_loss, losses["val"])
        checkpoint = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "model_args": model_args,
            "iter_num": iter_num,
            "best_val_loss": best_val_loss,
            "random": random_states(),
            "config": config,
        }
        print(f"saving checkpoint to {out_dir}")
        torch.save(checkpoint, os.path.join(out_dir, "ckpt.pt.tmp"))
        os.replace(os.path.join(out_dir, "ckpt.pt.tmp"), os.path.join(out_dir, "ckpt.pt"))
