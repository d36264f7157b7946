"""What can be read off tensors, graphs, models and optimizers without changing them."""
import os, random, re, sys, zlib
from collections.abc import Mapping
from math import prod
from typing import Any, Callable, Dict, Iterator, List, Tuple
import torch
from torch import Tensor
from torch.nn import Embedding, Linear, Module

MOST = 16384        # elements of a large input that a digest looks at
FEW = 64            # elements of a parameter that are compared before and after an update
ABOVE = re.compile('Div|Mul|Neg|Add|Sub|Sum|Mean|ToCopy|View|Squeeze|Unsqueeze|Reshape|UnsafeView|Alias|Clone|Select')
LOSS = re.compile('Loss|^BinaryCrossEntropy|^KlDiv|^CrossEntropy')
COUNT, RANDOM = re.compile('iter|step|epoch|update', re.I), re.compile('rng|random', re.I)

class Later:
    """A value still on its way from a device: the copy starts now, and is read one update later."""
    def __init__(self, make: Callable, tensors: List[Tensor]) -> None:
        self.make, pinned = make, [torch.empty(t.shape, dtype=t.dtype, pin_memory=True) for t in tensors]
        self.copies = [p.copy_(t, non_blocking=True) for p, t in zip(pinned, tensors)]
        self.event = torch.cuda.current_stream(next(t.device for t in tensors if t.is_cuda)).record_event()

def later(make: Callable, *tensors: Tensor) -> Any:
    flat = [t.detach() for t in tensors]
    return Later(make, flat) if any(t.is_cuda for t in flat) else make(*flat)

def settle(value: Any) -> Any:
    if isinstance(value, Later):
        value.event.synchronize()
        return value.make(*value.copies)
    return value

def tensors(obj: Any, depth: int = 0) -> List[Tensor]:
    if isinstance(obj, Tensor):
        return [obj]
    obj = list(obj.values()) if isinstance(obj, Mapping) else obj
    return [t for o in obj for t in tensors(o, depth + 1)] if depth < 5 and isinstance(obj, (list, tuple)) else []

def crc(*parts: Any) -> str:
    value = 0
    for part in parts:
        if isinstance(part, Tensor):
            flat = part.detach().cpu().contiguous().reshape(-1)
            part = flat.view(torch.uint8).numpy() if flat.numel() else b''
        value = zlib.crc32(repr(part).encode() if isinstance(part, (str, int, list, tuple, dict)) else part, value)
    return 'crc32:%08x' % value

def sample(t: Tensor, most: int) -> Tensor:
    flat = (t.detach() if t.layout == torch.strided else t.detach().to_dense()).reshape(-1)
    return flat if not most or flat.numel() <= most else flat[::flat.numel() // most + 1]

def digest(parts: List[Tensor], full: bool) -> Any:
    shapes = [(tuple(t.shape), str(t.dtype)) for t in parts]
    return later(lambda *s: crc(shapes, *s), *[sample(t, 0 if full else MOST) for t in parts])

def bare(model: Module) -> Tuple[Module, str]:
    """The model inside its wrappers, and their names."""
    names = ''
    while '_orig_mod' in model._modules or ('Parallel' in type(model).__name__ and 'module' in model._modules):
        key = '_orig_mod' if '_orig_mod' in model._modules else 'module'
        names, model = names + ' ' + ('compiled' if key == '_orig_mod' else type(model).__name__), model._modules[key]
    return model, names.strip()

def named(model: Module) -> Iterator[Tuple[str, Tensor]]:
    """Every name of every parameter, tied ones by each of their names."""
    for path, module in model.named_modules(remove_duplicate=False):
        yield from ((path + '.' + n if path else n, p) for n, p in module._parameters.items() if p is not None)

def layers(model: Module) -> Tuple[List[Module], List[Module]]:
    """Layers that drop activations, and layers that keep statistics of batches."""
    def rate(m: Any) -> Any:
        return m.p if isinstance(m, torch.nn.modules.dropout._DropoutNd) else m.__dict__.get('dropout')
    return ([m for m in model.modules() if isinstance(rate(m), float) and rate(m) > 0],
            [m for m in model.modules() if m._buffers.get('running_mean') is not None])

def equal_apart(model: Module) -> List[str]:
    ends = [(n, m, m.weight.detach()) for n, m in model.named_modules() if isinstance(m, (Embedding, Linear))]
    return ['%s.weight = %s.weight' % (a, b) for a, m, v in ends if isinstance(m, Embedding) for b, o, w in ends
            if isinstance(o, Linear) and v.shape == w.shape and v.data_ptr() != w.data_ptr()
            and torch.equal(v, w) and bool((v != v.reshape(-1)[0]).any())]

def memory(device: torch.device) -> Dict[str, int]:
    if device.type == 'cuda':
        c, (free, total) = torch.cuda, torch.cuda.mem_get_info(device)
        return dict(allocated_bytes=c.memory_allocated(device), allocated_peak_bytes=c.max_memory_allocated(device),
                    reserved_bytes=c.memory_reserved(device), reserved_peak_bytes=c.max_memory_reserved(device),
                    device_used_bytes=total - free)
    with open('/proc/self/status') as f:
        has = {line.split()[0]: int(line.split()[1]) << 10 for line in f if line.startswith('Vm')}
    return {} if device.type != 'cpu' else dict(
        reserved_bytes=has['VmSize:'], reserved_peak_bytes=has['VmPeak:'], device_used_bytes=has['VmRSS:'],
        device_used_peak_bytes=has['VmHWM:'])

def random_states() -> Dict[str, str]:
    out = dict(torch_random=crc(torch.get_rng_state()), python_random=crc(random.getstate()))
    if 'numpy.random' in sys.modules:
        state = sys.modules['numpy.random'].get_state()
        out['numpy_random'] = crc([s.tolist() if hasattr(s, 'tolist') else s for s in state])
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        out['device_random'] = crc(*torch.cuda.get_rng_state_all())
    return out

def weights_digest(model: Module, others: List[Tensor], full: bool) -> str:
    kept = [b for m in model.modules() for n, b in m._buffers.items()
            if b is not None and n not in m._non_persistent_buffers_set]
    return settle(digest(list(model.parameters()) + kept + others, full))

def optimizer_facts(optimizers: List[Any], full: bool) -> Dict[str, Any]:
    """Digest of the states in the order of the groups, whatever the parameters are called, and the count."""
    states = [o.state[p] for o in optimizers for g in o.param_groups for p in g['params'] if p in o.state]
    items = [(str(k), v) for s in states for k, v in sorted(s.items(), key=lambda kv: str(kv[0]))]
    parts = [v for _, v in items if isinstance(v, Tensor) and v.numel() > 1]
    text = [(k, float(v)) for k, v in items if isinstance(v, (int, float)) or isinstance(v, Tensor) and v.numel() == 1]
    return dict(optimizer_digest=crc(text, settle(digest(parts, full))) if items else None,
                optimizer_count=max((int(v) for k, v in text if k == 'step'), default=None))

def loss_facts(root: Tensor, scale: Any) -> Dict[str, Any]:
    """From the root of a backward pass up to the loss: what it was divided by, the function and its targets."""
    out: Dict[str, Any] = dict(divisor=1.0, scaled=False, target=None)
    factors: List[Any] = []
    queue, seen = [(root.grad_fn, True)], 0     # with whether nothing but factors lies between it and the root
    while queue and seen < 64:
        (node, alone), seen = queue.pop(0), seen + 1
        name = type(node).__name__
        if LOSS.search(name):
            get = lambda key: getattr(node, '_saved_' + key, None)      # noqa: E731
            target, ignore, scores = get('target'), get('ignore_index'), get('self')
            shape = list(scores.shape) if isinstance(scores, Tensor) else []
            if name.startswith('Nll') and len(shape) > 2:
                shape.append(shape.pop(1))      # the classes last
            ignore = ignore - (1 << 64) if ignore is not None and ignore >> 63 == 1 else ignore
            out.update(loss_function=re.sub(r'Backward\d*$', '', name), target=target, ignore=ignore, looked=shape,
                       reduction={0: 'none', 1: 'mean', 2: 'sum'}.get(get('reduction')))
            if target is not None:
                out['targets'] = target.numel()
                out['supervised'] = target.numel() if ignore is None else later(int, (target != ignore).sum())
            break
        if node is None or not ABOVE.match(name):
            continue
        if alone and name.startswith(('Div', 'Mul')):
            by = node._saved_other if node._saved_other is not None else getattr(node, '_saved_self', None)
            if by is not None and scale is not None and by.data_ptr() == scale.data_ptr():
                out['scaled'] = True
            elif by is not None and by.numel() == 1:
                factors.append((by, 1 if name.startswith('Div') else -1))
        alone = alone and not name.startswith(('Add', 'Sub', 'Sum', 'Mean'))
        queue += [(up, alone) for up, _ in node.next_functions if up is not None]
    if out.get('reduction') != 'sum':       # tensors divide sums; otherwise Python's numbers count
        factors = [f for f in factors if f[0].dtype in (torch.int64, torch.float64) and not f[0].is_cuda]
    if factors:
        powers = [p for _, p in factors]
        out['divisor'] = later(lambda *by: prod((float(b) or 1.0) ** p for b, p in zip(by, powers)),
                               *[b for b, _ in factors])
    return out

def token_facts(ids: Tensor, target: Tensor, ignore: Any) -> Dict[str, Any]:
    """How far from its input the target lies, and whether the loss looks at what looks like padding."""
    (rows, length), wide = ids.shape, target.numel() // ids.shape[0]
    if target.numel() != rows * wide or wide not in (length, length - 1) or length < 4:
        return {}
    target, out = target.reshape(rows, wide), {}    # type: Any, Dict[str, Any]
    used = target != (-100 if ignore is None else ignore)
    for k in (1, 0, 2, 3, -1):       # of several that fit as well, the first
        low, high = max(0, -k), min(wide, length - k)
        same = (target[:, low:high] == ids[:, low + k:high + k])[used[:, low:high]].float()
        if same.numel() and float(same.mean()) > out.get('target_match', 0.0):
            out.update(target_offset=k, target_match=float(same.mean()))
    pad = ids[:, -1].mode().values
    tail = (ids.flip(1) != pad).int().cummax(1).values.flip(1) == 0     # what is but `pad` up to the end of its row
    runs, inner = tail.sum(1), int((ids == pad).sum() - tail.sum())
    most_rows = rows > 1 and 2 * int((runs > 0).sum()) >= rows
    if most_rows and int(runs.max()) > 2 and len(runs.unique()) > 1 and inner <= rows:
        out['padding_supervised'] = int((used & tail[:, :wide]).sum())
    return out

def path_of(file: Any) -> Any:
    name = file if isinstance(file, (str, os.PathLike)) else getattr(file, 'name', None)
    return os.path.abspath(os.fspath(name)) if isinstance(name, (str, os.PathLike)) else None

def mark(p: Tensor) -> Tuple[Any, ...]:
    """What to look at again after an update: a few numbers, which of them have a gradient, where it is largest."""
    few, grad = sample(p, FEW).clone(), sample(p.grad, 0) if p.grad is not None else None
    top = int(grad.abs().argmax()) if grad is not None else 0
    used, steep = (None, 0.0) if grad is None else (sample(grad, FEW) != 0, abs(float(grad[top])))
    return few, used, top, float(p.detach().reshape(-1)[top]), steep

def holds(obj: Any, shapes: Dict[str, Tuple], depth: int = 0) -> Dict[str, Any]:
    """What of a training's state is in there; the value of `optimizer` is its count."""
    if isinstance(obj, Module):
        return {'weights': None}
    if isinstance(obj, (list, tuple)) and obj:
        if type(obj[0]) in (str, int) and obj[0] in ('MT19937', 3) and len(obj) > 2 and hasattr(obj[1], '__len__'):
            return {'random': None}
        obj = dict(enumerate(obj[:16]))
    if not isinstance(obj, Mapping) or depth > 4:
        return {'random': None} if isinstance(obj, Tensor) and obj.dtype == torch.uint8 and obj.numel() == 5056 else {}
    if 'param_groups' in obj and 'state' in obj:
        steps = [s['step'] for s in obj['state'].values() if isinstance(s, Mapping) and 'step' in s]
        return {'optimizer': max(int(s) for s in steps) if steps else None}
    if 'last_epoch' in obj or 'growth_factor' in obj:
        return {'schedule' if 'last_epoch' in obj else 'scale': None}
    found = [(str(k), tuple(v.shape)) for k, v in obj.items() if isinstance(v, Tensor)]
    if any(shapes.get(k.split('.', i)[-1]) == s for k, s in found for i in range(4)) or (
            not shapes and found and len(found) == len(obj)):
        return {'weights': None}
    out: Dict[str, Any] = {}
    for key, v in obj.items():
        word = 'random' if RANDOM.search(str(key)) else 'count' if COUNT.search(str(key)) else ''
        state = word == 'random' and v is not None and not isinstance(v, (bool, int, float))
        if state or (word == 'count' and isinstance(v, int)):
            out[word] = None
        else:
            out.update(holds(v, shapes, depth + 1))
    return out
