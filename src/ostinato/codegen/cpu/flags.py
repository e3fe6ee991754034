"""Compile options, vector width and digest of the CPU target."""

import hashlib
import importlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ostinato.codegen.loops.expression import ITEM_BYTES

VECTOR_BYTES: Final = 64  # of the widest register; this machine's may be narrower
LINE_BYTES: Final = 64  # of the caches

FASTMATH: Final = ("contract", "nsz")
"""Float freedoms of every kernel: none of them breaks a NaN test or reorders a sum.

Not "arcp": it lets LLVM replace ``1 / sqrt(x)`` by an estimate that is NaN at 0 and at infinity.
"""

DRIVER: Final[dict[str, object]] = {
    "boundscheck": False,
    "error_model": "numpy",
    "fastmath": {flag: True for flag in FASTMATH},
    "nogil": True,
}
"""Options of a function that Python calls: ``@njit(**DRIVER)``."""

KERNEL: Final[dict[str, object]] = {
    **DRIVER,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
"""Options of a function that only compiled code calls: ``@njit(**KERNEL)``."""


def vector_bits(features: Mapping[str, bool]) -> int:
    """Width in bits of the widest vector registers that a host with these features has.

    >>> vector_bits({"avx2": True}), vector_bits({"neon": True})
    (256, 128)
    """
    if features.get("avx512f", False):
        return 512
    return 256 if features.get("avx2", False) else 128


def vector_registers() -> int:
    """Number of vector registers of this machine: 32 with AVX-512 and on ARM, else 16."""
    return 16 if host_is_x86() and vector_bits(host_features()) < 512 else 32


def host_features() -> dict[str, bool]:
    """Features of this machine's processor, as LLVM names them."""
    found = importlib.import_module("llvmlite.binding").get_host_cpu_features()
    return {str(name): bool(has) for name, has in found.items()}


def lanes(dtype: str) -> int:
    """Elements of ``dtype`` in one vector register of this machine.

    >>> lanes("float32") == 2 * lanes("float64")
    True
    """
    return vector_bits(host_features()) // (8 * ITEM_BYTES[dtype])


def host_is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


@cache
def digest() -> str:
    """Return 16 hex digits that change with the primitives, their libraries, and the machine."""
    here = Path(__file__).parent
    parts = [path.read_bytes() for path in sorted(here.rglob("*.py"))]
    parts += [_version(library) for library in ("numba", "llvmlite")]
    features = host_features()
    name = str(importlib.import_module("llvmlite.binding").get_host_cpu_name())
    host = [name, *sorted(name for name, has in features.items() if has)]
    text = "\n".join([*host, repr(DRIVER), repr(KERNEL)]).encode()
    return hashlib.sha256(b"\n".join([*parts, text])).hexdigest()[:16]


def _version(library: str) -> bytes:
    """The file that says which version is installed: importing it would take longer."""
    found = find_spec(library)
    assert found is not None, f"{library} is not installed"
    assert found.origin is not None, f"{library} has no file"
    return Path(found.origin).with_name("_version.py").read_bytes()
