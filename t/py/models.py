"""models.py - the test's own GPT-2 and MLP in PyTorch, over a dictionary of named tensors.

Written from the papers and from PyTorch's operations, not from pilot's code: attention is a masked
softmax over the whole square of scores, GELU its tanh form spelled out, LayerNorm and cross-entropy PyTorch's."""
import math

import torch
import torch.nn.functional as F


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def block(w, h, x, heads):
    b, t, c = x.shape
    a = F.layer_norm(x, (c,), w[h + "ln_1.weight"], w[h + "ln_1.bias"], 1e-5)
    q, k, v = (a @ w[h + "attn.c_attn.weight"] + w[h + "attn.c_attn.bias"]).split(c, 2)
    q, k, v = (y.view(b, t, heads, c // heads).transpose(1, 2) for y in (q, k, v))
    s = q @ k.transpose(-2, -1) / math.sqrt(c // heads)
    s = s.masked_fill(torch.ones(t, t).tril() == 0, float("-inf"))
    y = (s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)
    x = x + y @ w[h + "attn.c_proj.weight"] + w[h + "attn.c_proj.bias"]
    a = F.layer_norm(x, (c,), w[h + "ln_2.weight"], w[h + "ln_2.bias"], 1e-5)
    a = gelu(a @ w[h + "mlp.c_fc.weight"] + w[h + "mlp.c_fc.bias"])
    return x + a @ w[h + "mlp.c_proj.weight"] + w[h + "mlp.c_proj.bias"]


def gpt(w, ids, layers, heads):
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for n in range(layers):
        x = block(w, f"h.{n}.", x, heads)
    x = F.layer_norm(x, x.shape[-1:], w["ln_f.weight"], w["ln_f.bias"], 1e-5)
    return x @ w.get("lm_head.weight", w["wte.weight"]).T


def gpt_weights(layers, width, context, vocab, tied=True, scale=0.1):
    """Random weights, larger than fresh ones, so that every term of a gradient shows."""
    c, w = width, {}
    shapes = {"ln_1.weight": (c,), "ln_1.bias": (c,), "attn.c_attn.weight": (c, 3 * c), "attn.c_attn.bias": (3 * c,)}
    shapes.update({"attn.c_proj.weight": (c, c), "attn.c_proj.bias": (c,), "ln_2.weight": (c,), "ln_2.bias": (c,)})
    shapes.update({"mlp.c_fc.weight": (c, 4 * c), "mlp.c_fc.bias": (4 * c,), "mlp.c_proj.weight": (4 * c, c), "mlp.c_proj.bias": (c,)})
    w["wte.weight"], w["wpe.weight"] = (vocab, c), (context, c)
    for n in range(layers):
        w.update({f"h.{n}.{k}": s for k, s in shapes.items()})
    w["ln_f.weight"], w["ln_f.bias"] = (c,), (c,)
    if not tied:
        w["lm_head.weight"] = (vocab, c)
    return {k: torch.randn(s) * scale + (1.0 if "ln_" in k and k.endswith("weight") else 0.0) for k, s in w.items()}


def mlp(w, x, act):
    n = len(w) // 2
    for i in range(n):
        x = F.linear(x, w[f"fc.{i}.weight"], w[f"fc.{i}.bias"])
        if i < n - 1:
            x = act(x)
    return x


def mlp_weights(sizes):
    w = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        w[f"fc.{i}.weight"], w[f"fc.{i}.bias"] = torch.randn(b, a) / a**0.5, torch.randn(b) * 0.1
    return w
