"""Machine code in memory: objects become functions at addresses."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, SupportsInt

import numpy as np
import numpy.typing as npt

from ostinato.runtime.machine_code import optimise
from ostinato.runtime.machine_code.ports import SYMBOL

_llvm: Any = importlib.import_module("llvmlite.binding")


@cache
def _compiler() -> str:
    """What decides the machine code of a module besides its text."""
    versions = (str(importlib.import_module("llvmlite").__version__), *_llvm.llvm_version_info)
    features = _llvm.get_host_cpu_features().flatten()
    here = Path(optimise.__file__)
    names = ("optimise", "addresses", "address_origins")
    files = [here.with_name(f"{name}.py") for name in names]
    passes = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return f"{versions} {_llvm.get_host_cpu_name()} {features} {passes}"


def key_of(text: str) -> str:
    """The name of a module's machine code: module, compiler and machine."""
    return hashlib.sha256(f"{_compiler()}\n{text}".encode()).hexdigest()[:32]


def named(text: str, key: str) -> str:
    """The module with a function of a name that no other module has."""
    return text.replace(SYMBOL, f"{SYMBOL}.{key}")


class Library:
    """Linked machine code; its functions are valid as long as it is."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        machine = optimise.target_machine()
        empty = _llvm.parse_assembly("")
        self._engine = _llvm.create_mcjit_compiler(empty, machine)
        for body in objects.values():
            self._engine.add_object_file(_llvm.ObjectFileRef.from_data(body))
        self._engine.finalize_object()

    def address(self, key: str) -> int:
        """The address of the function of a module."""
        found: int = self._engine.get_function_address(f"{SYMBOL}.{key}")
        assert found, f"the machine code {key} has no function"
        return found

    def entry(self, key: str) -> Callable[..., None]:
        """The function of a module, for Python to call."""
        return Entry(self, self.address(key))

    def addresses(self, keys: Sequence[str]) -> npt.NDArray[np.int64]:
        """A table of addresses; it ends with a 0, so that it is never empty."""
        return np.array([*map(self.address, keys), 0], np.int64)


@dataclass(frozen=True)
class Entry:
    """A function of a library, which lives at least as long as a thread that runs it."""

    library: Library
    address: int

    def __call__(self, *arguments: object) -> None:
        """Call it without the GIL; an array is passed by its address."""
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))
        kind(self.address)(*words(arguments))


def words(arguments: Sequence[object]) -> list[int]:
    """Arguments as machine code takes them."""
    return list(map(_word, arguments))


def _word(value: object) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    assert isinstance(value, SupportsInt), f"{value!r} is no argument of machine code"
    return int(value)
