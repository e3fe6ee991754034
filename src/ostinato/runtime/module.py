"""Importing generated source: a real file under a name of its own, as Numba's cache needs it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

FILE = "program.py"
ENTRY = "main"


def load_entry(directory: Path, key: str) -> Callable[..., None]:
    """Return ``main`` of the module in the directory, compiled or from Numba's cache beside it.

    A damaged cache is removed, with a warning, and rebuilt.
    """
    try:
        return _load(directory, key)
    except Exception as failure:
        compiled = directory / "__pycache__"
        if not compiled.is_dir():
            raise
        message = f"the compiled code in {compiled} could not be loaded ({failure}): rebuilt"
        warnings.warn(message, stacklevel=2)
        shutil.rmtree(compiled, ignore_errors=True)
        return _load(directory, key)


def _load(directory: Path, key: str) -> Callable[..., None]:
    name = f"ostinato_program_{key}"
    spec = importlib.util.spec_from_file_location(name, directory / FILE)
    assert spec is not None, f"{directory / FILE} is no Python file"
    assert spec.loader is not None, f"{directory / FILE} has no loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before its decorators run: Numba finds functions by this name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    entry: Callable[..., None] = getattr(module, ENTRY)
    return entry
