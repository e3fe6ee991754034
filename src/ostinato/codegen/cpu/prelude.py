"""The names that a generated module may import.

A generated module starts with one import that lists what it uses::

    from ostinato.codegen.cpu.prelude import access, driver, kernel, tanh_f32
"""

import importlib
from typing import Any

import numpy as np

from ostinato.codegen.cpu.access import (
    access,
    arrive,
    call_python,
    halves,
    invoke,
    partials,
    prefetch,
    transpose_f32,
    transpose_f64,
)
from ostinato.codegen.cpu.flags import DRIVER, KERNEL, digest, lanes
from ostinato.codegen.cpu.matmul import matmul
from ostinato.codegen.cpu.matmul_frame import living
from ostinato.codegen.cpu.phase_workers import (
    claim,
    enter,
    finish,
    load_acquire,
    open_next,
    rest,
    store_release,
)
from ostinato.codegen.cpu.primitive import where
from ostinato.codegen.cpu.random_bits import (
    normal_apart_f32,
    normal_apart_f64,
    normal_f32,
    normal_f64,
    philox_bits,
    philox_bits_1,
    philox_bits_2,
    philox_bits_3,
    seed_key,
    uniform_f32,
    uniform_f64,
)
from ostinato.codegen.cpu.scalar import (
    PRIMITIVES,
    bfloat16_bits_f32,
    bfloat16_value_u16,
    float16_bits_f32,
    float16_value_u16,
)
from ostinato.codegen.cpu.sorting import argsort, searchleft, searchright, shuffle, top
from ostinato.codegen.loops.matmul_spec import Matmul, Operand, Step

__all__ = [
    "DRIVER",
    "KERNEL",
    "Matmul",
    "Operand",
    "Step",
    "access",
    "argsort",
    "arrive",
    "bfloat16_value_u16",
    "bfloat16_bits_f32",
    "claim",
    "digest",
    "float16_bits_f32",
    "float16_value_u16",
    "enter",
    "finish",
    "halves",
    "call_python",
    "invoke",
    "lanes",
    "living",
    "load_acquire",
    "matmul",
    "normal_apart_f32",
    "normal_apart_f64",
    "normal_f32",
    "normal_f64",
    "np",
    "open_next",
    "partials",
    "philox_bits",
    "philox_bits_1",
    "philox_bits_2",
    "philox_bits_3",
    "prefetch",
    "searchleft",
    "searchright",
    "shuffle",
    "rest",
    "seed_key",
    "store_release",
    "top",
    "transpose_f32",
    "transpose_f64",
    "uniform_f32",
    "uniform_f64",
    "where",
]

OF_NUMBA = ("carray", "driver", "kernel", "njit")
NAMES = frozenset((*__all__, *PRIMITIVES, *OF_NUMBA))
"""Everything that a generated module may import."""


def __getattr__(name: str) -> Any:
    """A scalar function, or what only Numba needs, which is imported when it reads a module."""
    if name in PRIMITIVES:
        return PRIMITIVES[name]
    if name in OF_NUMBA:
        return getattr(importlib.import_module("ostinato.codegen.cpu.numba_door"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
