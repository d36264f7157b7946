"""Lines to train-step: one JSON object in one write of at most 4096 bytes, from the process that trains alone."""
import functools
import json
import math
import multiprocessing
import os
from typing import Any, Callable, Dict, List, Optional

LIMIT = 4096
NEEDED = ('kind', 'update', 'name', 'phase', 'reason', 'exception', 'path', 'event', 'at', 'rank', 'split')
ANY_RANK = ('trainer', 'blind', 'replica', 'failure')
BARE = ('trainer', 'step', 'save', 'eval', 'failure', 'blind')      # with --evidence none
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
    def __init__(self, evidence: str) -> None:
        self.pid, self.fd, self.rank, self.evidence = os.getpid(), self.find(), 0, evidence
        self.held: Optional[List[tuple]] = []       # until it is sure that this process is the one
        self.faults: Dict[str, int] = {}
        self.hello: Callable[[], Dict[str, Any]] = dict

    @staticmethod
    def find() -> int:
        """The descriptor inherited, if it still is what the path names; else the path opened."""
        number, path = os.environ.get('PILOT_RECORD_FD', ''), os.environ.get('PILOT_RECORD_PATH', '')
        try:
            is_it = not path or os.path.samestat(os.fstat(int(number)), os.stat(path))
            return int(number) if is_it else os.open(path, os.O_WRONLY | os.O_APPEND)
        except (OSError, ValueError):
            return os.open(path, os.O_WRONLY | os.O_APPEND) if path else -1

    def here(self) -> bool:
        return self.fd >= 0 and os.getpid() == self.pid     # a forked worker stays silent

    def emit(self, kind: str, **fields: Any) -> None:
        if not self.here() or (self.evidence == 'none' and kind not in BARE):
            return
        if self.held is not None and multiprocessing.current_process().name != 'MainProcess':
            self.held = (self.held + [(kind, fields)])[-64:]    # a spawned worker, or a replica before it trains
            return
        self.begin()
        self.send(kind, fields)

    def begin(self) -> None:
        if self.held is not None:
            held, self.held = self.held, None
            for kind, fields in [('trainer', self.hello())] + held:
                self.send(kind, fields)

    def send(self, kind: str, fields: Dict[str, Any]) -> None:
        if not self.here() or (self.rank and kind not in ANY_RANK):
            return
        if self.evidence == 'none' and kind == 'step':
            fields = {k: v for k, v in fields.items() if k in BARE_STEP}
        line = {'kind': kind, **{k: plain(v) for k, v in fields.items() if v is not None}}
        data = json.dumps(line).encode() + b'\n'
        while len(data) > LIMIT:
            line.pop(max((k for k in line if k not in NEEDED), key=lambda k: len(json.dumps(line[k]))))
            data = json.dumps(line).encode() + b'\n'
        try:
            os.write(self.fd, data)
        except OSError:             # nobody reads any more: train on
            self.fd = -1

    def guard(self, hook: Callable) -> Callable:
        """A hook that fails says so once, and the training goes on."""
        @functools.wraps(hook)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return hook(*args, **kwargs) if self.here() else None
            except Exception as error:
                where = hook.__name__
                self.faults[where] = self.faults.get(where, 0) + 1
                if self.faults[where] == 1 and len(self.faults) < 8:
                    tb, line = error.__traceback__, 0
                    while tb is not None:
                        tb, line = tb.tb_next, tb.tb_lineno
                    self.emit('trainer', name='torch', fault='%s, line %d: %r' % (where, line, error))
                return None
        return guarded
