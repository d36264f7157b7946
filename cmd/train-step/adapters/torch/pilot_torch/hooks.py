"""Where the adapter stands between a program and torch; every hook lets the program's own call through."""
import atexit
import functools
import importlib.util
import os
import random
import signal
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict

from .wire import Wire


class Finder:
    """Does what is to be done with a module right after it was executed."""
    def __init__(self) -> None:
        self.then: Dict[str, Callable] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        then = self.then.pop(name, None)
        spec = importlib.util.find_spec(name) if then else None
        if then is not None and spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                then(module)
            spec.loader.exec_module = exec_module       # type: ignore[method-assign]
        return spec


def arm() -> None:
    wire, finder = Wire(os.environ.get('PILOT_EVIDENCE') or 'basic'), Finder()
    if wire.fd >= 0:
        finder.then['torch'] = wire.guard(lambda torch: Hooks(wire, torch, finder.then))
        sys.meta_path.insert(0, finder)                 # type: ignore[arg-type]


class Hooks:
    def __init__(self, wire: Wire, torch: Any, then: Dict[str, Callable]) -> None:
        from .watch import Watch
        self.w, self.torch, self.then, self.within = Watch(wire), torch, then, set()    # type: Any, Any, Any, set
        self.compiling = getattr(getattr(torch, 'compiler', None), 'is_compiling', None) or (lambda: False)
        wire.hello = lambda: dict(
            name='torch', version=torch.__version__, language='Python ' + sys.version.split()[0], program=sys.argv[0],
            process=os.getpid(), rank=wire.rank, replicas=self.w.world(), threads=torch.get_num_threads(),
            devices=['cuda:%d' % i for i in range(torch.cuda.device_count())] or ['cpu'])
        for group in (self.forward, self.backward, self.update, self.files, self.loaders, self.process):
            wire.guard(group)()

    def around(self, owner: Any, name: str, before: Any = None, after: Any = None, phase: str = '') -> None:
        """owner.name(...) with before(...) ahead of it and after(its result, before's, seconds, ...) behind it."""
        orig, kind, w = owner.__dict__.get(name), phase or name, self.w
        if orig is None:
            return
        before, after = w.wire.guard(before or (lambda *a, **k: None)), w.wire.guard(after or (lambda *a, **k: None))

        @functools.wraps(orig)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.compiling() or w.busy or kind in self.within or not w.wire.here():
                return orig(*args, **kwargs)
            self.within.add(kind)
            try:
                begun, start = before(*args, **kwargs), time.perf_counter()
                w.busy = kind == 'backward'
                out = orig(*args, **kwargs)
                w.busy = False
                after(out, begun, time.perf_counter() - start, *args, **kwargs)
                return out
            except Exception as error:
                w.failed(phase or w.phase, error)
                raise
            finally:
                w.busy = False
                self.within.discard(kind)
        setattr(owner, name, call)

    def forward(self) -> None:
        """The outermost call of a module; inside of it everybody sees torch as it was."""
        w, torch = self.w, self.torch
        M, F, call, here, compiling = torch.nn.Module, torch.nn.functional, torch.nn.Module.__call__, threading.get_ident(), self.compiling
        enter, leave, loss = w.wire.guard(w.enter), w.wire.guard(w.leave), w.wire.guard(w.val_loss)

        def outer(module: Any, *args: Any, **kwargs: Any) -> Any:
            if compiling() or w.busy or M.__call__ is not outer or threading.get_ident() != here or not w.wire.here():
                return call(module, *args, **kwargs)
            w.busy, M.__call__ = True, call
            F.__dict__.update(plain)
            try:
                w.entered = seen = enter(module, (args, kwargs))
                out = call(module, *args, **kwargs)
                if seen is not None:
                    leave(module, seen, out)
                elif w.val is not None and not torch.is_grad_enabled():
                    loss(out, args, getattr(module, 'reduction', 'mean'), getattr(module, 'ignore_index', -100))
                return out
            except Exception as error:
                w.failed(w.phase, error)
                raise
            finally:
                w.busy, w.entered = False, None
                F.__dict__.update(ours)
                if M.__call__ is call:
                    M.__call__ = outer
        M.__call__ = outer

        def wrap(orig: Callable) -> Callable:
            @functools.wraps(orig)
            def function(*args: Any, **kwargs: Any) -> Any:
                out = orig(*args, **kwargs)
                if not compiling() and w.val is not None and not torch.is_grad_enabled():
                    loss(out, args, kwargs.get('reduction', 'mean'), kwargs.get('ignore_index', -100))
                return out
            return function
        plain = {n: getattr(F, n) for n in ('cross_entropy', 'nll_loss', 'mse_loss', 'l1_loss', 'smooth_l1_loss',
                 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'kl_div')}
        ours = {n: wrap(f) for n, f in plain.items()}
        F.__dict__.update(ours)

        def as_it_was(orig: Callable) -> Callable:
            @functools.wraps(orig)
            def function(*args: Any, **kwargs: Any) -> Any:
                was, M.__call__ = M.__call__, call
                try:
                    return orig(*args, **kwargs)
                finally:
                    M.__call__ = was
            return function
        if hasattr(torch, 'compile'):
            torch.compile = as_it_was(torch.compile)

    def backward(self) -> None:
        w, torch = self.w, self.torch
        self.around(torch.autograd, 'backward', lambda roots, *a, **k: w.backward_begin(roots),
                    lambda *a, **k: w.backward_end(), 'backward')
        for owner in (torch.nn.Module, torch.optim.Optimizer):
            self.around(owner, 'zero_grad', lambda *a, **k: w.zeroed())
        for name, norm in (('clip_grad_norm_', True), ('clip_grad_value_', False)):
            def clipped(out: Any, begun: Any, seconds: float, params: Any, bound: Any, *a: Any, norm: bool = norm, **k: Any) -> None:
                w.clip, w.norm = float(bound), w.later(out) if norm else None
            self.around(torch.nn.utils.clip_grad, name, None, clipped)
            setattr(torch.nn.utils, name, getattr(torch.nn.utils.clip_grad, name))

    def update(self) -> None:
        w, torch, O = self.w, self.torch, self.torch.optim.Optimizer
        wrapped: set = set()
        begin, end = w.wire.guard(w.step_begin), w.wire.guard(w.step_end)

        def stepping(orig: Callable) -> Callable:
            @functools.wraps(orig)
            def step(opt: Any, *args: Any, **kwargs: Any) -> Any:
                if self.compiling() or w.busy or 'step' in self.within or not w.wire.here():
                    return orig(opt, *args, **kwargs)
                self.within.add('step')
                infos = []
                closure = args[0] if args else kwargs.get('closure')

                def closed() -> Any:
                    out = closure()
                    infos.append(begin(opt))
                    return out
                try:
                    if closure is None:
                        infos.append(begin(opt))
                    elif args:
                        args = (closed,) + args[1:]
                    else:
                        kwargs['closure'] = closed
                    out = orig(opt, *args, **kwargs)
                except Exception as error:
                    w.failed('update', error)
                    raise
                finally:
                    self.within.discard('step')
                if len(infos) > 1:
                    w.blind('the closure of %s is called several times in an update' % type(opt).__name__)
                if infos and infos[-1]:
                    end(infos[-1])
                return out
            return step

        def made(out: Any, begun: Any, seconds: float, opt: Any, *a: Any, **k: Any) -> None:
            w.optimizers.append(weakref.ref(opt))
            for owner in type(opt).__mro__:
                if 'step' in owner.__dict__ and owner is not O and owner.step not in wrapped:
                    owner.step = stepping(owner.step)
                    wrapped.add(owner.step)
        self.around(O, '__init__', None, made)

        def cold(out: Any, begun: Any, seconds: float, opt: Any, *a: Any, **k: Any) -> None:
            w.restored('optimizer')
            if w.cold:
                opt.state.clear()
        self.around(O, 'load_state_dict', None, cold)

        def scheduled(out: Any, begun: Any, seconds: float, s: Any, *a: Any, **k: Any) -> None:
            if all(r() is not s for r in w.schedules):
                w.schedules.append(weakref.ref(s))
            if getattr(s, '_step_count', 2) != 1:
                w.calls['schedule'] = w.calls.get('schedule', 0) + 1
        rates = torch.optim.lr_scheduler
        base = getattr(rates, 'LRScheduler', rates._LRScheduler)
        for rate in {c for c in vars(rates).values() if isinstance(c, type) and issubclass(c, base)} | {rates.ReduceLROnPlateau}:
            self.around(rate, 'step', None, scheduled, 'schedule')
            self.around(rate, 'load_state_dict', None, lambda *a, **k: w.restored('schedule'), 'schedule')

        scaler = getattr(torch.amp, 'GradScaler', None) or torch.cuda.amp.GradScaler

        def scaling(out: Any, begun: Any, seconds: float, s: Any, *a: Any, **k: Any) -> None:
            w.scaler = weakref.ref(s)

        def scaled(out: Any, before: int, seconds: float, s: Any, opt: Any, *a: Any, **k: Any) -> None:
            if w.update == before and w.passes:
                w.skipped(opt)

        def changed(out: Any, begun: Any, seconds: float, s: Any, *a: Any, **k: Any) -> None:
            w.calls['scale'] = w.calls.get('scale', 0) + s.is_enabled()
        self.around(scaler, 'scale', None, scaling)
        self.around(scaler, 'step', lambda *a, **k: w.update, scaled, 'scaler')
        self.around(scaler, 'update', None, changed)
        self.around(scaler, 'load_state_dict', None, lambda *a, **k: w.restored('scale'), 'scale')

    def files(self) -> None:
        w, torch = self.w, self.torch

        def exists(obj: Any, f: Any, *a: Any, **k: Any) -> bool:
            return isinstance(f, (str, os.PathLike)) and os.path.exists(f)

        def saved(out: Any, existed: bool, seconds: float, obj: Any, f: Any, *a: Any, **k: Any) -> None:
            w.saved(obj, f, existed, seconds)

        def loaded(out: Any, begun: Any, seconds: float, f: Any, *a: Any, **k: Any) -> None:
            w.loaded(out, f, seconds)

        def safe(module: Any) -> None:
            self.around(module, 'save_file', exists, saved, 'save')
            self.around(module, 'load_file', None, loaded, 'load')
        self.around(torch, 'save', exists, saved, 'save')
        self.around(torch, 'load', None, loaded, 'load')
        self.then['safetensors.torch'] = w.wire.guard(safe)

        def weights(out: Any, begun: Any, seconds: float, model: Any, *a: Any, **k: Any) -> None:
            w.restored('weights', matched=len(model.state_dict()) - len(out.missing_keys),
                       missing=len(out.missing_keys), unexpected=len(out.unexpected_keys))
        self.around(torch.nn.Module, 'load_state_dict', None, weights, 'weights')

        def setter(owner: Any, name: str) -> None:
            orig = getattr(owner, name)

            @functools.wraps(orig)
            def set_state(*args: Any, **kwargs: Any) -> Any:
                theirs = sys._getframe(1).f_globals.get('__name__', '').split('.')[0] != 'torch'
                if theirs and not w.busy and not w.started and w.wire.here():
                    w.wire.guard(w.restored)('random')
                    if w.cold:
                        return None
                return orig(*args, **kwargs)
            setattr(owner, name, set_state)
        w.set_state = {'torch': torch.set_rng_state, 'python': random.setstate, 'cuda': torch.cuda.set_rng_state_all}
        for owner, name in ((torch.random, 'set_rng_state'), (torch, 'set_rng_state'), (random, 'setstate'),
                            (torch.cuda, 'set_rng_state'), (torch.cuda, 'set_rng_state_all')):
            setter(owner, name)

        def numpy(module: Any) -> None:
            w.set_state['numpy'] = module.set_state
            setter(module, 'set_state')
        if 'numpy.random' in sys.modules:
            numpy(sys.modules['numpy.random'])
        else:
            self.then['numpy.random'] = w.wire.guard(numpy)

    def loaders(self) -> None:
        w, It = self.w, self.torch.utils.data.dataloader._BaseDataLoaderIter
        orig, drawn = It.__next__, w.wire.guard(w.drawn)

        @functools.wraps(orig)
        def __next__(it: Any) -> Any:
            start = time.perf_counter()
            try:
                batch = orig(it)
            except StopIteration:
                drawn(it, None, 0.0)
                raise
            drawn(it, batch, time.perf_counter() - start)
            return batch
        It.__next__ = __next__

    def process(self) -> None:
        w, torch, pid = self.w, self.torch, os.getpid()
        atexit.register(w.wire.guard(w.exit))
        size = int(os.environ.get('PILOT_MEMORY_BYTES') or 0)

        def cap() -> None:
            for i in range(torch.cuda.device_count()):
                total = torch.cuda.get_device_properties(i).total_memory
                torch.cuda.set_per_process_memory_fraction(min(1.0, size / total), i)
        if size:
            torch.cuda._lazy_call(w.wire.guard(cap))

        def asked(number: int, frame: Any) -> None:
            if w.asked or not w.started or os.getpid() != pid:      # as if the adapter were not there
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGTERM)
            w.asked = True
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, asked)
