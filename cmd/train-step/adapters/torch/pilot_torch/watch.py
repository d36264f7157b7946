"""What happened in the training so far, told to train-step update by update."""
import os
import sys
import time
import weakref
from fnmatch import fnmatchcase
from typing import Any, Dict, List, Optional
import torch
from . import checks, facts
from .facts import later, settle
from .wire import Wire

class Watch:
    def __init__(self, wire: Wire) -> None:
        self.wire, self.full, self.none = wire, wire.evidence == 'full', wire.evidence == 'none'
        self.limit, self.cold = int(os.environ.get('PILOT_UPDATES') or 0), os.environ.get('PILOT_CONTROL') == 'cold'
        self.freeze = [p for p in os.environ.get('PILOT_FREEZE', '').split(',') if p]
        self.busy = self.asked = self.started = self.proposed = False
        self.update = self.skips = self.raised = self.dropped = self.backwards = self.forwards = 0
        self.models, self.spans, self.load, self.calls = {}, {}, {}, {}    # type: Any, Any, Any, Any
        self.optimizers: List[Any] = []         # weak, as are the schedules, in the order of their making
        self.schedules: List[Any] = []
        self.passes: List[Dict[str, Any]] = []
        self.queue: List[Any] = []              # steps on a device, written one update late
        self.waiting: List[Any] = []            # saves and loader ends, told when the next thing happens
        self.open: Any = None                   # the forward pass that waits for its backward
        self.val: Any = None
        self.stepper = self.scaler = self.captured = self.left = self.clip = self.norm = self.error = None  # type: Any
        self.grads, self.graded, self.blinds = {}, set(), set()     # type: Any, Any, Any
        self.phase, self.mark, self.since = 'load', 0.0, 0.0
        self.loaders, self.numbers, self.turns, self.ends = weakref.WeakKeyDictionary(), {}, {}, []     # type: Any, Any, Any, Any
        self.entered, self.set_state = None, {}     # type: Any, Any

    def later(self, value: Any) -> Any:
        return later(float, value)

    def blind(self, reason: str) -> None:
        if reason not in self.blinds:
            self.blinds.add(reason)
            self.wire.emit('blind', phase='all', reason=reason)

    def alive(self, refs: List[Any]) -> List[Any]:
        return [o for o in (r() for r in refs) if o is not None]

    def known(self, module: Any) -> Any:
        """What is known of a model, by its outermost module; None where it has nothing to train."""
        seen = self.models.get(id(module))
        if seen is None or seen['outer']() is not module:
            inner, wrapper = facts.bare(module)
            pairs, (drop, norm) = list(inner.named_parameters()), facts.layers(inner)
            norm = [m for m in norm if m.weight is None or m.weight.requires_grad]
            seen = self.models[id(module)] = dict(
                outer=weakref.ref(module), ref=weakref.ref(inner), wrapper=wrapper or None, number=None, mode=True,
                drop=[weakref.ref(m) for m in drop], norm=[weakref.ref(m) for m in norm], pairs=len(pairs),
                device=pairs[0][1].device if pairs else torch.device('cpu'),
                trains=any(p.requires_grad for _, p in pairs))
        return seen if seen['trains'] else None

    def trained(self) -> List[Any]:
        return sorted((s for s in self.models.values() if s['number'] is not None and s['ref']() is not None),
                      key=lambda s: s['number'])

    def tick(self) -> None:
        self.sync(True)
        self.mark = time.perf_counter()

    def tock(self, phase: str) -> None:
        self.sync(False)
        span = self.spans.setdefault(phase, dict(seconds=0.0, passes=0))
        span['seconds'] += time.perf_counter() - self.mark
        span['passes'] += 1
        if self.occurrence() and span['passes'] == 1:
            span.update(facts.memory(self.device()))

    def sync(self, reset: bool) -> None:
        if self.occurrence() and self.device().type == 'cuda':
            torch.cuda.synchronize(self.device())
            if reset:
                torch.cuda.reset_peak_memory_stats(self.device())

    def device(self) -> torch.device:
        return next((s['device'] for s in self.trained()), torch.device('cpu'))

    def occurrence(self) -> Optional[str]:
        return None if self.none else {0: 'first', 2: 'steady'}.get(self.update)

    def deep(self) -> bool:
        n = self.update + 1
        return not self.none and (self.full or n == 3 or n & (n - 1) == 0)

    # forward
    def enter(self, module: Any, inputs: Any) -> Any:
        seen = self.known(module)
        if seen is None:
            return None
        ins = [t for t in facts.tensors(inputs) if t.dim()]
        seen = dict(seen, ins=ins, rows=int(ins[0].shape[0]) if ins else None, entry=self.models[id(module)])
        if not torch.is_grad_enabled():
            return self.val_enter(seen)
        self.wire.begin()
        if self.due() and (module.training or not seen['entry']['mode']):
            self.stop(ins)
        self.tell(seen)
        if seen['number'] is None:
            self.new_model(seen['entry'])
        if not self.started:
            self.start(ins)
        self.phase = 'forward'
        seen.update(training=all(self.modes(seen, module)), batch=None if self.none else facts.digest(ins, self.full))
        if self.full and self.update == 0 and not self.passes:
            self.captured = (seen['ref'](), inputs, seen['rows'])
        self.forwards += 1
        self.tick()
        return seen

    def leave(self, module: Any, seen: Any, out: Any) -> None:
        if 'batch' not in seen:
            return self.val_leave(seen, out)
        self.tock('forward')
        outs = facts.tensors(out)
        ids = [t for t in seen['ins'] if t.dim() == 2 and not t.is_floating_point()]
        new = dict(rows=seen['rows'], shape=list(seen['ins'][0].shape) if seen['ins'] else None, batch=seen['batch'],
                   training=seen['training'], mode=module.training, outer=id(module), entry=seen['entry'],
                   ids=ids[0] if ids and self.deep() else None, length=ids[0].shape[1] if ids else None,
                   out=max((list(t.shape) for t in outs), key=len, default=None))
        if self.open is None or self.open['outer'] == id(module) or self.open['mode'] != module.training:
            self.open = new

    def modes(self, seen: Any, module: Any) -> List[bool]:
        return [m.training for m in self.alive(seen['drop'] + seen['norm'])] or [module.training]

    def new_model(self, entry: Any) -> None:
        entry['number'], model = len(self.trained()), entry['ref']()
        every = [p for _, p in model.named_parameters()]
        entry['tied'] = {}
        for name, p in facts.named(model):
            entry['tied'].setdefault(p.data_ptr(), []).append(name)
        self.wire.emit('model', name=type(model).__name__, number=entry['number'], wrapper=entry['wrapper'],
                       tensors=len(every), trainable_tensors=sum(p.requires_grad for p in every),
                       parameters=sum(p.numel() for p in every), device=str(entry['device']),
                       trainable_parameters=sum(p.numel() for p in every if p.requires_grad),
                       frozen=[n for n, p in model.named_parameters() if not p.requires_grad][:8],
                       buffers=len(list(model.buffers())), dropout_layers=len(entry['drop']),
                       norm_layers=len(facts.layers(model)[1]), precision=str(every[0].dtype).split('.')[-1],
                       weights_digest=facts.weights_digest(model, [], self.full), equal_apart=facts.equal_apart(model))

    # backward
    def backward_begin(self, roots: Any) -> None:
        root = roots if isinstance(roots, torch.Tensor) else list(roots)[0]
        self.phase = 'backward'
        if not self.passes:
            self.left = self.left_over()
        one, scaler = self.open or {}, self.scaler and self.scaler()
        scale = scaler._scale if scaler is not None and scaler.is_enabled() else None
        one.update(facts.loss_facts(root, scale), loss=later(float, root) if root.numel() == 1 else None)
        one['scale'] = later(float, scale) if one['scaled'] else None
        ids, target = one.pop('ids', None), one.pop('target', None)
        if ids is not None and target is not None and not self.passes:
            one.update(facts.token_facts(ids, target, one.get('ignore')))
        if 'entry' in one:
            one['entry']['mode'] = one['mode']
        self.passes.append(one)
        self.open = None
        self.backwards += 1
        self.tick()

    def backward_end(self) -> None:
        self.tock('backward')
        self.phase = 'update'

    def held(self) -> List[torch.Tensor]:
        return [p for o in self.alive(self.optimizers) for g in o.param_groups for p in g['params']]

    def left_over(self) -> Any:
        """Gradients from before: whoever was not written to since the step, and a few of the others."""
        have = [(p.grad, self.grads.get(id(p))) for p in self.held() if p.grad is not None and p.grad.numel()]
        same = [g for g, was in have if was == (id(g), g._version)]
        look = [g for g, _ in have] if self.deep() else same or [g for g, _ in have[::len(have) // 8 + 1]]
        if not look:
            return 0
        return later(int, torch.stack([facts.sample(g, 4096).ne(0).any().to(self.device()) for g in look]).sum())

    # update
    def step_begin(self, opt: Any) -> Any:
        first = self.stepper and self.stepper()
        if first is not None and first is not opt:
            return self.blind('several optimizers step: %s and %s' % (type(first).__name__, type(opt).__name__))
        params = [p for g in opt.param_groups for p in g['params']]
        info = dict(opt=opt, params=params, versions=[p._version for p in params], count=None,
                    lr=[float(g['lr']) for g in opt.param_groups if 'lr' in g])
        if first is None:
            self.stepper = weakref.ref(opt)
            self.new_optimizer(opt, params)
        if self.deep():
            info['pairs'] = {id(p): (n, p) for s in self.trained() for n, p in s['ref']().named_parameters()}
            info['backward'] = self.gradients(info)
            info['marks'] = [(p, facts.mark(p)) for _, p in info['pairs'].values() if p.numel()]
        self.phase = 'update'
        self.tick()
        return info

    def new_optimizer(self, opt: Any, params: List[Any]) -> None:
        names = {id(p): (n, p) for s in self.trained() for n, p in s['ref']().named_parameters()}
        held = {id(p) for p in self.held()}
        out = [n for i, (n, p) in names.items() if p.requires_grad and i not in held]
        groups = opt.param_groups
        self.wire.emit('optimizer', name=type(opt).__name__, groups=len(groups), tensors=len(params),
                       number=self.alive(self.optimizers).index(opt), lr=[float(g['lr']) for g in groups if 'lr' in g],
                       weight_decay=[g['weight_decay'] for g in groups if 'weight_decay' in g], uncovered=len(out),
                       uncovered_names=out[:8], strangers=sum(id(p) not in names for p in params),
                       count=facts.optimizer_facts([opt], False)['optimizer_count'])

    def gradients(self, info: Any) -> Dict[str, Any]:
        mine, every = {id(p) for p in info['params']}, list(info['pairs'].values())
        train = [(n, p) for n, p in every if p.requires_grad]
        have = [(n, p) for n, p in train if p.grad is not None]
        norms = [float(facts.sample(p.grad, 0).float().norm()) for _, p in have]
        none = [n for n, p in train if p.grad is None and id(p) in mine]
        zero = [n for (n, _), x in zip(have, norms) if x == 0]
        bad = [n for (n, _), x in zip(have, norms) if not x < float('inf')]
        cold = [n for n, p in every if not p.requires_grad and p.grad is not None and bool(p.grad.ne(0).any())]
        top = [n for (n, _), x in zip(have, norms) if norms and x == max(norms)]
        self.graded |= {id(p) for (_, p), x in zip(have, norms) if x != 0}
        scale = getattr(info['opt'], 'grad_scale', None)
        return dict(gradients_missing=len(none), gradients_zero=len(zero), gradients_nonfinite=len(bad),
                    gradients_frozen=len(cold), worst_tensor=(bad + none + zero + cold + top + [None])[0],
                    gradient_norm=sum(x * x for x in norms) ** .5 / float(scale if scale is not None else 1),
                    tensors=len(every), trainable_tensors=len(train),
                    declared_trainable=sum(any(fnmatchcase(n, f) for f in self.freeze) for n, _ in train)
                    if self.freeze else None)

    def step_end(self, info: Any) -> None:
        self.tock('update')
        self.update += 1
        if 'marks' in info:
            self.update -= 1
            info['update'] = self.changes(info)
            self.update += 1
        self.finish(info, False)
        if self.captured:
            checks.run(self, *self.captured)
            self.captured = None

    def changes(self, info: Any) -> Dict[str, Any]:
        out: Any = dict(changed=0, unchanged=0, frozen_changed=0, zero_changed=0)
        share, looked = 0, 0
        for p, (few, used, top) in info['marks']:
            now = facts.sample(p, facts.FEW)
            other = bool((now != few).any())
            if not p.requires_grad:
                out['frozen_changed'] += other
            elif id(p) not in self.graded:
                out['zero_changed'] += other
            elif top is not None and top[2]:
                moved = float(p.detach().reshape(-1)[top[0]]) != top[1]
                out['changed' if moved else 'unchanged'] += 1
                share, looked = share + int((now != few)[used].sum()), looked + int(used.sum())
        if self.update > 3 and not self.full:
            out.pop('zero_changed')         # what the gradients between were is not known
        apart = 0
        for s in self.trained():
            now = {n: p.data_ptr() for n, p in facts.named(s['ref']())}
            apart += sum(len({now.get(n) for n in names}) > 1 for names in s['tied'].values() if len(names) > 1)
        return dict(out, tied_apart=apart, changed_share=share / looked if looked else None)

    def finish(self, info: Any, skipped: bool) -> None:
        passes, self.passes = self.passes, []
        opt, touched = info['opt'], sum(p._version != v for p, v in zip(info['params'], info['versions']))
        state = facts.optimizer_facts([opt], self.full) if 'backward' in info or self.full else {}
        fields = dict(update=self.update, lr=(info['lr'] or [None])[0], passes=len(passes), skipped=skipped or None,
                      clip=self.clip, gradient_norm=self.norm, left_over=self.left, dropped_passes=self.dropped,
                      scheduler_calls=self.calls.pop('schedule', 0), scaler_calls=self.calls.pop('scale', 0),
                      touched=touched if touched or skipped or 'backward' in info else None,
                      tensors=len(info['params']), seconds=time.perf_counter() - self.since if self.since else None,
                      data_seconds=self.spans.get('data', {}).get('seconds'))
        if self.device().type == 'cpu':
            fields.update({k + '_seconds': self.spans[k]['seconds'] for k in ('forward', 'backward', 'update')
                           if k in self.spans})
        if self.full:
            fields['optimizer_digest'] = state['optimizer_digest']
            fields['weights_digest'] = self.weights()
        deep, one = info.get('backward') or {}, passes[0] if passes else {}
        fields['gradient_norm'] = self.norm if self.norm is not None else deep.get('gradient_norm')
        self.update -= not skipped
        when = self.occurrence()
        self.update += not skipped
        rows = sum(p.get('rows') or 0 for p in passes)
        more: Any = dict(data={}, forward=dict(output_shape=one.get('out')), backward=deep, update=dict(
            info.get('update') or {}, optimizer_count=state.get('optimizer_count'), lr=fields['lr'],
            attempted=self.update + self.skips, applied=self.update, skipped=self.skips))
        for name in more if (when or deep) and not skipped else ():
            span = dict(self.spans.get(name, {}))
            span.pop('passes', None)
            if when or name in ('backward', 'update'):
                self.wire.emit('phase', phase=name, occurrence=when, update=self.update - 1, passes=len(passes),
                               micro_batch=one.get('rows'), length=one.get('length'), examples=rows,
                               device=str(self.device()), **dict(span, **more[name]))
        self.queue.append((fields, passes))
        while len(self.queue) > (self.device().type == 'cuda'):
            self.write(*self.queue.pop(0))
        self.left, self.clip, self.norm, self.dropped, self.spans = None, None, None, 0, {}
        self.grads = {id(p): (id(p.grad), p.grad._version) for p in info['params'] if p.grad is not None}
        self.phase, self.since = 'data', time.perf_counter()

    def write(self, fields: Any, passes: List[Any]) -> None:
        passes = [{k: settle(v) for k, v in p.items()} for p in passes]
        last, rows = passes[-1] if passes else {}, [p.get('rows') for p in passes]
        used = [p.get('supervised') for p in passes]
        ok = passes and all(p.get('loss') is not None for p in passes)
        known = ok and all(u is not None for u in used) and sum(used) > 0
        weights = used if known else rows if ok and all(rows) else [1] * len(passes)
        losses = [p['loss'] / (p['scale'] or 1) * p['divisor'] for p in passes] if ok else []
        if last.get('reduction') == 'sum' and known:
            losses = [x / u if u else 0.0 for x, u in zip(losses, used)]
        fields.update(loss=sum(x * w for x, w in zip(losses, weights)) / sum(weights) if ok else None,
                      rows=sum(rows) if all(rows) else None, shape=last.get('shape'), output_shape=last.get('out'),
                      pass_rows=rows if all(rows) else None, pass_supervised=used if known else None,
                      supervised=sum(used) if known else None, scale=last.get('scale'),
                      ignored=sum(p['targets'] for p in passes) - sum(used) if known else None,
                      divisor=last.get('divisor'), batch_digest=self.batch(passes),
                      training=all(p.get('training', True) for p in passes) if passes else None)
        fields.update({k: p[k] for p in passes[:1] for k in
                       ('loss_function', 'reduction', 'target_offset', 'target_match', 'padding_supervised') if k in p})
        fields = {k: settle(v) for k, v in fields.items()}
        if self.world() > 1:
            fields['replicas'] = self.world()
        if self.wire.rank:
            fields['rank'] = self.wire.rank
            peak = facts.memory(self.device()).get('allocated_peak_bytes')
            return self.wire.emit('replica', allocated_peak_bytes=peak, **{k: fields.get(k) for k in (
                'rank', 'update', 'replicas', 'rows', 'loss', 'batch_digest', 'weights_digest')})
        self.wire.emit('step', **fields)

    def batch(self, passes: List[Any]) -> Optional[str]:
        all_of = [p.get('batch') for p in passes]
        return None if None in all_of or not all_of else all_of[0] if len(all_of) == 1 else facts.text_crc(all_of)

    def weights(self) -> Optional[str]:
        model = next((s['ref']() for s in self.trained()), None)
        if model is None:
            return None
        has = {id(p) for p in model.parameters()}
        return facts.weights_digest(model, [p for p in self.held() if id(p) not in has], self.full)

    def zeroed(self) -> None:
        self.dropped, self.passes = self.dropped + len(self.passes), []

    def skipped(self, opt: Any) -> None:
        self.skips += 1
        params = [p for g in opt.param_groups for p in g['params']]
        self.finish(dict(opt=opt, params=params, versions=[p._version for p in params],
                         lr=[float(g['lr']) for g in opt.param_groups if 'lr' in g]), True)

    # validation
    def val_enter(self, seen: Any) -> Any:
        entry = seen['entry']
        if self.val is None:
            self.phase = 'validate'
            self.val = dict(update=self.update, batches=0, rows=0, losses=[], modes=True, entry=entry, before=self.versions(entry),
                            random=facts.random_states(), begin=time.perf_counter(), seconds=0.0, length=None)
        v = self.val
        v['batches'], v['rows'], v['last'] = v['batches'] + 1, v['rows'] + (seen['rows'] or 0), seen['rows']
        v['most'] = max(v.get('most') or 0, seen['rows'] or 0)
        v['modes'] &= not any(m.training for m in self.alive(entry['drop'] + entry['norm']))
        ids = [t for t in seen['ins'] if not t.is_floating_point()]
        v['length'] = ids[0].shape[1] if ids and ids[0].dim() == 2 else None
        if len(ids) > 1:
            v['used'] = torch.stack([t.ge(0).sum() for t in ids]).min()
        return seen

    def val_leave(self, seen: Any, out: Any) -> None:
        v = self.val
        loss = [t for t in facts.tensors(out) if t.dim() == 0 and t.is_floating_point()]
        if loss:
            v['losses'].append((later(float, loss[0]), later(int, v['used']) if 'used' in v else seen['rows'] or 1))
        v['end'], v['after'], v['random_after'] = time.perf_counter(), self.versions(v['entry']), facts.random_states()

    def val_loss(self, value: Any, args: Any, reduction: str, ignore: Any) -> None:
        """A loss computed outside of the model, of outputs that need no gradient."""
        if self.val is not None and isinstance(value, torch.Tensor) and value.dim() == 0 and len(args) > 1:
            target = args[1]
            used = target.numel() if target.is_floating_point() else later(int, target.ne(ignore).sum())
            self.val['losses'].append((later(float, value), used, reduction))

    def versions(self, entry: Any) -> Any:
        model = entry['ref']()
        stats = [b for m in self.alive(entry['norm']) for b in m._buffers.values() if b is not None]
        states = [s for o in self.alive(self.optimizers) for st in o.state.values() for s in st.values()]
        return ([p._version for p in model.parameters()], [b._version for b in stats],
                [s._version for s in states if isinstance(s, torch.Tensor)])

    def val_end(self, training: Optional[bool]) -> None:
        v, self.val = self.val, None
        if v is None or 'end' not in v or (v['entry']['number'] is None and self.update and v['batches'] == 1):
            return
        changed = [a != b for a, b in zip(v['before'], v['after'])]
        seconds = v['end'] - v['begin']
        self.since += seconds if self.since else 0
        values = [(settle(x[0]), settle(x[1]), len(x) > 2 and x[2] == 'sum') for x in v['losses']]
        means = [x / max(n, 1) if total else x for x, n, total in values]
        weight = sum(n for _, n, _ in values)
        loss = sum(m * n for m, (_, n, _) in zip(means, values)) / weight if weight else None
        mean = sum(means) / len(means) if means else None
        self.wire.emit('phase', phase='validate', update=v['update'], batches=v['batches'], examples=v['rows'] or None,
                       last_rows=v['last'], micro_batch=v['most'] or None, length=v['length'], loss=loss, batch_mean_loss=mean,
                       evaluation_mode=v['modes'], training_mode_after=training, weights_changed=changed[0],
                       buffers_changed=changed[1], optimizer_changed=changed[2], seconds=seconds,
                       random_changed=v['random'] != v['random_after'], split='validation',
                       device=str(v['entry']['device']), **facts.memory(v['entry']['device']))
        if loss is not None:
            self.wire.emit('eval', split='validation', update=v['update'], examples=v['rows'] or None, loss=loss,
                           batch_mean_loss=mean, micro_batch=v['most'] or None, length=v['length'], seconds=seconds)

    # beginning, stopping, ending
    def tell(self, seen: Any) -> None:
        """What waited for the next thing to happen."""
        if self.val is not None:
            self.val_end(all(self.modes(seen, seen['outer']())) if seen else None)
        for told in self.waiting:
            told()
        self.waiting = []

    def state(self, at: str, ins: List[torch.Tensor]) -> None:
        opts = self.alive(self.optimizers)
        last = [s.last_epoch for s in self.alive(self.schedules) if hasattr(s, 'last_epoch')]
        scaler = self.scaler and self.scaler()
        self.wire.emit('state', update=self.update, at=at, weights_digest=self.weights(),
                       schedule_count=last[-1] if last else None, batch_digest=settle(facts.digest(ins, self.full)),
                       scale=scaler.get_scale() if scaler is not None and scaler.is_enabled() else None,
                       lr=next((float(g['lr']) for o in opts for g in o.param_groups if 'lr' in g), None),
                       **facts.optimizer_facts(opts, self.full), **facts.random_states())

    def start(self, ins: List[torch.Tensor]) -> None:
        self.started = True
        self.tell_load(True)
        self.state('start', ins)
        self.since = time.perf_counter()

    def tell_load(self, resume: bool) -> None:
        load, self.load = self.load, {}
        if load.get('restored') and load.get('path'):
            words = dict(path=load['path'], seconds=load.get('seconds'))
            self.wire.emit('load', update=self.update, restored=sorted(load['restored']), holds=sorted(load['holds']),
                           **words, **{k: load.get(k) for k in ('matched', 'missing', 'unexpected')})
            if resume:
                self.wire.emit('phase', phase='resume', update=self.update, restored_tensors=load.get('matched'),
                               device=str(self.device()), **words, **facts.memory(self.device()))

    def due(self) -> bool:
        if self.asked and self.world() > 1 and not self.stop_at():
            return False
        return self.asked or bool(self.limit and self.update >= self.limit)

    def world(self) -> int:
        dist = torch.distributed
        return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1

    def stop_at(self) -> bool:
        """The update at which all replicas stop that were asked to: three after the last of them heard it."""
        store = torch.distributed.distributed_c10d._get_default_store()
        if not self.proposed:
            self.proposed = True
            store.set('pilot/%d' % self.wire.rank, str(self.update + 3))
            store.add('pilot/asked', 1)
        ranks = range(self.world())
        return store.add('pilot/asked', 0) >= len(ranks) and \
            self.update >= max(int(store.get('pilot/%d' % r)) for r in ranks)

    def stop(self, ins: List[torch.Tensor]) -> None:
        self.raised += 1
        if self.raised == 1:
            self.tell(None)
            self.flush()
            self.state('stop', ins)
        if self.raised > 3:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        raise SystemExit(0)

    def flush(self) -> None:
        while self.queue:
            self.write(*self.queue.pop(0))

    def exit(self) -> None:
        if not self.raised:
            self.tell(None)
            self.flush()
        self.tell_loaders()
        self.tell_load(False)
        error = getattr(sys, 'last_value', None)
        if isinstance(error, Exception):
            self.failed(self.phase, error)
        if not self.update and (self.backwards or self.forwards):
            self.blind('no optimizer step was seen: %d forward and %d backward passes' % (self.forwards, self.backwards))

    def failed(self, phase: str, error: BaseException) -> None:
        if error is self.error:
            return
        self.error, message = error, str(error)
        memory = isinstance(error, MemoryError) or type(error).__name__ == 'OutOfMemoryError' or bool(facts.OUT.search(message))
        asked = facts.ASKED.search(message) if memory else None
        unit = asked and asked.group(2)[0].upper()
        one = self.open or (self.passes[-1] if self.passes else {})
        if self.entered:
            one = self.entered
        self.wire.emit('failure', exception=type(error).__name__, message=message, phase=phase, update=self.update,
                       memory=memory, device='cpu' if 'CPU' in message else str(self.device()), rows=one.get('rows'), shape=one.get('shape'),
                       asked_bytes=int(float(asked.group(1)) * 1024 ** 'BKMGT'.index(unit)) if asked else None)

    # files
    def saved(self, obj: Any, path: Any, existed: bool, seconds: float) -> None:
        path = path if isinstance(path, (str, os.PathLike)) else getattr(path, 'name', None)
        shapes = {n: tuple(t.shape) for s in self.trained() for n, t in s['ref']().state_dict().items()}
        has = facts.holds(obj, shapes)
        if not isinstance(path, (str, os.PathLike)) or not set(has) - {'count'}:
            return
        path, update = os.path.abspath(os.fspath(path)), self.update
        inode = os.stat(path).st_ino
        memory = facts.memory(self.device())
        self.since += seconds if self.since else 0

        def told() -> None:
            where = path
            if not os.path.exists(path):        # it was renamed since
                around = os.path.dirname(path)
                where = next((e.path for e in os.scandir(around) if e.inode() == inode), path)
            bytes_ = os.path.getsize(where)
            self.wire.emit('save', update=update, path=where, bytes=bytes_, seconds=seconds, holds=sorted(has),
                           in_place=existed and where == path, optimizer_count=has.get('optimizer'))
            self.wire.emit('phase', phase='save', update=update, path=where, bytes=bytes_, seconds=seconds,
                           in_place=existed and where == path, device=str(self.device()), **memory)
        self.waiting.append(told)

    def loaded(self, obj: Any, path: Any, seconds: float) -> None:
        path = path if isinstance(path, (str, os.PathLike)) else getattr(path, 'name', None)
        has = facts.holds(obj, {})
        if has and isinstance(path, (str, os.PathLike)):
            if 'weights' in has or 'path' not in self.load:
                self.load['path'] = os.path.abspath(os.fspath(path))
            self.load.setdefault('holds', set()).update(has)
            self.load['seconds'] = self.load.get('seconds', 0.0) + seconds

    def restored(self, what: str, **counts: Any) -> None:
        self.load.setdefault('restored', set()).add(what)
        if counts.get('matched', 0) >= self.load.get('matched', 0):
            self.load.update(counts)

    # data
    def drawn(self, it: Any, batch: Any, seconds: float) -> None:
        """A batch came out of a data loader, or (None) the pass over it ended."""
        span = self.spans.setdefault('data', dict(seconds=0.0, passes=0))
        span['seconds'] += seconds
        p = self.loaders.get(it)
        if p is None or p['ended']:
            self.tell_loaders()
            sampler, data = it._index_sampler, it._dataset
            number = self.numbers.setdefault(id(data), len(self.numbers))
            turn = self.turns[number] = self.turns.get(number, 0) + 1
            p = self.loaders[it] = dict(ended=False, rows=0, order=[], forwards=self.forwards, fixed=dict(
                number=number, name=type(data).__name__, examples=len(data) if it._dataset_kind == 0 else None,
                micro_batch=getattr(sampler, 'batch_size', None), drop_last=it._drop_last, workers=it._num_workers,
                sampler=type(getattr(sampler, 'sampler', sampler)).__name__, **{'pass': turn}))
            self.wire.emit('loader', event='begin', update=self.update, **p['fixed'])
        if batch is None:
            p['ended'] = True
            self.ends.append(dict(p))
        else:
            parts = [t for t in facts.tensors(batch) if t.dim()]
            p['order'].append(settle(facts.digest(parts, self.full)))
            p['rows'] += int(parts[0].shape[0]) if parts else 0

    def tell_loaders(self) -> None:
        ends, self.ends = self.ends, []
        for p in ends:
            order, trained = p['order'], self.forwards > p['forwards']
            self.wire.emit('loader', event='end', update=self.update, split='train' if trained else 'validation',
                           batches=len(order), rows=p['rows'], order_digest=facts.text_crc(order),
                           repeated=len(order) - len(set(order)), waiting=len(self.passes), **p['fixed'])
