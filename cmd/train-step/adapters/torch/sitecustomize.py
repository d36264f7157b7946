"""Stands first on PYTHONPATH of a command that train-step runs: arms the adapter, then runs what it hides."""
import importlib.machinery
import importlib.util
import os
import sys


def arm() -> None:
    try:
        from pilot_torch import hooks
        hooks.arm()
    except Exception as error:      # the program comes first: it runs without the adapter
        sys.stderr.write('pilot: the adapter for torch is off: %r\n' % (error,))


def chain() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    path = [p for p in sys.path if os.path.abspath(p or '.') != here]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get('PILOT_RECORD_FD') or os.environ.get('PILOT_RECORD_PATH'):
    arm()
chain()
