"""Lines to train-step: one JSON object in one write of at most 4096 bytes, of the process that trains."""
import functools, json, math, os, sys, threading
from typing import Any, Callable, Dict, List, Tuple

NEEDED = ('kind', 'update', 'name', 'phase', 'reason', 'exception', 'path', 'event', 'at', 'rank', 'split')
ANY_RANK = ('trainer', 'blind', 'replica', 'failure')
BARE = ('trainer', 'step', 'save', 'eval', 'failure', 'blind')      # with --evidence none, and of a step only
BARE_STEP = ('update', 'rows', 'loss', 'lr', 'seconds', 'skipped')

def plain(value: Any) -> Any:
    """The value as JSON can carry it."""
    if isinstance(value, float) and not math.isfinite(value):
        return 'NaN' if value != value else 'Infinity' if value > 0 else '-Infinity'
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value[:16]]
    if isinstance(value, (bool, int, float)):
        return value
    return str(value).encode('utf-8', 'replace').decode().replace('\0', '?')[:400]

class Wire:
    def __init__(self) -> None:
        number, path = os.environ.get('PILOT_RECORD_FD', ''), os.environ.get('PILOT_RECORD_PATH', '')
        try:                        # the descriptor inherited, if it still is what the path names
            mine = not path or os.path.samestat(os.fstat(int(number)), os.stat(path))
        except (OSError, ValueError):
            mine = False
        self.fd = int(number) if mine else os.open(path, os.O_WRONLY | os.O_APPEND) if path else -1
        self.evidence, self.rank = os.environ.get('PILOT_EVIDENCE') or 'basic', int(os.environ.get('RANK') or 0)
        self.pid, self.thread, self.faults = os.getpid(), threading.get_ident(), set()     # type: int, int, set
        self.held: List[Tuple] = []     # until it is sure that this process is the one
        self.sure, self.hello = False, dict     # type: bool, Callable[[], Dict[str, Any]]

    def here(self) -> bool:             # forked workers and other threads stay silent
        return self.fd >= 0 and os.getpid() == self.pid and threading.get_ident() == self.thread

    def emit(self, kind: str, **fields: Any) -> None:
        if not self.here() or (self.rank and kind not in ANY_RANK) or (self.evidence == 'none' and kind not in BARE):
            return
        if self.evidence == 'none' and kind == 'step':
            fields = {k: v for k, v in fields.items() if k in BARE_STEP}
        line = {'kind': kind, **{k: plain(v) for k, v in fields.items() if v is not None}}
        while len(json.dumps(line)) >= 4096:
            line.pop(max((k for k in line if k not in NEEDED), key=lambda k: len(json.dumps(line[k]))))
        self.held = (self.held + [line])[-64:]
        processes = sys.modules.get('multiprocessing.process')
        if self.sure or not processes or processes.current_process().name == 'MainProcess':
            self.release()

    def release(self) -> None:
        first = [] if self.sure else [{'kind': 'trainer', **{k: plain(v) for k, v in self.hello().items()}}]
        lines, self.held, self.sure = first + self.held, [], True
        try:
            for line in lines if self.here() else ():
                if not self.rank or line['kind'] in ANY_RANK:
                    os.write(self.fd, json.dumps(line).encode() + b'\n')
        except OSError:                 # nobody reads any more: train on
            self.fd = -1

    def guard(self, hook: Callable) -> Callable:
        """A hook that fails says so once, and the training goes on."""
        @functools.wraps(hook)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return hook(*args, **kwargs) if self.here() else None
            except Exception as error:
                tb, name = error.__traceback__, hook.__name__
                while tb is not None and tb.tb_next is not None:
                    tb = tb.tb_next
                if name not in self.faults:
                    self.faults.add(name)
                    self.emit('trainer', name='torch', fault='%s: line %d: %r' % (name, tb and tb.tb_lineno, error))
                return None
        return guarded
