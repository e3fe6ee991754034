"""Where in the user's program a value was made."""

from __future__ import annotations

import inspect
import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_shown: dict[str, str] = {}


def place() -> str:
    """Return ``file:line`` of the innermost frame outside this package.

    The file is named without its folder, so that equal programs give equal texts everywhere.
    """
    frame = inspect.currentframe()
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith(_PACKAGE):
            if path not in _shown:
                _shown[path] = os.path.basename(path)
            return f"{_shown[path]}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
