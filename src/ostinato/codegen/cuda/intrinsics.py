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

from ostinato.codegen.cuda.shares import BLOCK_THREADS
from ostinato.codegen.loops.expression import ITEM_BYTES

cuda: Any = importlib.import_module("numba.cuda")
libdevice: Any = importlib.import_module("numba.cuda.libdevice")
overload: Any = importlib.import_module("numba.cuda.extending").overload
types: Any = importlib.import_module("numba.core.types")
intrinsic: Callable[[Any], Any] = importlib.import_module("numba.cuda.extending").intrinsic
make_array: Any = importlib.import_module("numba.cuda.np.arrayobj").make_array
ir: Any = importlib.import_module("llvmlite.ir")

Arena = namedtuple("Arena", (*ITEM_BYTES, "met"))  # type: ignore[misc]  # the names of a table
"""The one block of memory, as an array of each type; and a word by which blocks meet."""

kernel: Callable[..., Any] = cuda.jit(launch_bounds=BLOCK_THREADS)
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
def grid_barrier(arena: Any) -> None:
    """Wait for all blocks, which are resident.

    Each adds 1 to a word, and the first one what is missing to half of all words: the upper bit
    changes when all have come. A barrier of Numba's is a call of a library, beside which ptxas
    keeps no address in registers that all threads share.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        rest = np.uint32(HALF - (cuda.gridDim.x - 1)) if cuda.blockIdx.x == 0 else np.uint32(1)
        before = cuda.atomic.add(arena.met, 0, rest)
        while (before ^ acquired(arena.met)) & np.uint32(HALF) == 0:
            pass
        cuda.threadfence()
    cuda.syncthreads()


@device
def exchange(array: Any, index: Any, value: Any) -> Any:
    """What stood in a place of int32 before: no thread comes between reading and writing it."""
    return cuda.atomic.exch(array, index, np.int32(value))


@device
def where(test: Any, x: Any, y: Any) -> Any:
    return x if test else y


# ---------------------------------------------------------------- a word that others change

HALF = 1 << 31


@intrinsic
def acquired(_: object, array: Any) -> Any:
    """The first word of an array, and with it all that was written before it was."""

    def made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, args[0]).data
        kind = ir.FunctionType(ir.IntType(32), [data.type])
        text = "ld.acquire.gpu.u32 $0, [$1];"
        return builder.asm(kind, text, "=r,l,~{memory}", [data], side_effect=True)

    return types.uint32(array), made


# ---------------------------------------------------------------- four elements at once

LINE = 16  # bytes: what begins at a multiple of four elements of 32 or 64 bits begins at one


@intrinsic
def load4(_: object, array: Any, index: Any) -> Any:
    """Four elements that lie side by side, the first one at a multiple of four."""

    def made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, kind = _four(context, builder, signature, args)
        vector = builder.load(place, align=LINE, typ=kind)
        taken = [builder.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in range(4)]
        return context.make_tuple(builder, signature.return_type, taken)

    return types.UniTuple(array.dtype, 4)(array, index), made


@intrinsic
def store4(_: object, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Store four elements likewise."""

    def made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, kind = _four(context, builder, signature, args)
        vector = ir.Constant(kind, ir.Undefined)
        for k, value in enumerate(args[2:]):
            vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), k))
        builder.store(vector, place, align=LINE)
        return context.get_dummy_value()

    return types.void(array, index, *[array.dtype] * 4), made


def _four(context: Any, builder: Any, signature: Any, args: Any) -> tuple[Any, Any]:
    """The address of four elements, and what they are together."""
    array = make_array(signature.args[0])(context, builder, args[0])
    element = context.get_data_type(signature.args[0].dtype)
    kind = ir.VectorType(element, 4)
    index = context.cast(builder, args[1], signature.args[1], types.intp)
    at = builder.gep(array.data, [index], source_etype=element)
    return builder.bitcast(at, kind.as_pointer()), kind


# ---------------------------------------------------------------- floats


def _by_type(
    name: str, given: str, narrow: Any, wide: Any, kind: Any = types.float32
) -> Callable[..., Any]:
    """A function of numbers of 32 or of 64 bits, by its first argument."""
    scope: dict[str, Any] = {"__name__": __name__, "narrow": narrow, "wide": wide}
    exec(f"def {name}({given}): raise NotImplementedError", scope)
    exec(f"def of_32({given}): return narrow({given})", scope)  # Numba compares signatures
    exec(f"def of_64({given}): return wide({given})", scope)

    def chosen(x: object) -> object:
        return scope["of_32"] if x == kind else scope["of_64"]

    scope["chosen"] = chosen
    exec(f"def typed({given}): return chosen(x)", scope)
    made: Callable[..., Any] = scope[name]
    overload(made, target="cuda")(scope["typed"])
    return made


rounded_product = _by_type("rounded_product", "x, y", libdevice.fmul_rn, libdevice.dmul_rn)
"""``x * y``, rounded: it never becomes a part of a multiply-add."""

bits_of = _by_type("bits_of", "x", libdevice.float_as_int, libdevice.double_as_longlong)
"""The bits of a float as a whole number of its size."""

fabs = _by_type("fabs", "x", libdevice.fabsf, libdevice.fabs)
sqrt = _by_type("sqrt", "x", libdevice.fsqrt_rn, libdevice.dsqrt_rn)
"""The square root, rounded once."""

floor = _by_type("floor", "x", libdevice.floorf, libdevice.floor)
ceil = _by_type("ceil", "x", libdevice.ceilf, libdevice.ceil)
rint = _by_type("rint", "x", libdevice.rintf, libdevice.rint)
"""The nearest whole number, as a float; halves go to the even one."""

copysign = _by_type("copysign", "x, y", libdevice.copysignf, libdevice.copysign)
"""The size of one number with the sign of another."""

fma = _by_type("fma", "x, y, z", libdevice.fmaf_rn, libdevice.fma_rn)
"""``x * y + z``, rounded once."""


@device
def f32_of_bits(x: Any) -> Any:
    return libdevice.int_as_float(x)


@device
def f64_of_bits(x: Any) -> Any:
    return libdevice.longlong_as_double(x)


# ---------------------------------------------------------------- whole numbers


@device
def _quotient_i32(x: Any, y: Any) -> Any:
    down = x // y  # the floor; it is taken back where it is below
    return np.int32(down + 1 if down < 0 and down * y != x else down)


@device
def _quotient_i64(x: Any, y: Any) -> Any:
    down = x // y
    return np.int64(down + 1 if down < 0 and down * y != x else down)


truncated_quotient = _by_type(
    "truncated_quotient", "x, y", _quotient_i32, _quotient_i64, types.int32
)
"""``x / y`` towards 0."""


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
