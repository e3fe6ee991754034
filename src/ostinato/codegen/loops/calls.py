"""How loop IR writes each elementwise function, cast, literal and draw.

It promotes ``int32 + int32`` to int64 and ``float32 * 0.5`` to float64, as Numba does, so every
result is brought back to its declared type.
"""

from __future__ import annotations

import math
from typing import cast as typed

from ostinato.codegen.loops.expression import (
    FLOATS,
    SUFFIX,
    Constant,
    Expression,
    Given,
    Negative,
    Not,
    Sign,
    binary,
    call,
    compare,
)
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import COMPARED, FUNCTIONS
from ostinato.pdg.node import Dtype

NARROW = ("int32", "uint32")  # arithmetic on these is of 64 bits
_ARITHMETIC = ("add", "sub", "mul", "div")  # written with their signs; all others are calls
_LOGIC = {"and": "&", "or": "|"}


def literal(value: Scalar, dtype: Dtype) -> Expression:
    """A constant of the dtype.

    >>> print(literal(0.5, "float32"), literal(float("inf"), "float64"), literal(True, "bool"))
    f32(0.5) f64(np.inf) True
    """
    if dtype == "bool":
        return Constant(bool(value))
    if dtype not in FLOATS:
        return call(SUFFIX[dtype], int(value))
    return call(SUFFIX[dtype], Constant(float(value)))


def function(fn: str, dtype: Dtype, args: tuple[Expression, ...]) -> Expression:
    """An elementwise function of operands of one dtype (``where``: bool first)."""
    known = FUNCTIONS.get(fn)  # a running fold repeats `logaddexp`, which no program names
    if known and fn in _ARITHMETIC:
        return _narrowed(binary(known.sign, *args), dtype)
    if fn in _LOGIC:
        return binary(_LOGIC[fn], *args)
    if known and known.binds == COMPARED:
        return compare(typed(Sign, known.sign), *args)
    match fn:
        case "not":
            return Not(args[0])
        case "where":
            return call("where", *args)
        case "stop_gradient":
            return args[0]
        case "neg":
            return _narrowed(Negative(args[0]), dtype)
        case "abs" if dtype == "uint32":
            return args[0]
        case "sign" if dtype == "uint32":
            return call("minimum_u32", args[0], call("u32", 1))
        case "isfinite":
            absolute = call(f"abs_{SUFFIX[dtype]}", args[0])
            return compare("<", absolute, literal(math.inf, dtype))
        case _:
            return call(f"{fn}_{SUFFIX[dtype]}", *args)


def _narrowed(of: Expression, dtype: Dtype) -> Expression:
    return call(SUFFIX[dtype], of) if dtype in NARROW else of


def cast(of: Expression, source: Dtype, to: Dtype) -> Expression:
    """A conversion as NumPy makes it; floats out of an integer's range saturate."""
    if source == to:
        return of
    if to == "bool":
        return compare("!=", of, literal(0, source))
    if source in FLOATS and to not in FLOATS:
        return call(f"cast_{SUFFIX[to]}_{SUFFIX[source]}", of)
    return call(SUFFIX[to], of)


def draw(
    fn: str, dtype: Dtype, counter: tuple[Expression, ...], key: tuple[Given, Given]
) -> Expression:
    """A random number at a counter of four words under a key of two."""
    name = "philox_bits" if fn == "bits" else f"{fn}_{SUFFIX[dtype]}"
    return call(name, *counter, *key)
