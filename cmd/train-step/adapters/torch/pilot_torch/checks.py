"""Extra passes over one captured batch after the first update (--evidence full); the training never notices."""
import random
import sys
from typing import Any, Dict

import torch

from . import facts


def run(watch: Any, model: Any, inputs: Any, rows: int) -> None:
    numpy = sys.modules.get('numpy.random')
    modes = {m: m.training for m in model.modules()}
    states = dict(torch=torch.get_rng_state(), python=random.getstate())
    if numpy is not None:
        states['numpy'] = numpy.get_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states['cuda'] = torch.cuda.get_rng_state_all()
    kept = [(b, b.detach().clone()) for b in model.buffers()]
    results: Dict[str, Dict[str, Any]] = {}
    watch.busy = True
    try:
        with torch.no_grad():
            for m in modes:
                m.training = False
            passes(model, inputs, rows, results)
    finally:
        watch.busy = False
        for m, mode in modes.items():
            m.training = mode
        with torch.no_grad():
            for b, was in kept:
                if not torch.equal(b, was):
                    b.copy_(was)
        for name, state in states.items():
            watch.set_state[name](state)
        for name, fields in results.items():
            watch.wire.emit('check', name=name, update=watch.update, **fields)


def passes(model: Any, inputs: Any, rows: int, results: Dict[str, Dict[str, Any]]) -> None:
    def forward(change: Any) -> torch.Tensor:
        def deep(o: Any) -> Any:
            if isinstance(o, torch.Tensor):
                return change(o) if o.dim() else o
            if isinstance(o, dict):
                return {k: deep(v) for k, v in o.items()}
            return type(o)(deep(v) for v in o) if type(o) in (list, tuple) else o
        args, kwargs = deep(inputs[0]), deep(inputs[1])
        outs = [t for t in facts.tensors(model(*args, **kwargs)) if t.dim() > 1 and t.is_floating_point()]
        return outs[0].detach().float().clone()

    def compare(name: str, run_it: Any) -> None:
        try:
            a, b = run_it()
            results[name] = dict(difference=float((a - b).abs().max()), magnitude=float(b.abs().max()))
        except Exception as error:
            results[name] = dict(reason=str(error)[:200] or type(error).__name__)

    if any(m._forward_hooks or m._forward_pre_hooks for m in model.modules()):
        for name in ('repeat', 'future', 'rows', 'padding'):
            results[name] = dict(reason='the model has hooks of its own')
        return
    base = forward(lambda t: t)
    ids = [t for t in facts.tensors(inputs) if t.dim() == 2 and not t.is_floating_point()]
    length = ids[0].shape[1] if ids else 0
    half, cut = max(1, rows // 2), length // 2

    def future() -> Any:
        if not ids or base.dim() != 3 or base.shape[1] != length or length < 4:
            raise ValueError('not a model of tokens with an output for each')
        late = ids[0].clone()
        late[:, cut:] = late[:, cut:].flip(1).roll(1, 0)
        new = forward(lambda t: late if t is ids[0] else t)
        if bool((new[:, cut:] == base[:, cut:]).all()):
            raise ValueError('no output depends on the tokens that were changed')
        return new[:, :cut], base[:, :cut]

    def fewer() -> Any:
        if rows < 2 or base.shape[0] != rows:
            raise ValueError('the outputs are not one for each row')
        return forward(lambda t: t[:half] if t.shape[0] == rows else t), base[:half]

    def wider() -> Any:
        if not ids or base.dim() != 3 or base.shape[1] != length:
            raise ValueError('not a model of tokens with an output for each')
        new = forward(lambda t: torch.cat([t, torch.zeros_like(t[:, :1])], 1) if t.shape == ids[0].shape else t)
        return new[:, :length], base

    compare('repeat', lambda: (forward(lambda t: t), base))
    compare('future', future)
    compare('rows', fewer)
    compare('padding', wider)
