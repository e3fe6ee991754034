"""From generated source to functions in memory, by way of the cache.

A program's directory names the machine code of its kernels; what is missing is compiled from its
loop IR.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import OptionError, UnreadableError
from ostinato.runtime.disk import trust
from ostinato.runtime.disk.sealed import Note
from ostinato.runtime.machine_code import objects
from ostinato.runtime.machine_code.compiling import Team
from ostinato.runtime.machine_code.linking import Library
from ostinato.runtime.machine_code.piecewise import Keys, Making
from ostinato.runtime.machine_code.ports import Unit

FILE = "program.py"
KEYS = "kernels.json"
WORTH_A_TEAM = 15_000  # characters of source: below, starting Python takes longer


@dataclass(frozen=True)
class Loaded:
    """The driver, and the addresses of the kernels that it calls."""

    entry: Callable[..., None]
    kernels: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Kept:
    """A program's source, and where the program with this key is kept, if it is."""

    source: str
    units: Callable[[], Iterable[Unit]]
    directory: Path | None
    key: str


def load_module(program: Kept, cores: int = 1, making: Making | None = None) -> Loaded:
    """Return a compiled module, from the cache if its kernels are there.

    ``making`` has begun to compile it. A damaged or foreign file is told, and made again.
    Errors: OptionError if Numba has to compile it and there is no place for what Numba makes.
    """
    note = Note(program.directory, program.key, KEYS)
    keys = _keys(note)
    found = _cached(keys) if keys is not None else {}
    if keys is None or found.keys() != keys.all:
        try:
            keys, found = _compiled(program, cores, making)
        except UnreadableError as failure:
            warnings.warn(f"Numba compiles the program, slowly: {failure}", stacklevel=2)
            return load_with_numba(program.directory or _put_down(program), program.key)
        note.write(json.dumps(asdict(keys)).encode())
    library = Library(found)
    return Loaded(library.entry(keys.driver), library.addresses(keys.kernels))


def _keys(note: Note) -> Keys | None:
    body = note.read()
    if body is None:
        return None
    try:
        found = json.loads(body)
        kernels, parts = (tuple(map(str, found[name])) for name in ("kernels", "parts"))
        return Keys(str(found["driver"]), kernels, parts)
    except (ValueError, KeyError, TypeError) as failure:
        note.refuse(failure)
        return None


def _put_down(program: Kept) -> Path:
    """A directory with the source, where nothing is cached: Numba reads files only."""
    try:
        directory = Path(tempfile.mkdtemp(prefix="ostinato-"))
        trust.write(directory / FILE, program.source.encode())
    except OSError as failure:
        fact = f"the program cannot be compiled: no file can be written ({failure})"
        remedy = "Free some space, or set TMPDIR to a directory that can be written."
        raise OptionError(fact, remedy) from failure
    return directory


def _cached(keys: Keys) -> dict[str, bytes]:
    loaded = {key: objects.load(key) for key in keys.all}
    return {key: body for key, body in loaded.items() if body is not None}


def _compiled(program: Kept, cores: int, making: Making | None) -> tuple[Keys, dict[str, bytes]]:
    """Compile what is not in the cache, and keep it there."""
    if making is not None:
        return making.finish()
    with Team(cores if len(program.source) > WORTH_A_TEAM else 1) as team:
        own = Making(team)
        own.add(program.units())
        return own.finish()


def load_driver(units: Callable[[], Iterable[Unit]]) -> Callable[..., None]:
    """The driver of a module that has no kernels of its own."""
    keys, found = _compiled(Kept("", units, None, ""), 1, None)
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
