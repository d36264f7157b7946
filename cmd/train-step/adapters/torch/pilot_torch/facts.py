"""What can be read off tensors, graphs, models and optimizers without changing them."""
import random
import re
import sys
import zlib
from collections.abc import Mapping
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

MOST = 16384                # elements of a large input that a digest looks at
FEW = 64                    # elements of a parameter that are compared before and after an update
SCALAR = ('Div', 'Mul', 'Neg', 'Add', 'Sub', 'Sum', 'Mean', 'ToCopy', 'View', 'Squeeze', 'Unsqueeze', 'Reshape',
          'UnsafeView', 'Alias', 'Clone', 'Select', 'Expand', 'MaskedSelect', 'Index')
LOSS = re.compile('Loss|^BinaryCrossEntropy|^KlDiv|^CrossEntropy')
OUT = re.compile(r"out of memory|can't allocate|unable to allocate|cannot allocate|std::bad_alloc", re.I)
ASKED = re.compile(r'allocate (?:over )?([\d.]+) ?(bytes|[KMGT]i?B)', re.I)
COUNT = re.compile('iter|step|epoch|update', re.I)


class Later:
    """A value still on its way from a device: the copy starts now and is read one update later."""
    def __init__(self, make: Callable, tensors: Tuple) -> None:
        self.make = make
        self.copies = [torch.empty(t.shape, dtype=t.dtype, pin_memory=True).copy_(t, non_blocking=True) for t in tensors]
        self.event = torch.cuda.current_stream(tensors[0].device).record_event()

    def value(self) -> Any:
        self.event.synchronize()
        return self.make(*self.copies)


def later(make: Callable, *tensors: torch.Tensor) -> Any:
    tensors = tuple(t.detach() for t in tensors)
    return Later(make, tensors) if any(t.is_cuda for t in tensors) else make(*tensors)


def settle(value: Any) -> Any:
    return value.value() if isinstance(value, Later) else value


def tensors(obj: Any, depth: int = 0) -> List[torch.Tensor]:
    if isinstance(obj, torch.Tensor):
        return [obj]
    if isinstance(obj, Mapping):
        obj = list(obj.values())
    if depth > 3 or not isinstance(obj, (list, tuple)):
        return []
    return [t for o in obj for t in tensors(o, depth + 1)]


def crc(*parts: torch.Tensor) -> str:
    value = 0
    for t in parts:
        flat = t.detach().cpu().contiguous().reshape(-1)
        value = zlib.crc32(flat.view(torch.uint8).numpy() if flat.numel() else b'', value)
    return 'crc32:%08x' % value


def text_crc(text: Any) -> str:
    return 'crc32:%08x' % zlib.crc32(text if isinstance(text, bytes) else repr(text).encode())


def sample(t: torch.Tensor, most: int) -> torch.Tensor:
    flat = (t.detach().to_dense() if t.layout != torch.strided else t.detach()).reshape(-1)
    return flat if not most or flat.numel() <= most else flat[::flat.numel() // most + 1]


def digest(parts: List[torch.Tensor], full: bool) -> Any:
    shapes = repr([(tuple(t.shape), str(t.dtype)) for t in parts]).encode()
    return later(lambda *s: text_crc(shapes + crc(*s).encode()), *[sample(t, 0 if full else MOST) for t in parts])


def bare(model: torch.nn.Module) -> Tuple[torch.nn.Module, str]:
    """The model inside its wrappers, and their names."""
    names: List[str] = []
    while '_orig_mod' in model._modules or ('Parallel' in type(model).__name__ and 'module' in model._modules):
        names.append('compiled' if '_orig_mod' in model._modules else type(model).__name__)
        model = model._modules['_orig_mod' if '_orig_mod' in model._modules else 'module']
    return model, ' '.join(names)


def named(model: torch.nn.Module) -> Iterator[Tuple[str, torch.Tensor]]:
    """Every name of every parameter, tied ones by each of their names."""
    for path, module in model.named_modules(remove_duplicate=False):
        for name, p in module._parameters.items():
            if p is not None:
                yield (path + '.' + name if path else name), p


def layers(model: torch.nn.Module) -> Tuple[List, List]:
    """Layers that drop activations, layers that keep statistics of batches."""
    def rate(m: Any) -> Any:
        return m.p if isinstance(m, torch.nn.modules.dropout._DropoutNd) else m.__dict__.get('dropout')
    drop = [m for m in model.modules() if isinstance(rate(m), float) and rate(m) > 0]
    return drop, [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._NormBase)
                  and m._buffers.get('running_mean') is not None]


def equal_apart(model: torch.nn.Module) -> List[str]:
    ends = [(n, m) for n, m in model.named_modules() if isinstance(m, (torch.nn.Embedding, torch.nn.Linear))]
    ins = [(n, m.weight) for n, m in ends if isinstance(m, torch.nn.Embedding)]
    outs = [(n, m.weight) for n, m in ends if isinstance(m, torch.nn.Linear)]
    return ['%s.weight = %s.weight' % (a, b) for a, v in ins for b, w in outs if v.shape == w.shape
            and v.data_ptr() != w.data_ptr() and bool((v == w).all()) and bool((v != v.reshape(-1)[0]).any())]


def memory(device: torch.device) -> Dict[str, int]:
    if device.type == 'cuda':
        free, total = torch.cuda.mem_get_info(device)
        return dict(allocated_bytes=torch.cuda.memory_allocated(device), device_used_bytes=total - free,
                    allocated_peak_bytes=torch.cuda.max_memory_allocated(device),
                    reserved_bytes=torch.cuda.memory_reserved(device),
                    reserved_peak_bytes=torch.cuda.max_memory_reserved(device))
    if device.type != 'cpu':
        return {}
    with open('/proc/self/status') as f:
        has = {line.split(':')[0]: line.split() for line in f if line.startswith('Vm')}
    fields = dict(reserved_bytes='VmSize', reserved_peak_bytes='VmPeak', device_used_bytes='VmRSS',
                  device_used_peak_bytes='VmHWM')
    return {k: int(has[v][1]) << 10 for k, v in fields.items() if v in has}


def random_states() -> Dict[str, str]:
    numpy = sys.modules.get('numpy.random')
    out = dict(torch_random=crc(torch.get_rng_state()), python_random=text_crc(random.getstate()))
    if numpy is not None:
        state = numpy.get_state()
        out['numpy_random'] = text_crc([getattr(s, 'tolist', lambda s=s: s)() for s in state])
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        out['device_random'] = crc(*torch.cuda.get_rng_state_all())
    return out


def weights_digest(model: torch.nn.Module, others: List[torch.Tensor], full: bool) -> str:
    kept = [b for m in model.modules() for n, b in m._buffers.items()
            if b is not None and n not in m._non_persistent_buffers_set]
    return settle(digest(list(model.parameters()) + kept + others, full))


def optimizer_facts(optimizers: List, full: bool) -> Dict[str, Any]:
    """Digest of the states in the order of the groups, whatever the parameters are called, and its count."""
    parts, text, count = [], [], None
    for p in (p for o in optimizers for g in o.param_groups for p in g['params'] if p in o.state):
        for key, v in sorted((str(k), v) for o in optimizers if p in o.state for k, v in o.state[p].items()):
            if isinstance(v, torch.Tensor) and v.numel() > 1:
                parts.append(v)
            elif isinstance(v, (int, float, torch.Tensor)):
                text.append((key, float(v)))
                count = int(v) if key == 'step' and count is None else count
    return dict(optimizer_digest=text_crc((text, settle(digest(parts, full)))) if parts or text else None,
                optimizer_count=count)


def loss_facts(root: torch.Tensor, scale: Any) -> Dict[str, Any]:
    """From the root of a backward pass up to the loss: what it was divided by, the function and its targets."""
    out: Dict[str, Any] = dict(divisor=1.0, scaled=False)
    queue, seen = [(root.grad_fn, True)], 0
    while queue and seen < 64:
        (node, alone), seen = queue.pop(0), seen + 1
        name = type(node).__name__
        if LOSS.search(name):
            target, ignore = getattr(node, '_saved_target', None), getattr(node, '_saved_ignore_index', None)
            reduction = getattr(node, '_saved_reduction', None)
            out.update(loss_function=re.sub(r'Backward\d*$', '', name), target=target, ignore=ignore)
            out['reduction'] = ('none', 'mean', 'sum')[reduction] if reduction in (0, 1, 2) else None
            break
        if node is None or not name.startswith(SCALAR):
            continue
        if alone and name.startswith(('Div', 'Mul')):
            by = node._saved_other if node._saved_other is not None else getattr(node, '_saved_self', None)
            if by is not None and scale is not None and by.data_ptr() == scale.data_ptr():
                out['scaled'] = True
            elif by is not None and by.dim() == 0 and by.dtype in (torch.int64, torch.float64) and not by.is_cuda:
                value = float(by) or 1.0
                out['divisor'] *= value if name.startswith('Div') else 1 / value
        alone = alone and not name.startswith(('Add', 'Sub', 'Sum', 'Mean'))
        queue += [(up, alone) for up, _ in node.next_functions if up is not None]
    target = out.get('target')
    if target is not None:
        ignore = out.pop('ignore')
        ignore = ignore - (1 << 64) if ignore is not None and ignore >= 1 << 63 else ignore
        out['ignore'], out['targets'] = ignore, target.numel()
        out['supervised'] = target.numel() if ignore is None else later(int, (target != ignore).sum())
    return out


def token_facts(ids: torch.Tensor, target: torch.Tensor, ignore: Optional[int]) -> Dict[str, Any]:
    """How far from its input the target lies, and whether the loss looks at what looks like padding."""
    rows, length = ids.shape
    wide = target.numel() // rows
    if target.numel() % rows or wide not in (length, length - 1) or length < 3:
        return {}
    target, out = target.reshape(rows, wide), {}
    used = target != (-100 if ignore is None else ignore)
    for k in range(-1, 4):
        low, high = max(0, -k), min(wide, length - k)
        use = used[:, low:high]
        match = float((target[:, low:high] == ids[:, low + k:high + k])[use].float().mean()) if use.any() else 0.0
        if match > out.get('target_match', 0.0):
            out.update(target_offset=k, target_match=match)
    pad = ids[:, -1].mode().values
    tail = (ids.flip(1) != pad).int().cummax(1).values.flip(1) == 0
    runs = tail.sum(1)
    inner = int((ids == pad).sum() - runs.sum())
    if int(runs.max()) > 2 and 2 * int((runs > 0).sum()) >= rows > 1 and len(runs.unique()) > 1 and inner <= rows:
        out['padding_supervised'] = int((used & tail[:, :wide]).sum())
    return out


def mark(p: torch.Tensor) -> Tuple:
    """What to look at again after the update: a few numbers, which of them have a gradient, the steepest."""
    few = sample(p, FEW).clone()
    if p.grad is None:
        return few, None, None
    grad = sample(p.grad, 0)
    top = int(grad.abs().argmax())
    return few, sample(grad, FEW) != 0, (top, float(p.detach().reshape(-1)[top]), float(grad[top]))


def holds(obj: Any, shapes: Dict[str, Tuple], depth: int = 0) -> Dict[str, Any]:
    """What of a training's state is in there; the value of `optimizer` is its count."""
    out: Dict[str, Any] = {}
    if isinstance(obj, torch.nn.Module):
        return {'weights': None}
    if isinstance(obj, (list, tuple)) and obj:
        if str(obj[0]) == 'MT19937' or (obj[0] == 3 and len(obj) == 3 and isinstance(obj[1], tuple)):
            return {'random': None}
        obj = dict(enumerate(obj[:16]))
    if not isinstance(obj, Mapping):
        return {'random': None} if isinstance(obj, torch.Tensor) and obj.dtype == torch.uint8 and obj.numel() == 5056 else {}
    if 'param_groups' in obj and 'state' in obj:
        steps = [s['step'] for s in obj['state'].values() if isinstance(s, Mapping) and 'step' in s]
        return {'optimizer': int(steps[0]) if steps else None}
    if 'last_epoch' in obj or 'growth_factor' in obj:
        return {'schedule' if 'last_epoch' in obj else 'scale': None}
    found = [(str(k), tuple(v.shape)) for k, v in obj.items() if isinstance(v, torch.Tensor)]
    if any(shapes.get(k.split('.', i)[-1]) == s for k, s in found for i in range(4)) or (
            not shapes and found and len(found) == len(obj)):
        return {'weights': None}
    for key, v in obj.items():
        if re.search('rng|random', str(key)) and v is not None and not isinstance(v, (bool, int, float)):
            out['random'] = None
        elif isinstance(v, int) and COUNT.search(str(key)):
            out['count'] = None
        elif depth < 4:
            out.update(holds(v, shapes, depth + 1))
    return out
