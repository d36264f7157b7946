"""Where the adapter stands between a program and torch; every hook lets the program's own call through."""
import atexit, functools, importlib.util, os, random, signal, sys, threading, time, weakref
from typing import Any, Callable, Dict, Set
from .wire import Wire

LOSSES = ('cross_entropy', 'nll_loss', 'mse_loss', 'l1_loss', 'smooth_l1_loss', 'binary_cross_entropy',
          'binary_cross_entropy_with_logits', 'kl_div')

class Finder:
    """Does what is to be done with a module right after it was executed."""
    def __init__(self) -> None:
        self.then: Dict[str, Callable] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        then = self.then.pop(name, None)
        spec = importlib.util.find_spec(name) if then else None
        if then and spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), then(module))[0]  # type: ignore
        return spec

def arm() -> None:
    wire, finder = Wire(), Finder()
    if wire.fd >= 0:
        finder.then['torch'] = wire.guard(lambda torch: Hooks(wire, torch, finder.then))
        sys.meta_path.insert(0, finder)     # type: ignore

class Hooks:
    def __init__(self, wire: Wire, torch: Any, then: Dict[str, Callable]) -> None:
        from .watch import Watch
        self.w, self.torch, self.then = Watch(wire), torch, then
        self.within: Set[str] = set()
        compiling = getattr(getattr(torch, 'compiler', None), 'is_compiling', None) or (lambda: False)
        modes = getattr(torch._C, '_len_torch_dispatch_stack', None) or (lambda: 0)     # tensors that are none
        self.compiling = lambda: compiling() or modes() > 0
        wire.hello = lambda: dict(
            name='torch', version=torch.__version__, language='Python ' + sys.version.split()[0], program=sys.argv[0],
            process=os.getpid(), rank=wire.rank, replicas=self.w.world(), threads=torch.get_num_threads(),
            devices=['cuda:%d' % i for i in range(torch.cuda.device_count())] or ['cpu'])
        for group in (self.forward, self.backward, self.update, self.files, self.randoms, self.process):
            wire.guard(group)()

    def around(self, owner: Any, name: str, before: Any = None, after: Any = None, phase: str = '',
               kind: str = '') -> None:
        """owner.name(...) with before(...) ahead of it and after(its result, before's, seconds, ...) behind it."""
        orig, w, none = owner.__dict__.get(name), self.w, lambda *a, **k: None
        if orig is None:
            return
        within, kind, compiling = self.within, kind or name, self.compiling
        before, after = w.wire.guard(before or none), w.wire.guard(after or none)

        @functools.wraps(orig)
        def call(*args: Any, **kwargs: Any) -> Any:
            if compiling() or w.busy or kind in within or not w.wire.here():
                return orig(*args, **kwargs)
            within.add(kind)
            try:
                begun, start = before(*args, **kwargs), time.perf_counter()
                w.busy = kind == 'backward'
                out = orig(*args, **kwargs)
                w.busy = False
                after(out, begun, time.perf_counter() - start, *args, **kwargs)
                return out
            except Exception as error:
                w.wire.guard(w.failed)(phase or w.phase, error)
                raise
            finally:
                w.busy = False
                within.discard(kind)
        setattr(owner, name, call)

    def forward(self) -> None:
        """The outermost call of a model; once something is compiled, everybody inside of it sees torch as it was."""
        w, M, F, compiling = self.w, self.torch.nn.Module, self.torch.nn.functional, self.compiling
        call, enter, leave = M.__call__, w.wire.guard(w.enter), w.wire.guard(w.leave)

        def outer(module: Any, *args: Any, **kwargs: Any) -> Any:
            if compiling() or w.busy or not w.wire.here():
                return call(module, *args, **kwargs)
            w.busy = True
            try:
                now = enter(module, (args, kwargs))
                w.busy = now is not None
                if compiled and w.busy:
                    M.__call__ = call
                out = call(module, *args, **kwargs)
                if now is not None:
                    leave(now, out)
                return out
            except Exception as error:
                w.wire.guard(w.failed)(w.phase, error)
                raise
            finally:
                w.busy = False
                if compiled:
                    M.__call__ = outer
        M.__call__, compiled = outer, []        # changing it at each call is slow: every class of a module hears of it
        for name in LOSSES:
            self.around(F, name, None, lambda out, begun, seconds, *a, **k: w.val_loss(out, a, k), kind='loss')
        if hasattr(self.torch, 'compile'):
            self.around(self.torch, 'compile', lambda *a, **k: (compiled.append(1), setattr(M, '__call__', call)),
                        lambda *a, **k: setattr(M, '__call__', outer))

        def loaded(out: Any, begun: Any, seconds: float, model: Any, *a: Any, **k: Any) -> None:
            w.restored('weights', matched=len(model.state_dict()) - len(out.missing_keys),
                       missing=len(out.missing_keys), unexpected=len(out.unexpected_keys))
        self.around(M, 'load_state_dict', None, loaded, 'load', 'weights')

    def backward(self) -> None:
        w, torch, clip = self.w, self.torch, self.torch.nn.utils.clip_grad
        self.around(torch.autograd, 'backward', lambda roots, *a, **k: w.backward_begin(roots),
                    lambda *a, **k: w.backward_end(), 'backward')
        for owner in (torch.nn.Module, torch.optim.Optimizer):
            self.around(owner, 'zero_grad', lambda *a, **k: w.zeroed())

        def clipped(out: Any, begun: Any, seconds: float, params: Any, bound: float, *a: Any, **k: Any) -> None:
            w.clip, w.norm = float(bound), out
        for name in ('clip_grad_norm_', 'clip_grad_value_'):
            self.around(clip, name, None, clipped)
            setattr(torch.nn.utils, name, getattr(clip, name))

    def update(self) -> None:
        w, torch, base = self.w, self.torch, self.torch.optim.Optimizer
        wrapped: Set[Any] = set()

        def made(out: Any, begun: Any, seconds: float, opt: Any, *a: Any, **k: Any) -> None:
            w.optimizers.append(weakref.ref(opt))
            for owner in type(opt).__mro__:
                if 'step' in owner.__dict__ and owner is not base and owner.step not in wrapped:
                    self.around(owner, 'step', lambda o, *a, **k: w.step_begin(o),
                                lambda *a, **k: w.step_end(), 'update')
                    wrapped.add(owner.step)

        def restored(out: Any, begun: Any, seconds: float, opt: Any, *a: Any, **k: Any) -> None:
            w.restored('optimizer')
            if w.cold:
                opt.state.clear()
        self.around(base, '__init__', None, made)
        self.around(base, 'load_state_dict', None, restored, 'load', 'optimizer')

        def scheduled(out: Any, begun: Any, seconds: float, s: Any, *a: Any, **k: Any) -> None:
            if all(r() is not s for r in w.schedules):
                w.schedules.append(weakref.ref(s))
            if getattr(s, '_step_count', 2) != 1:       # 1: its own, at its making
                w.calls[id(s)] = w.calls.get(id(s), 0) + 1
                w.calls['schedule'] = max(w.calls.get('schedule', 0), w.calls[id(s)])     # several tick as one
        rates = torch.optim.lr_scheduler
        for rate in {c for c in vars(rates).values() if isinstance(c, type) and hasattr(c, 'load_state_dict')} - {base}:
            self.around(rate, 'step', None, scheduled, kind='schedule')
            self.around(rate, 'load_state_dict', None, lambda *a, **k: w.restored('schedule'), 'load', 'schedule')

        def scaling(out: Any, begun: Any, seconds: float, s: Any, *a: Any, **k: Any) -> None:
            w.scaler = weakref.ref(s)

        def scaled(out: Any, begun: Any, seconds: float, s: Any, *a: Any, **k: Any) -> None:
            w.calls['scale'] = w.calls.get('scale', 0) + s.is_enabled()
        scaler = getattr(getattr(torch, 'amp', None), 'GradScaler', None) or torch.cuda.amp.GradScaler
        self.around(scaler, '__init__', None, scaling)      # a resumed one has its scale before it scales
        self.around(scaler, 'scale', None, scaling)
        self.around(scaler, 'update', None, scaled, kind='scaler')
        self.around(scaler, 'step', lambda *a, **k: w.update, lambda out, update, seconds, s, opt, *a, **k:
                    w.scaler_end(update, opt), 'update', 'scaler')
        self.around(scaler, 'load_state_dict', None, lambda *a, **k: w.restored('scale'), 'load', 'scaler')

    def files(self) -> None:
        w, torch, data = self.w, self.torch, self.torch.utils.data.dataloader._BaseDataLoaderIter

        def exists(obj: Any, f: Any, *a: Any, **k: Any) -> bool:
            return isinstance(f, (str, os.PathLike)) and os.path.exists(f)

        def saved(out: Any, existed: bool, seconds: float, obj: Any, f: Any, *a: Any, **k: Any) -> None:
            w.saved(obj, f, existed, seconds)

        def files_of(module: Any, save: str, load: str) -> None:
            self.around(module, save, exists, saved, 'save')
            self.around(module, load, None, lambda out, begun, seconds, f, *a, **k: w.loaded(out, f, seconds), 'load')
        files_of(torch, 'save', 'load')
        self.then['safetensors.torch'] = w.wire.guard(lambda module: files_of(module, 'save_file', 'load_file'))
        orig, drawn = data.__next__, w.wire.guard(w.drawn)

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
        data.__next__ = __next__

    def randoms(self) -> None:
        """Random states that the program puts back before it trains."""
        w, torch = self.w, self.torch

        def hook(owner: Any, name: str, word: str) -> None:
            orig = w.set_state.setdefault(word, getattr(owner, name))

            @functools.wraps(orig)
            def set_state(*args: Any, **kwargs: Any) -> Any:
                theirs = sys._getframe(1).f_globals.get('__name__', '').split('.')[0] != 'torch'
                if theirs and not w.started and not w.busy and w.wire.here():
                    w.wire.guard(w.restored)('random')
                    if w.cold:
                        return None
                return orig(*args, **kwargs)
            setattr(owner, name, set_state)
        for owner, name, word in ((torch.random, 'set_rng_state', 'torch'), (torch, 'set_rng_state', 'torch'),
                                  (torch.cuda, 'set_rng_state_all', 'cuda'), (torch.cuda, 'set_rng_state', 'cuda one'),
                                  (random, 'setstate', 'python')):
            hook(owner, name, word)
        if 'numpy.random' in sys.modules:
            hook(sys.modules['numpy.random'], 'set_state', 'numpy')
        self.then['numpy.random'] = w.wire.guard(lambda module: hook(module, 'set_state', 'numpy'))

    def process(self) -> None:
        w, cuda, pid = self.w, self.torch.cuda, os.getpid()
        size = int(os.environ.get('PILOT_MEMORY_BYTES') or 0)

        def cap() -> None:
            for i in range(cuda.device_count()):
                total = cuda.get_device_properties(i).total_memory
                cuda.set_per_process_memory_fraction(min(1.0, size / total), i)

        def asked(number: int, frame: Any) -> None:
            if w.asked or not w.started or os.getpid() != pid:      # as without the adapter
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGTERM)
            w.asked = True
        atexit.register(w.wire.guard(w.exit))
        if size:
            cuda._lazy_call(w.wire.guard(cap))
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, asked)
