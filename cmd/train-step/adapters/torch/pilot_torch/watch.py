"""What happened in the training so far, told to train-step update by update."""
import os, sys, time, weakref
from fnmatch import fnmatchcase
from math import prod
from typing import Any, Dict, List
import torch
from torch import Tensor
from . import checks, facts
from .facts import later, settle

def joined(passes: List[Any]) -> List[Any]:
    """With the losses as the program divided them; one without a forward of its own adds to that of the pass before."""
    out: List[Any] = []
    for p in passes:
        p['loss'] = p['loss'] / (p['scale'] or 1) * p['divisor'] if p.get('loss') is not None else None
        if 'seen' in p or not out:
            out.append(p)
        elif p['loss'] is not None and out[-1]['loss'] is not None:
            out[-1]['loss'] += p['loss']
    return out

class Watch:
    def __init__(self, wire: Any) -> None:
        env, self.wire = os.environ, wire
        self.full, self.none = wire.evidence == 'full', wire.evidence == 'none'
        self.limit, self.cold = int(env.get('PILOT_UPDATES') or 0), env.get('PILOT_CONTROL') == 'cold'
        self.freeze = [p for p in env.get('PILOT_FREEZE', '').split(',') if p]
        self.busy = self.asked = self.started = self.proposed = False
        self.update = self.skips = self.stops = self.dropped = self.backwards = self.forwards = 0
        self.models, self.numbered = {}, []                         # type: Any, List[Any]
        self.optimizers, self.schedules = [], []                    # type: List[Any], List[Any]
        self.passes, self.queue, self.waiting = [], [], []          # type: List[Any], List[Any], List[Any]
        self.written: Any = None            # paths, once something was saved into memory
        self.first = self.scaler = lambda: None     # type: Any     # weak: the optimizer that steps, the GradScaler
        self.fresh = self.now = self.open = self.val = self.info = self.captured = None  # type: Any
        self.left = self.clip = self.norm = self.error = None       # type: Any
        self.spans, self.calls, self.load, self.grads = {}, {}, {}, {}      # type: Any, Any, Any, Any
        self.loaders, self.data, self.set_state = weakref.WeakKeyDictionary(), {}, {}      # type: Any, Any, Any
        self.graded, self.blinds, self.phase, self.mark, self.since = set(), set(), 'load', 0.0, 0.0

    def blind(self, reason: str, phase: str = 'all') -> None:
        if reason not in self.blinds:
            self.blinds.add(reason)
            self.wire.emit('blind', phase=phase, reason=reason)

    # who takes part
    def known(self, module: Any) -> Any:
        """What is known of a model by its outermost module; None where it has nothing to train."""
        seen = self.models.get(id(module))
        if seen is None or seen['outer']() is not module:
            inner, wrapper = facts.bare(module)
            params, (drop, norm) = list(inner.parameters()), facts.layers(inner)
            two = [m for m in drop + norm if m in drop or all(p.requires_grad for p in m.parameters())]
            seen = self.models[id(module)] = dict(
                outer=weakref.ref(module), ref=weakref.ref(inner), wrapper=wrapper or None, number=None, mode=True,
                two=[weakref.ref(m) for m in two], norm=[weakref.ref(m) for m in norm], counts=(len(drop), len(norm)),
                trains=any(p.requires_grad for p in params), device=params[0].device if params else None)
        return seen if seen['trains'] else None

    def trained(self) -> List[Any]:
        return [s for s in self.numbered if s['ref']() is not None]

    def part(self, model: Any) -> bool:
        """Whether it belongs to a model that is trained, which is called as a whole."""
        return any(model in s['parts'] for s in self.trained() if s['ref']() is not model)

    def pairs(self) -> Dict[int, Any]:
        return {id(p): (n, p) for s in self.trained() for n, p in s['ref']().named_parameters()}

    def alive(self, refs: List[Any]) -> List[Any]:
        return [o for o in (r() for r in refs) if o is not None]

    def held(self) -> List[Tensor]:
        return [p for o in self.alive(self.optimizers) for g in o.param_groups for p in g['params']]

    def device(self) -> torch.device:
        return next((s['device'] for s in self.trained()), torch.device('cpu'))

    def world(self) -> int:
        dist = torch.distributed
        return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1

    def new_model(self, seen: Any) -> None:
        seen['number'], model, seen['tied'] = len(self.numbered), seen['ref'](), {}
        seen['parts'] = weakref.WeakSet(model.modules())
        self.numbered.append(seen)
        every, train = list(model.parameters()), [p for p in model.parameters() if p.requires_grad]
        for name, p in facts.named(model):
            seen['tied'].setdefault(p.data_ptr(), []).append(name)
        self.wire.emit(
            'model', name=type(model).__name__, number=seen['number'], wrapper=seen['wrapper'], tensors=len(every),
            trainable_tensors=len(train), parameters=sum(p.numel() for p in every), device=str(seen['device']),
            trainable_parameters=sum(p.numel() for p in train), buffers=len(list(model.buffers())),
            frozen=[n for n, p in model.named_parameters() if not p.requires_grad][:8],
            dropout_layers=seen['counts'][0], norm_layers=seen['counts'][1], precision=str(every[0].dtype)[6:],
            weights_digest=facts.weights_digest(model, [], self.full), equal_apart=facts.equal_apart(model))

    def new_optimizer(self, opt: Any) -> None:
        names, held, groups = self.pairs(), {id(p) for p in self.held()}, opt.param_groups
        params = [p for g in groups for p in g['params']]
        out = [n for i, (n, p) in names.items() if p.requires_grad and i not in held]
        self.wire.emit(
            'optimizer', name=type(opt).__name__, number=self.alive(self.optimizers).index(opt), groups=len(groups),
            tensors=len(params), lr=[float(g['lr']) for g in groups if 'lr' in g], uncovered=len(out),
            weight_decay=[g['weight_decay'] for g in groups if 'weight_decay' in g], uncovered_names=out[:8],
            strangers=sum(id(p) not in names for p in params),
            count=self.fresh['optimizer_count'])
        self.fresh = None

    # time and memory of the phases
    def occurrence(self) -> Any:
        return None if self.none else {0: 'first', 2: 'steady'}.get(self.update)

    def deep(self) -> bool:
        n = self.update + 1
        return not self.none and (self.full or n == 3 or n & (n - 1) == 0)

    def tick(self, phase: str) -> None:
        self.phase, cuda = phase, self.device().type == 'cuda' and self.occurrence()
        if cuda:
            torch.cuda.synchronize(self.device())
            torch.cuda.reset_peak_memory_stats(self.device())
        self.mark = time.perf_counter()

    def tock(self, phase: str, next_phase: str) -> None:
        if self.occurrence() and self.device().type == 'cuda':
            torch.cuda.synchronize(self.device())
        span, self.phase = self.spans.setdefault(phase, dict(seconds=0.0)), next_phase
        if self.occurrence() and not span['seconds']:
            span.update(facts.memory(self.device()))
        span['seconds'] += time.perf_counter() - self.mark

    # forward
    def enter(self, module: Any, inputs: Any) -> Any:
        seen = self.known(module)
        if seen is None:
            return None
        ins = [t for t in facts.tensors(inputs) if t.dim()]
        modes = [m.training for m in self.alive(seen['two'])]
        self.now = now = dict(seen=seen, ins=ins, rows=len(ins[0]) if ins else None, mode=module.training, modes=modes,
                              shape=list(ins[0].shape) if ins else None, training=all(modes or [module.training]))
        if not torch.is_grad_enabled():
            if seen['number'] is None and (any(modes or [module.training]) or self.part(seen['ref']())):
                return None     # never trained, in training mode: a teacher, averaged weights; it validates nothing
            self.val_enter(now)
            del now['ins']
            return now
        if self.due() and (module.training or not seen['mode']):
            self.stop(ins)
        self.tell(now['training'])
        if seen['number'] is None:
            self.new_model(seen)
        if not self.started:
            self.start(ins)
        now['batch'] = None if self.none else facts.digest(ins, self.full)
        if self.full and not self.update and not self.passes:
            self.captured = (seen['ref'](), inputs, now['rows'])
        self.forwards += 1
        self.tick('forward')
        return now

    def leave(self, now: Any, out: Any) -> None:
        if not torch.is_grad_enabled():
            return self.val_leave(now, out)
        self.tock('forward', 'forward')
        ids = [t for t in now.pop('ins') if t.dim() == 2 and not t.is_floating_point()]
        now.update(ids=ids[0] if ids and self.deep() else None, length=ids[0].shape[1] if ids else None,
                   outs=[list(t.shape) for t in facts.tensors(out)])
        if self.open is None or self.open['seen'] is now['seen'] or self.open['mode'] != now['mode']:
            self.open = now

    # backward
    def backward_begin(self, roots: Any) -> None:
        root, one, scaler = facts.tensors([roots])[0], self.open or {}, self.scaler()
        if not self.passes:
            self.left = self.left_over()
        scale = scaler._scale if scaler is not None and scaler.is_enabled() else None
        one.update(facts.loss_facts(root, scale), loss=later(float, root) if root.numel() == 1 else None)
        one['scale'] = later(float, scale) if one['scaled'] else None
        ids, target = one.pop('ids', None), one.pop('target')
        if ids is not None and target is not None and not self.passes:
            one.update(facts.token_facts(ids, target, one['ignore']))
        if self.open is not None:
            one['seen']['mode'] = one['mode']
        shape, outs = one.pop('looked', None), one.get('outs') or []
        size, widest = prod(shape or []), max(outs, key=len, default=None)  # a shape that the loss gave them
        one['out'] = next((o for o in outs if shape and prod(o) == size and o[-1] == shape[-1]), shape or widest)
        self.passes, self.open, self.backwards = self.passes + [one], None, self.backwards + 1
        self.tick('backward')

    def backward_end(self) -> None:
        self.tock('backward', 'update')
        if self.info is not None:           # in a closure that the optimizer called
            if self.info.get('closed'):
                self.blind('the optimizer calls its closure several times in an update')
            self.info = self.look(self.info['opt'])
            self.info['closed'] = True

    def left_over(self) -> Any:
        """Gradients from before: those not written to since the update, and a few of the others."""
        have = [(p.grad, self.grads.get(id(p))) for p in self.held() if p.grad is not None and p.grad.numel()]
        same = [g for g, was in have if was == (id(g), g._version)]
        look = [g for g, _ in have] if self.deep() else same or [g for g, _ in have[::len(have) // 8 + 1]]
        flags = [facts.sample(g, 4096).ne(0).any().to(look[0].device) for g in look]
        return later(int, torch.stack(flags).sum()) if flags else 0

    def zeroed(self) -> None:
        self.dropped, self.passes = self.dropped + len(self.passes), []

    # update
    def step_begin(self, opt: Any) -> None:
        if self.first() is None:
            self.first, self.fresh = weakref.ref(opt), facts.optimizer_facts([opt], False)
        elif self.first() is not opt:
            self.blind('several optimizers step: %s, %s' % (type(self.first()).__name__, type(opt).__name__))
        self.info = self.look(opt) if self.first() is opt else None

    def look(self, opt: Any) -> Any:
        params = [p for g in opt.param_groups for p in g['params']]
        info: Any = dict(opt=opt, params=params, versions=[p._version for p in params], backward={}, update={},
                         lr=next((float(g['lr']) for g in opt.param_groups if 'lr' in g), None))
        if self.deep():
            every, mine = list(self.pairs().values()), {id(p) for p in params}
            info['backward'] = self.gradients(every, mine, getattr(opt, 'grad_scale', None))
            info['marks'] = [(p, facts.mark(p)) for _, p in every if p.numel()]
        self.tick('update')
        return info

    def gradients(self, every: List[Any], mine: set, scale: Any) -> Dict[str, Any]:
        train = [(n, p) for n, p in every if p.requires_grad]
        norms = {n: float(facts.sample(p.grad, 0).float().norm()) for n, p in train if p.grad is not None}
        none = [n for n, p in train if p.grad is None and id(p) in mine]
        zero, bad = [n for n, x in norms.items() if x == 0], [n for n, x in norms.items() if not x < float('inf')]
        cold = [n for n, p in every if not p.requires_grad and p.grad is not None and bool(p.grad.ne(0).any())]
        self.graded |= {id(p) for n, p in train if norms.get(n)}
        return dict(gradients_missing=len(none), gradients_zero=len(zero), gradients_nonfinite=len(bad),
                    gradients_frozen=len(cold), tensors=len(every), trainable_tensors=len(train),
                    gradient_norm=sum(x * x for x in norms.values()) ** .5 / float(1 if scale is None else scale),
                    worst_tensor=next(iter(bad + none + zero + cold + sorted(norms, key=lambda n: -norms[n])), None),
                    declared_trainable=sum(any(fnmatchcase(n, f) for f in self.freeze) for n, _ in train)
                    if self.freeze else None)

    def changes(self, marks: List[Any]) -> Dict[str, Any]:
        out: Any = dict(changed=0, unchanged=0, frozen_changed=0, zero_changed=0, tied_apart=0)
        share, looked, steepest = 0, 0, max((m[4] for _, m in marks), default=0.0)
        for p, (few, used, top, was, steep) in marks:
            other = facts.sample(p, facts.FEW) != few
            if not p.requires_grad or id(p) not in self.graded:
                out['zero_changed' if p.requires_grad else 'frozen_changed'] += bool(other.any())
            elif used is not None:
                moved = float(p.detach().reshape(-1)[top]) != was
                out['changed' if moved else 'unchanged'] += moved or steep > 1e-6 * steepest    # not a mere rounding
                share, looked = share + int(other[used].sum()), looked + int(used.sum())
        for s in self.trained():
            now = {n: p.data_ptr() for n, p in facts.named(s['ref']())}
            out['tied_apart'] += sum(len({now.get(n) for n in names}) > 1 for names in s['tied'].values())
        if self.update > 3 and not self.full:
            out['zero_changed'] = None      # the gradients of the updates between are not known
        return dict(out, changed_share=share / looked if looked else None)

    def step_end(self) -> None:
        info, self.info = self.info, None
        if info is not None:
            self.tock('update', 'data')
            if self.fresh:
                self.new_optimizer(info['opt'])
            if 'marks' in info:
                info['update'] = dict(self.changes(info['marks']), **facts.optimizer_facts([info['opt']], self.full))
            self.finish(info, 0)
            if self.captured:
                captured, self.captured = self.captured, None
                checks.run(self, *captured)

    def scaler_end(self, update: int, opt: Any) -> None:
        if self.update == update and self.passes and opt is (self.first() or opt):
            self.skips += 1
            self.finish(self.look(opt), 1)

    def finish(self, info: Any, skipped: int) -> None:
        passes, one, deep, when = self.passes, (self.passes or [{}])[0], info['backward'], self.occurrence()
        count = sum(not i or 'seen' in p for i, p in enumerate(passes))
        touched = sum(p._version != v for p, v in zip(info['params'], info['versions']))
        seen = deep and info['lr'] and not info['update'].get('changed')       # some write without a trace of it
        if self.full:
            info['weights_digest'], info['optimizer_digest'] = self.weights(), info['update'].get('optimizer_digest')
        self.update += 1 - skipped
        more = dict(data={}, forward=dict(output_shape=one.get('out')), backward=deep, update=dict(
            info['update'], lr=info['lr'], attempted=self.update + self.skips, applied=self.update, skipped=self.skips))
        for name in () if skipped else more if when else ('backward', 'update') if deep else ():
            self.wire.emit('phase', phase=name, occurrence=when, update=self.update - 1, passes=count,
                           examples=sum(p.get('rows') or 0 for p in passes), micro_batch=one.get('rows'),
                           length=one.get('length'), device=str(self.device()), **self.spans.get(name, {}),
                           **more[name])
        now, norm = time.perf_counter(), self.norm if self.norm is not None else deep.get('gradient_norm')
        fields = dict(
            update=self.update, lr=info['lr'], passes=count, skipped=bool(skipped) or None, clip=self.clip,
            gradient_norm=later(float, norm) if isinstance(norm, Tensor) else norm, left_over=self.left,
            dropped_passes=self.dropped, tensors=len(info['params']), seconds=now - self.since,
            scheduler_calls=self.calls.get('schedule', 0), scaler_calls=self.calls.get('scale', 0),
            touched=touched if touched or seen else None, data_seconds=self.spans.get('data', {}).get('seconds'),
            weights_digest=info.get('weights_digest'), optimizer_digest=info.get('optimizer_digest'))
        self.grads = {id(p): (id(p.grad), p.grad._version) for p in info['params'] if p.grad is not None}
        self.left = self.clip = self.norm = None
        self.passes, self.dropped, self.calls, self.spans, self.phase, self.since = [], 0, {}, {}, 'data', now
        self.queue.append((fields, passes))
        self.write(1 if self.device().type == 'cuda' else 0)

    def write(self, keep: int) -> None:
        """The step records but the last `keep`, whose numbers may still be on their way."""
        while len(self.queue) > keep:
            fields, passes = self.queue.pop(0)
            passes = joined([{k: settle(v) for k, v in p.items()} for p in passes]) or [{}]
            last, rows, used = passes[-1], [p.get('rows') for p in passes], [p.get('supervised') for p in passes]
            known, ok = None not in used and sum(used) > 0, all(p.get('loss') is not None for p in passes)
            weights = used if known else rows if all(rows) else [1] * len(passes)
            losses = [p['loss'] for p in passes] if ok else []
            if last.get('reduction') == 'sum' and known:
                losses = [x / u if u else 0.0 for x, u in zip(losses, used)]
            batch, whole = [p.get('batch') for p in passes], all(rows)
            fields.update({k: passes[0].get(k) for k in (
                'loss_function', 'reduction', 'divisor', 'target_offset', 'target_match', 'padding_supervised')},
                loss=sum(x * w for x, w in zip(losses, weights)) / sum(weights) if ok else None,
                scale=last.get('scale'),
                rows=sum(rows) if whole else None, pass_rows=rows if whole else None, shape=last.get('shape'),
                output_shape=last.get('out'), supervised=sum(used) if known else None,
                pass_supervised=used if known else None, pass_divisors=[p.get('divisor') for p in passes],
                training=all(p.get('training', True) for p in passes),
                ignored=sum(p['targets'] for p in passes) - sum(used) if known else None,
                batch_digest=None if None in batch else batch[0] if len(batch) == 1 else facts.crc(batch),
                replicas=self.world() if self.world() > 1 else None)
            fields = {k: settle(v) for k, v in fields.items()}
            if self.wire.rank:
                keys = ('update', 'replicas', 'rows', 'loss', 'batch_digest', 'weights_digest')
                self.wire.emit('replica', rank=self.wire.rank, **{k: fields[k] for k in keys},
                               allocated_peak_bytes=facts.memory(self.device()).get('allocated_peak_bytes'))
            self.wire.emit('step', **fields)

    def weights(self) -> Any:
        model = self.trained()[0]['ref']()
        has = {id(p) for p in model.parameters()}
        return facts.weights_digest(model, [p for p in self.held() if id(p) not in has], self.full)

    # validation: forward passes without gradient, up to the next one with
    def val_enter(self, now: Any) -> None:
        if self.val is None:
            self.phase = 'validate'
            self.val = dict(seen=now['seen'], update=self.update, batches=0, rows=0, most=0, eval=True, losses=[],
                            before=self.versions(now['seen']), begin=time.perf_counter())
        v, rows = self.val, now['rows'] or 0
        v.update(batches=v['batches'] + 1, rows=v['rows'] + rows, last=rows, most=max(v['most'], rows),
                 eval=v['eval'] and not any(now['modes']))

    def val_leave(self, now: Any, out: Any) -> None:
        scalars = [t for t in facts.tensors(out) if t.dim() == 0 and t.is_floating_point()]
        self.val['losses'] += [(later(float, t), now['rows'] or 1, False) for t in scalars[:1]]
        self.val.update(after=self.versions(self.val['seen']), end=time.perf_counter())

    def val_loss(self, value: Any, args: Any, options: Any) -> None:
        """A loss computed outside of the model, of outputs without gradient."""
        if self.val is not None and not torch.is_grad_enabled() and value.dim() == 0 and len(args) > 1:
            used = later(int, args[1].ne(options.get('ignore_index', -100)).sum())
            self.val['losses'].append((later(float, value), used, options.get('reduction') == 'sum'))

    def versions(self, seen: Any) -> List[Any]:
        stats = [b for m in self.alive(seen['norm']) for b in m._buffers.values() if b is not None]
        states = [s for o in self.alive(self.optimizers) for st in o.state.values() for s in st.values()]
        return [[p._version for p in seen['ref']().parameters()], [b._version for b in stats],
                [s._version for s in states if isinstance(s, Tensor)], facts.random_states()]

    def val_end(self, training: Any) -> None:
        v, self.val = self.val, None
        if 'end' not in v or (v['seen']['number'] is None and self.update and v['batches'] == 1):
            return                          # another model's pass in each update, as a teacher's
        weights, buffers, optimizer, randoms = [a != b for a, b in zip(v['before'], v['after'])]
        values = [(settle(x), settle(n), total) for x, n, total in v['losses']]
        means, count = [x / max(n, 1) if total else x for x, n, total in values], sum(n for _, n, _ in values)
        both = dict(split='validation', update=v['update'], examples=v['rows'] or None, micro_batch=v['most'] or None,
                    loss=sum(m * x[1] for m, x in zip(means, values)) / count if count else None,
                    batch_mean_loss=sum(means) / len(means) if means else None, seconds=v['end'] - v['begin'])
        self.since += both['seconds']
        self.wire.emit('phase', phase='validate', batches=v['batches'], last_rows=v['last'], evaluation_mode=v['eval'],
                       training_mode_after=training, weights_changed=weights, buffers_changed=buffers,
                       optimizer_changed=optimizer, random_changed=randoms, device=str(v['seen']['device']),
                       **both, **facts.memory(v['seen']['device']))
        if means:
            self.wire.emit('eval', **both)

    # beginning and end
    def tell(self, training: Any) -> None:
        """What waited for the next thing to happen."""
        if self.val is not None:
            self.val_end(training)
        waiting, self.waiting = self.waiting, []
        for told in waiting:
            told()

    def start(self, ins: List[Tensor]) -> None:
        self.started = True
        if self.world() > 1:
            self.wire.rank = torch.distributed.get_rank()
        self.wire.release()
        self.tell_load()
        self.state('start', ins)
        self.since = time.perf_counter()

    def state(self, at: str, ins: List[Tensor]) -> None:
        opts, scaler = self.alive(self.optimizers), self.scaler()
        counts = [s.last_epoch for s in self.alive(self.schedules) if hasattr(s, 'last_epoch')]
        self.wire.emit('state', update=self.update, at=at, weights_digest=self.weights(),
                       schedule_count=counts[-1] if counts else None, batch_digest=settle(facts.digest(ins, self.full)),
                       scale=scaler.get_scale() if scaler is not None and scaler.is_enabled() else None,
                       lr=next((float(g['lr']) for o in opts for g in o.param_groups if 'lr' in g), None),
                       **facts.optimizer_facts(opts, self.full), **facts.random_states())

    def due(self) -> bool:
        if not self.asked or self.world() == 1:
            return self.asked or bool(self.limit and self.update >= self.limit)
        store = torch.distributed.distributed_c10d._get_default_store()
        if not self.proposed:           # replicas stop three updates after the last of them was asked
            self.proposed = True
            store.set('pilot/%d' % self.wire.rank, str(self.update + 3))
            store.add('pilot/asked', 1)
        ranks = range(self.world())
        return store.add('pilot/asked', 0) >= len(ranks) and \
            self.update >= max(int(store.get('pilot/%d' % r)) for r in ranks)

    def stop(self, ins: List[Tensor]) -> None:
        self.stops += 1
        if self.stops == 1:
            self.tell(None)
            self.write(0)
            self.state('stop', ins)
        if self.stops > 3:              # whoever swallows the end of the program does not hear it
            sys.stdout.flush()
            os._exit(0)
        raise SystemExit(0)

    def exit(self) -> None:
        if not self.stops:
            self.tell(None)
            self.write(0)
        self.tell(None)
        self.tell_load()
        for number in list(self.data):
            self.tell_loader(number)
        error = getattr(sys, 'last_value', None)
        launcher = type(error).__module__.startswith('torch.distributed')
        if isinstance(error, Exception) and not launcher:
            self.failed(self.phase, error)
        if not self.update and self.backwards + self.forwards:
            self.blind('no step of an optimizer was seen, of %d forward and %d backward passes' % (
                self.forwards, self.backwards))

    def failed(self, phase: str, error: BaseException) -> None:
        if id(error) == self.error:
            return
        self.error, message, now = id(error), str(error), self.now or {}      # itself it would hold memory
        self.wire.emit('failure', exception=type(error).__name__, message=message, phase=phase, update=self.update,
                       device='cpu' if 'CPU' in message else str(self.device()), rows=now.get('rows'),
                       shape=now.get('shape'))

    # files
    def saved(self, obj: Any, file: Any, existed: bool, seconds: float) -> None:
        path = facts.path_of(file)
        has = facts.holds(obj, {n: tuple(t.shape) for s in self.trained() for n, t in s['ref']().state_dict().items()})
        if not set(has) - {'count'} or (path is None and not hasattr(file, 'getbuffer')):
            return
        update, memory, into = self.update, facts.memory(self.device()), path
        inode, size = (os.stat(path).st_ino, 0) if path is not None else (0, file.getbuffer().nbytes)
        self.since += seconds
        if path is None and self.written is None:
            self.written = []
            sys.addaudithook(self.wire.guard(self.wrote))

        def told() -> None:
            path = into if into is not None else next(
                (p for p in self.written if os.path.isfile(p) and os.path.getsize(p) == size), None)
            if path != into:
                self.written = [p for p in self.written if p != path]
            if path is None:
                return self.blind('it saved into memory, and no file was written with that', 'save')
            near = os.scandir(os.path.dirname(path)) if not os.path.exists(path) else ()
            where = next((e.path for e in near if e.inode() == inode), path)     # renamed since
            same: Any = dict(update=update, path=where, bytes=os.path.getsize(where), seconds=seconds,
                             in_place=existed and where == path)
            self.wire.emit('save', holds=sorted(has), optimizer_count=has.get('optimizer'), **same)
            self.wire.emit('phase', phase='save', device=str(self.device()), **same, **memory)
        self.waiting.append(self.wire.guard(told))

    def wrote(self, event: str, args: Any) -> None:
        """Of what is saved into memory first, the file is found among those that were written to then."""
        writes = event == 'open' and (set('wxa+') & set(args[1]) if args[1] else args[2] & (os.O_WRONLY | os.O_RDWR))
        name = args[0] if writes else args[1] if event == 'os.rename' else None
        if isinstance(name, (str, os.PathLike)):
            self.written = self.written[-31:] + [os.path.abspath(os.fspath(name))]

    def loaded(self, obj: Any, file: Any, seconds: float) -> None:
        path, has, load = facts.path_of(file), facts.holds(obj, {}), self.load
        if has and path is not None:
            load['path'] = path if 'weights' in has else load.get('path', path)
            load['seconds'], load['holds'] = load.get('seconds', 0.0) + seconds, load.get('holds', set()) | set(has)

    def restored(self, what: str, **counts: Any) -> None:
        self.load['restored'] = self.load.get('restored', set()) | {what}
        if counts.get('matched', -1) >= self.load.get('matched', 0):
            self.load.update(counts)

    def tell_load(self) -> None:
        load, self.load = self.load, {}
        if load.get('restored') and load.get('path'):
            holds, restored, same = sorted(load.pop('holds')), sorted(load.pop('restored')), dict(update=self.update)
            self.wire.emit('load', holds=holds, restored=restored, **load, **same)
            if not self.update:
                self.wire.emit('phase', phase='resume', path=load['path'], restored_tensors=load.get('matched'), **same,
                               seconds=load['seconds'], device=str(self.device()), **facts.memory(self.device()))

    # data
    def drawn(self, it: Any, batch: Any, seconds: float) -> None:
        """A batch came out of a data loader, or (None) the pass over it ended."""
        p, sampler, data = self.loaders.get(it), it._index_sampler, it._dataset
        self.spans.setdefault('data', dict(seconds=0.0))['seconds'] += seconds
        if p is None or p['ended']:
            known = (n for n, q in self.data.items() if q['of'] == id(data))
            number = p['number'] if p else next(known, len(self.data))
            turn = self.tell_loader(number) + 1
            p = self.loaders[it] = self.data[number] = dict(
                number=number, turn=turn, ended=False, rows=0, order=[], forwards=self.forwards, of=id(data),
                fixed=dict(
                    name=type(data).__name__, examples=len(data) if it._dataset_kind == 0 else None,
                    micro_batch=getattr(sampler, 'batch_size', None), drop_last=it._drop_last, workers=it._num_workers,
                    sampler=type(getattr(sampler, 'sampler', sampler)).__name__, number=number, **{'pass': turn}))
            self.wire.emit('loader', event='begin', update=self.update, **p['fixed'])
        parts = [t for t in facts.tensors(batch) if t.dim()]
        p['ended'], p['rows'], p['until'] = batch is None, p['rows'] + (len(parts[0]) if parts else 0), self.forwards
        p['order'] += [settle(facts.digest(parts, self.full))] if batch is not None else []

    def tell_loader(self, number: int) -> int:
        """The end of the last pass over a loader, once it is sure what came of its last batches."""
        p = self.data.get(number, dict(turn=0, ended=False))
        if p['ended']:
            p['ended'], order = False, p['order']
            self.wire.emit('loader', event='end', update=self.update, batches=len(order), rows=p['rows'],
                           split='train' if p['until'] > p['forwards'] else 'validation',
                           order_digest=facts.crc(order), repeated=len(order) - len(set(order)),
                           waiting=len(self.passes), **p['fixed'])
        return p['turn']
