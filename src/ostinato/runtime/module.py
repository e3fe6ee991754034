"""From generated source to functions in memory, by way of the cache.

A program's directory names the machine code of its kernels; what is missing is compiled from the
source beside it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from ostinato.runtime import objects, trust
from ostinato.runtime.compiling import Team
from ostinato.runtime.linking import Library
from ostinato.runtime.making import READER as READER
from ostinato.runtime.making import Keys, Making

FILE = "program.py"
KEYS = "kernels.json"
WORTH_A_TEAM = 15_000  # characters of source: below, starting Python takes longer


@dataclass(frozen=True)
class Loaded:
    """The driver, and the addresses of the kernels that it calls."""

    entry: Callable[..., None]
    kernels: npt.NDArray[np.int64]


def load_module(directory: Path, key: str, cores: int = 1, making: Making | None = None) -> Loaded:
    """Return the compiled module in the directory, from the cache if its kernels are there.

    ``making`` has begun to compile it. A damaged or foreign file is told, and made again.
    """
    keys = _keys(directory)
    found = _cached(keys) if keys is not None else {}
    if keys is None or found.keys() != keys.all:
        reader = importlib.import_module(READER)
        source = (directory / FILE).read_text(encoding="utf-8")
        try:
            keys, found = _compiled(source, cores, making)
        except reader.UnreadableError as failure:
            warnings.warn(f"Numba compiles the program, slowly: {failure}", stacklevel=2)
            return load_with_numba(directory, key)
        _remember(directory, keys)
    library = Library(found)
    return Loaded(library.entry(keys.driver), library.addresses(keys.kernels))


def _keys(directory: Path) -> Keys | None:
    try:
        found = json.loads(trust.read(directory / KEYS))
        kernels, parts = (tuple(map(str, found[name])) for name in ("kernels", "parts"))
        return Keys(str(found["driver"]), kernels, parts)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as failure:
        trust.warn_once(f"{directory / KEYS} is not used ({failure}): made again")
        return None


def _remember(directory: Path, keys: Keys) -> None:
    text = json.dumps(asdict(keys))
    try:
        trust.write(directory / KEYS, text.encode())
    except OSError as failure:
        trust.warn_once(f"nothing is cached: {failure}")


def _cached(keys: Keys) -> dict[str, bytes]:
    loaded = {key: objects.load(key) for key in keys.all}
    return {key: body for key, body in loaded.items() if body is not None}


def _compiled(source: str, cores: int, making: Making | None) -> tuple[Keys, dict[str, bytes]]:
    """Compile what is not in the cache, and keep it there."""
    if making is not None:
        return making.finish()
    with Team(cores if len(source) > WORTH_A_TEAM else 1) as team:
        own = Making(team)
        own.add(source)
        return own.finish()


def load_driver(source: str) -> Callable[..., None]:
    """The driver of a module that has no kernels of its own."""
    keys, found = _compiled(source, 1, None)
    return Library(found).entry(keys.driver)


def load_with_numba(directory: Path, key: str) -> Loaded:
    """Return the module as Numba compiles it, from Numba's cache beside it if it is there.

    A damaged cache is removed, with a warning, and rebuilt.
    """
    compiled = directory / "__pycache__"
    try:
        return _from_numba(directory, key)
    except Exception as failure:
        if not compiled.is_dir():
            raise
        message = f"the compiled code in {compiled} could not be loaded ({failure}): rebuilt"
        warnings.warn(message, stacklevel=2)
        shutil.rmtree(compiled, ignore_errors=True)
        return _from_numba(directory, key)


def _from_numba(directory: Path, key: str) -> Loaded:
    module = _import(directory, key)
    addresses = [kernel.address for kernel in module.KERNELS]
    return Loaded(module.main, np.array([*addresses, 0], np.int64))  # never empty


def _import(directory: Path, key: str) -> ModuleType:
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
    return module
