"""Compile options and vector width of the CPU target."""

import importlib
import platform
from collections.abc import Mapping
from typing import Final

from ostinato.codegen.loops.types import ITEM_BYTES

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
