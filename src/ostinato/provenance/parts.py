"""Which part of an algorithm a call belongs to: what a frame tells about what it makes."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FrameType

from ostinato.pdg.origin import ENVIRONMENT, MODEL, OPTIMIZER

_FOLDERS = {"optim": OPTIMIZER, "nn": MODEL}  # of this package
_folders: dict[str, str] = {}


def part_in(frame: FrameType, package: str) -> str:
    """The part that a frame's function is of; "" if it tells nothing.

    Functions of the optimizers and of the layers are; so are the methods of what has all that
    makes an environment or a distribution, and the call of a module, wherever they are written.
    """
    code = frame.f_code
    path = code.co_filename
    found = _folders.get(path)
    if found is None:
        inside = path[len(package) :] if path.startswith(package) else ""
        found = _folders[path] = _FOLDERS.get(inside.partition(os.sep)[0], "")
    if found:
        return found
    test = _METHODS.get(code.co_name)
    if test is None or not code.co_argcount:
        return ""
    own: object = frame.f_locals.get(code.co_varnames[0])
    return test(type(own))


def _environment(kind: type) -> str:
    return ENVIRONMENT if all(hasattr(kind, name) for name in _GAME) else ""


def _distribution(kind: type) -> str:
    return MODEL if all(hasattr(kind, name) for name in ("sample", "log_prob")) else ""


def _module(kind: type) -> str:
    known = ("ostinato.nn.module",)  # by name: nobody who has no modules loads them
    return MODEL if any(each.__module__ in known for each in kind.__mro__) else ""


_GAME = ("reset", "observe", "step")
_METHODS: dict[str, Callable[[type], str]] = {
    **dict.fromkeys(_GAME, _environment),
    **dict.fromkeys(("sample", "log_prob", "entropy"), _distribution),
    "__call__": _module,
}
