"""Extra passes over one captured batch after the first update (--evidence full); the training never notices."""
import random, sys
from typing import Any, Callable, Dict
import torch
from . import facts

def run(watch: Any, model: Any, inputs: Any, rows: int) -> None:
    modes = {m: m.training for m in model.modules()}
    states = dict(torch=torch.get_rng_state(), python=random.getstate())
    if 'numpy.random' in sys.modules:
        states['numpy'] = sys.modules['numpy.random'].get_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states['cuda'] = torch.cuda.get_rng_state_all()
    kept = [(b, b.detach().clone()) for b in model.buffers()]
    watch.busy = True
    try:
        with torch.no_grad():
            for m in modes:
                m.training = False
            results = passes(model, inputs, rows)
    finally:
        watch.busy = False
        for m, mode in modes.items():
            m.training = mode
        for b, was in kept:
            if not torch.equal(b, was):
                b.data.copy_(was)
        for word, state in states.items():
            watch.set_state[word](state)
    for name, fields in results.items():
        watch.wire.emit('check', name=name, update=watch.update, **fields)

def passes(model: Any, inputs: Any, rows: int) -> Dict[str, Dict[str, Any]]:
    ids = next((t for t in facts.tensors(inputs) if t.dim() == 2 and not t.is_floating_point()), None)
    length, half = ids.shape[1] if ids is not None else 0, max(1, (rows or 0) // 2)
    results: Dict[str, Dict[str, Any]] = {}

    def changed(o: Any, change: Callable) -> Any:
        if isinstance(o, torch.Tensor):
            return change(o) if o.dim() else o
        if isinstance(o, dict):
            return {k: changed(v, change) for k, v in o.items()}
        return type(o)([changed(v, change) for v in o]) if type(o) in (list, tuple) else o

    def forward(change: Callable) -> torch.Tensor:
        args, kwargs = changed(inputs, change)
        outs = [t for t in facts.tensors(model(*args, **kwargs)) if t.dim() > 1 and t.is_floating_point()]
        return outs[0].float().clone()

    def tokens() -> int:
        if length < 4 or base.dim() != 3 or base.shape[1] != length:
            raise ValueError('not a model with an output for each token')
        return length // 2

    def future() -> Any:
        cut, late = tokens(), ids.clone()
        late[:, cut:] = late[:, cut:].flip(1).roll(1, 0)
        new = forward(lambda t: late if t is ids else t)
        if torch.equal(new[:, cut:], base[:, cut:]):
            raise ValueError('no output depends on the tokens that were changed')
        return new[:, :cut], base[:, :cut]

    def fewer() -> Any:
        if half == rows or base.shape[0] != rows:
            raise ValueError('not a model with an output for each of several rows')
        return forward(lambda t: t[:half] if t.shape[0] == rows else t), base[:half]

    def wider() -> Any:
        cut, pad = 2 * tokens() and length, ids[:, -1].mode().values

        def padded(t: Any) -> Any:
            if t.shape != ids.shape:
                return t
            return torch.cat([t, torch.full_like(t[:, :1], int(pad) if t is ids else 0)], 1)
        return forward(padded)[:, :cut], base

    try:
        if any(m._forward_hooks or m._forward_pre_hooks for m in model.modules()):
            raise ValueError('the model has hooks of its own')
        base = forward(lambda t: t)
    except Exception as error:
        return dict.fromkeys(('repeat', 'future', 'rows', 'padding'), dict(reason=str(error)[:200]))
    every = dict(repeat=lambda: (forward(lambda t: t), base), future=future, rows=fewer, padding=wider)
    for name, run_it in every.items():
        try:
            a, b = run_it()
            results[name] = dict(difference=float((a - b).abs().max()), magnitude=float(b.abs().max()))
        except Exception as error:
            results[name] = dict(reason=str(error)[:200] or type(error).__name__)
    return results
