"""Importing generated source: a real file under a name of its own, as Numba's cache needs it.

A large module that nobody compiled yet is compiled by several processes at once, which meet in
Numba's cache beside the file.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

FILE = "program.py"
ONLY = "OSTINATO_COMPILE_ONLY"  # read by the decorators of generated source
WORTH_A_PROCESS = 15_000  # characters of source: below, starting Python takes longer


@dataclass(frozen=True)
class Loaded:
    """The driver, and the addresses of the kernels that it calls."""

    entry: Callable[..., None]
    kernels: npt.NDArray[np.int64]


def load_module(directory: Path, key: str, cores: int = 1) -> Loaded:
    """Return the compiled module in the directory, from Numba's cache beside it if it is there.

    A damaged cache is removed, with a warning, and rebuilt.
    """
    compiled = directory / "__pycache__"
    if cores > 1 and not any(compiled.glob("*.nbi")):
        compile_together(directory, key, cores)
    try:
        return _loaded(directory, key)
    except Exception as failure:
        if not compiled.is_dir():
            raise
        message = f"the compiled code in {compiled} could not be loaded ({failure}): rebuilt"
        warnings.warn(message, stacklevel=2)
        shutil.rmtree(compiled, ignore_errors=True)
        return _loaded(directory, key)


def _loaded(directory: Path, key: str) -> Loaded:
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


def compile_together(directory: Path, key: str, processes: int) -> None:
    """Compile the kernels in several processes; what fails there is compiled here later."""
    mine, *others = shares((directory / FILE).read_text(encoding="utf-8"), processes)
    if not others or not sys.executable:
        return
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-m", __name__, str(directory), key]
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": path, ONLY: ",".join(share)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for share in others
    ]
    try:
        with only(mine):
            _import(directory, key)
    finally:
        for process in running:
            process.wait()


@contextmanager
def only(names: list[str]) -> Generator[None]:
    """Compile these kernels alone while a module is imported."""
    before = os.environ.get(ONLY)
    os.environ[ONLY] = ",".join(names)
    try:
        yield
    finally:
        if before is None:
            del os.environ[ONLY]
        else:
            os.environ[ONLY] = before


def shares(source: str, processes: int) -> list[list[str]]:
    """Divide a module's kernels, largest first, so that all processes have as much to do.

    The text of a kernel, its definitions included, measures the work.
    """
    sizes: dict[str, int] = {}
    pending = 0  # lines at the margin belong to the function below, others to the one above
    name = ""
    for line in source.splitlines():
        found = re.match(r"def (\w+)\(", line)
        if found:
            name = found[1]
            sizes[name], pending = pending, 0
        elif line.startswith(" ") and name:
            sizes[name] += len(line)
        else:
            pending += len(line)
    sizes.pop("main", None)
    most = max(1, min(processes, sum(sizes.values()) // WORTH_A_PROCESS, len(sizes)))
    out: list[list[str]] = [[] for _ in range(most)]
    load = [0] * most
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        k = load.index(min(load))
        out[k].append(name)
        load[k] += sizes[name]
    return out


if __name__ == "__main__":
    _import(Path(sys.argv[1]), sys.argv[2])
