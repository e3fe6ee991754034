"""What generated CUDA code calls, with NumPy: one thread's part of it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass
class _Threads:
    """The thread that runs now."""

    thread: int = 0
    threads: int = 1
    block: int = 0
    blocks: int = 1

    def set(self, thread: int, threads: int, block: int, blocks: int) -> None:
        self.thread, self.threads, self.block, self.blocks = thread, threads, block, blocks


THREADS = _Threads()
Number = Callable[[Any], Any]


def _whole(dtype: str, bits: int, is_signed: bool) -> Number:
    kind, every = np.dtype(dtype).type, 2**bits - 1
    sign = 2 ** (bits - 1) if is_signed else 0

    def made(x: Any) -> Any:
        if type(x) is kind:
            return x
        return kind(((int(x) & every) ^ sign) - sign)

    return made


i32, i64 = _whole("int32", 32, True), _whole("int64", 64, True)
u16, u32, u64 = (_whole(f"uint{bits}", bits, False) for bits in (16, 32, 64))
f32, f64 = np.float32, np.float64


def where(test: Any, x: Any, y: Any) -> Any:
    return x if test else y


def fma(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""
    kind: Any = x.dtype.type
    a, b, c = float(x), float(y), float(z)
    if not all(map(math.isfinite, (a, b, c))):
        return kind(kind(x) * kind(y) + kind(z))
    if kind is np.float32:
        return kind(_to_odd(a * b, c))  # a product of two float32 is exact
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return kind(a * b + c)
    return _rounded(exact)


def _to_odd(x: float, y: float) -> float:
    """``x + y``, and where it is not exact the odd one of the two floats around it.

    What lies just beside the middle of two float32 is then not taken for the middle.
    """
    near = x + y
    back = near - x
    lost = (x - (near - back)) + (y - back)  # exactly what rounding left out (Knuth's two-sum)
    is_even = lost and struct.pack("<d", near)[0] % 2 == 0
    return math.nextafter(near, math.copysign(math.inf, lost)) if is_even else near


def _rounded(exact: Fraction) -> Any:
    """The nearest float64, halfway to even."""
    try:
        return np.float64(float(exact))
    except OverflowError:
        return np.float64(math.inf if exact > 0 else -math.inf)


def bits_of(x: Any) -> Any:
    return x.view(np.int32 if x.dtype == np.float32 else np.int64)


def truncated_quotient(x: Any, y: Any) -> Any:
    found = abs(int(x)) // abs(int(y))
    return type(x)(found if (x < 0) == (y < 0) else -found)


def ctlz(x: Any) -> Any:
    return np.int64(64 - int(u64(x)).bit_length())


def upper_word(x: Any, y: Any) -> Any:
    return i32(int(u32(x)) * int(u32(y)) >> 32)


def fshl(high: Any, low: Any, by: Any) -> Any:
    return i64((((int(u64(high)) << 64) | int(u64(low))) << int(by)) >> 64)


def _joined(x: Any) -> int:
    return (int(u64(x[0])) << 64) | int(u64(x[1]))


def _parted(x: int) -> Any:
    return i64(x >> 64), i64(x)


def _wide(operation: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    return lambda x, y: _parted(operation(_joined(x), _joined(y)) % 2**128)


def _rounded_product(x: Any, y: Any) -> Any:
    return x * y


def _exchange(array: Any, index: Any, value: Any) -> Any:
    return array.exchange(index, value)


def _load4(array: Any, index: Any) -> tuple[Any, ...]:
    assert int(index) % 4 == 0, "four elements begin at a multiple of four"
    return tuple(array[int(index) + k] for k in range(4))


def _store4(array: Any, index: Any, *values: Any) -> None:
    assert int(index) % 4 == 0, "four elements begin at a multiple of four"
    for k, value in enumerate(values):
        array[int(index) + k] = value


def _itself(of: Any) -> Any:
    return of


def _f32_of_bits(x: Any) -> Any:
    return x.view(np.float32)


def _f64_of_bits(x: Any) -> Any:
    return x.view(np.float64)


def _wide_ctlz(x: Any) -> Any:
    return _parted(128 - _joined(x).bit_length())


FUNCTIONS: dict[str, Any] = {
    **{"device": _itself, "kernel": _itself, "bool": bool},
    **{"i32": i32, "i64": i64, "u16": u16, "u32": u32, "u64": u64, "f32": f32, "f64": f64},
    "block_thread": lambda: THREADS.thread,
    "block_threads": lambda: THREADS.threads,
    "grid_block": lambda: THREADS.block,
    "grid_blocks": lambda: THREADS.blocks,
    **{"exchange": _exchange, "load4": _load4, "store4": _store4},
    **{"where": where, "fma": fma, "bits_of": bits_of, "ctlz": ctlz, "fshl": fshl},
    **{"rounded_product": _rounded_product, "truncated_quotient": truncated_quotient},
    **{"sqrt": np.sqrt, "fabs": np.fabs, "floor": np.floor, "ceil": np.ceil, "rint": np.rint},
    **{"copysign": np.copysign, "f32_of_bits": _f32_of_bits, "f64_of_bits": _f64_of_bits},
    "wide_add": _wide(int.__add__),
    "wide_sub": _wide(int.__sub__),
    "wide_mul": _wide(int.__mul__),
    "wide_or": _wide(int.__or__),
    "wide_shl": _wide(int.__lshift__),
    "wide_lshr": _wide(int.__rshift__),
    "wide_ctlz": _wide_ctlz,
    "upper_word": upper_word,
}
