"""same_tensors.py A B: exit 0 if two files of torch.save hold the same tensors, bit for bit."""
import sys

import torch


def tensors(obj, path=""):
    if isinstance(obj, torch.Tensor):
        yield path, obj
    elif isinstance(obj, dict):
        for k, v in obj.items():
            yield from tensors(v, "%s.%s" % (path, k))
    elif isinstance(obj, (list, tuple)):
        for i, v in enumerate(obj):
            yield from tensors(v, "%s.%d" % (path, i))


a, b = (dict(tensors(torch.load(f, weights_only=False))) for f in sys.argv[1:])
if not a or a.keys() != b.keys():
    sys.exit("other names: %s" % (set(a) ^ set(b) or "none at all"))
apart = [k for k in a if a[k].dtype != b[k].dtype or not torch.equal(a[k].view(-1), b[k].view(-1))]
if apart:
    sys.exit("apart: %s" % apart)
