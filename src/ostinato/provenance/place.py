"""Where in the user's program a value was made."""

from __future__ import annotations

import dataclasses
import inspect
import linecache
import os
from collections.abc import Callable
from types import FrameType

import numpy as np

from ostinato.pdg.origin import ENVIRONMENT, MODEL, OPTIMIZER, Place
from ostinato.pdg.plaintext import plain

_FOLDERS = {"optim": OPTIMIZER, "nn": MODEL}  # of this package
_folders: dict[str, str] = {}


def part_in(frame: FrameType) -> str:
    """The part that a frame's function is of; "" if it tells nothing.

    Functions of the optimizers and of the layers are; so are the methods of what has all that
    makes an environment or a distribution, and the call of a module, wherever they are written.
    """
    code = frame.f_code
    path = code.co_filename
    found = _folders.get(path)
    if found is None:
        inside = path[len(_PACKAGE) :] if path.startswith(_PACKAGE) else ""
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


_LIBRARY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_REPLACING = os.path.abspath(dataclasses.__file__)  # makes records for others
_IMPORTING = "<frozen importlib"  # asks a module for the names that a file imports
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_COMMANDS = os.path.join(_PACKAGE, "cli", "")  # what calls them is no program of a user
# Of the check in front of every public function.
_SURFACE = os.path.join(_PACKAGE, "language", "surface.py")
_OUTWARD = 8  # frames of the user's that may say what is being made
_shown: dict[str, str] = {}


def calling_place() -> str:
    """Return ``file:line`` of the caller of the function that asks, "" if it is in this package."""
    caller = inspect.currentframe()
    for _ in range(2):  # a frame that kept itself would keep the arrays of a call
        caller = caller and caller.f_back
    while caller is not None and caller.f_code.co_filename in (_SURFACE, _REPLACING):
        caller = caller.f_back
    return "" if caller is None or caller.f_code.co_filename.startswith(_PACKAGE) else _show(caller)


def _show(frame: FrameType, part: str = "") -> Place:
    path = frame.f_code.co_filename
    if path not in _shown:
        _shown[path] = plain(os.path.basename(path))
    return Place(f"{_shown[path]}:{frame.f_lineno}", frame.f_code.co_qualname, part)


def place() -> str:
    """Return ``file:line`` of the innermost frame outside this package.

    The file is named without its folder, so that equal programs give equal texts everywhere. The
    place also knows what was being made: what the innermost frame tells that tells something.
    """
    frame, part, seen = inspect.currentframe(), "", 0
    while frame is not None and not part:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            break
        if frame.f_code.co_filename.startswith(_COMMANDS):
            return ""
        part, frame = part_in(frame), frame.f_back
    # What NumPy asks of a tensor, the user asked: np.stack([x, y]).
    inner = (_PACKAGE, _LIBRARY, _REPLACING, _IMPORTING)
    while frame is not None and frame.f_code.co_filename.startswith(inner):
        if frame.f_code.co_filename.startswith(_COMMANDS):
            return ""
        frame = frame.f_back
    if frame is None:
        return ""
    outer: FrameType | None = frame
    while outer is not None and not part and seen < _OUTWARD:
        part, outer, seen = part_in(outer), outer.f_back, seen + 1
    return _show(frame, part)


def user_level() -> int:
    """Return the ``stacklevel`` with which a warning of the caller names the user's line."""
    caller, level = inspect.currentframe(), 0
    while caller is not None and caller.f_code.co_filename.startswith(_PACKAGE):
        caller, level = caller.f_back, level + 1
    return level


def called_function() -> str:
    """Return the name of the function of this package that the user's program called."""
    frame, name = inspect.currentframe(), ""
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        name, frame = frame.f_code.co_name, frame.f_back
    return name


def line_at(where: str) -> str:
    """Return the text of a line of the user's program, "" if no file that was met, or two, fit."""
    name, _, number = where.rpartition(":")
    paths = [path for path, shown in _shown.items() if shown == name]
    found = linecache.getline(paths[0], int(number)) if len(paths) == 1 else ""
    return found.strip()
