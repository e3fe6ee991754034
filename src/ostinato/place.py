"""Where in the user's program a value was made."""

from __future__ import annotations

import inspect
import linecache
import os
from types import FrameType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_shown: dict[str, str] = {}


def calling_place() -> str:
    """Return ``file:line`` of the caller of the function that asks, "" if it is in this package."""
    frame = inspect.currentframe()
    caller = frame and frame.f_back and frame.f_back.f_back
    return "" if caller is None or caller.f_code.co_filename.startswith(_PACKAGE) else _show(caller)


def _show(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    if path not in _shown:
        _shown[path] = os.path.basename(path)
    return f"{_shown[path]}:{frame.f_lineno}"


def place() -> str:
    """Return ``file:line`` of the innermost frame outside this package.

    The file is named without its folder, so that equal programs give equal texts everywhere.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return _show(frame)
        frame = frame.f_back
    return ""


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
