"""What generated CUDA code calls: operations of the device, by names that mean one thing.

Products that are rounded before something is added to them, and sums that are rounded once, are
said: NVVM joins a plain product and sum as it likes.

Numba finds what a name is on the device by the function that bears it; such a function says what it
means and is never run, so it raises NotImplementedError.
"""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ostinato.codegen.loops.expression import ITEM_BYTES

cuda: Any = importlib.import_module("numba.cuda")
libdevice: Any = importlib.import_module("numba.cuda.libdevice")
overload: Any = importlib.import_module("numba.cuda.extending").overload
types: Any = importlib.import_module("numba.core.types")

Arena = namedtuple("Arena", tuple(ITEM_BYTES))  # type: ignore[misc]  # the names of a table
"""The one block of memory, as an array of each type."""

kernel: Callable[..., Any] = cuda.jit
device: Callable[..., Any] = cuda.jit(device=True)


@device
def block_thread() -> Any:
    return np.int64(cuda.threadIdx.x)


@device
def block_threads() -> Any:
    return np.int64(cuda.blockDim.x)


@device
def grid_block() -> Any:
    return np.int64(cuda.blockIdx.x)


@device
def grid_blocks() -> Any:
    return np.int64(cuda.gridDim.x)


@device
def block_barrier() -> None:
    cuda.syncthreads()


@device
def grid_barrier() -> None:
    cuda.cg.this_grid().sync()


@device
def exchange(array: Any, index: Any, value: Any) -> Any:
    """What stood in a place of int32 before: no thread comes between reading and writing it."""
    return cuda.atomic.exch(array, index, np.int32(value))


@device
def where(test: Any, x: Any, y: Any) -> Any:
    return x if test else y


# ---------------------------------------------------------------- floats


def rounded_product(x: Any, y: Any) -> Any:
    """``x * y``, rounded: it never becomes a part of a multiply-add."""
    raise NotImplementedError


def bits_of(x: Any) -> Any:
    """The bits of a float as a whole number of its size."""
    raise NotImplementedError


def fabs(x: Any) -> Any:
    """The size of a number."""
    raise NotImplementedError


def sqrt(x: Any) -> Any:
    """The square root, rounded once."""
    raise NotImplementedError


def floor(x: Any) -> Any:
    """The whole number below, as a float."""
    raise NotImplementedError


def ceil(x: Any) -> Any:
    """The whole number above, as a float."""
    raise NotImplementedError


def rint(x: Any) -> Any:
    """The nearest whole number, as a float; halves go to the even one."""
    raise NotImplementedError


def copysign(x: Any, y: Any) -> Any:
    """The size of one number with the sign of another."""
    raise NotImplementedError


def fma(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""
    raise NotImplementedError


def _by_type(
    function: Callable[..., Any], narrow: Any, wide: Any, kind: Any = types.float32
) -> None:
    """Let a function be one of numbers of 32 or of 64 bits, by its first argument."""
    arity = function.__code__.co_argcount
    given = ", ".join("xyz"[:arity])
    scope: dict[str, Any] = {"narrow": narrow, "wide": wide}
    exec(f"def of_32({given}): return narrow({given})", scope)  # Numba compares signatures
    exec(f"def of_64({given}): return wide({given})", scope)

    def chosen(x: object) -> object:
        return scope["of_32"] if x == kind else scope["of_64"]

    scope["chosen"] = chosen
    exec(f"def typed({given}): return chosen(x)", scope)
    overload(function, target="cuda")(scope["typed"])


_by_type(rounded_product, libdevice.fmul_rn, libdevice.dmul_rn)
_by_type(bits_of, libdevice.float_as_int, libdevice.double_as_longlong)
_by_type(fabs, libdevice.fabsf, libdevice.fabs)
_by_type(sqrt, libdevice.fsqrt_rn, libdevice.dsqrt_rn)
_by_type(floor, libdevice.floorf, libdevice.floor)
_by_type(ceil, libdevice.ceilf, libdevice.ceil)
_by_type(rint, libdevice.rintf, libdevice.rint)
_by_type(copysign, libdevice.copysignf, libdevice.copysign)
_by_type(fma, libdevice.fmaf_rn, libdevice.fma_rn)


@device
def f32_of_bits(x: Any) -> Any:
    return libdevice.int_as_float(x)


@device
def f64_of_bits(x: Any) -> Any:
    return libdevice.longlong_as_double(x)


# ---------------------------------------------------------------- whole numbers


def truncated_quotient(x: Any, y: Any) -> Any:
    """``x / y`` towards 0."""
    raise NotImplementedError


@device
def _quotient_i32(x: Any, y: Any) -> Any:
    down = x // y  # the floor; it is taken back where it is below
    return np.int32(down + 1 if down < 0 and down * y != x else down)


@device
def _quotient_i64(x: Any, y: Any) -> Any:
    down = x // y
    return np.int64(down + 1 if down < 0 and down * y != x else down)


_by_type(truncated_quotient, _quotient_i32, _quotient_i64, types.int32)


@device
def upper_word(x: Any, y: Any) -> Any:
    """The upper 32 bits of a product of words without signs."""
    return np.int32(libdevice.umulhi(x, y))


@device
def ctlz(x: Any) -> Any:
    return np.int64(libdevice.clzll(x))


@device
def fshl(high: Any, low: Any, by: Any) -> Any:
    """The upper word of two words that are shifted to the left together."""
    if by == 0:
        return high
    return np.int64((np.uint64(high) << np.uint64(by)) | (np.uint64(low) >> np.uint64(64 - by)))


# Numbers of 128 bits are pairs of int64, the upper word first.


@device
def wide_add(x: Any, y: Any) -> Any:
    low = np.uint64(x[1]) + np.uint64(y[1])
    carry = np.int64(1) if low < np.uint64(x[1]) else np.int64(0)
    return np.int64(x[0] + y[0] + carry), np.int64(low)


@device
def wide_sub(x: Any, y: Any) -> Any:
    borrow = np.int64(1) if np.uint64(x[1]) < np.uint64(y[1]) else np.int64(0)
    return np.int64(x[0] - y[0] - borrow), np.int64(x[1] - y[1])


@device
def wide_mul(x: Any, y: Any) -> Any:
    high = libdevice.umul64hi(x[1], y[1])
    return np.int64(high + x[0] * y[1] + x[1] * y[0]), np.int64(x[1] * y[1])


@device
def wide_or(x: Any, y: Any) -> Any:
    return np.int64(x[0] | y[0]), np.int64(x[1] | y[1])


@device
def wide_shl(x: Any, by: Any) -> Any:
    count = by[1]
    if count >= 64:
        return np.int64(np.uint64(x[1]) << np.uint64(count - 64)), np.int64(0)
    return fshl(x[0], x[1], count), np.int64(np.uint64(x[1]) << np.uint64(count))


@device
def wide_lshr(x: Any, by: Any) -> Any:
    count = by[1]
    if count >= 64:
        return np.int64(0), np.int64(np.uint64(x[0]) >> np.uint64(count - 64))
    low = fshl(x[0], x[1], 64 - count) if count > 0 else x[1]
    return np.int64(np.uint64(x[0]) >> np.uint64(count)), low


@device
def wide_ctlz(x: Any) -> Any:
    high = np.int64(libdevice.clzll(x[0]))
    return np.int64(0), high if x[0] != 0 else np.int64(64 + libdevice.clzll(x[1]))
