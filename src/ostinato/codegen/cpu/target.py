"""How each elementwise function, cast, literal and draw is written for the CPU target.

This table is all that the emitter knows about a target: Numba promotes ``int32 + int32`` to int64
and ``float32 * 0.5`` to float64, so every result is brought back to its declared type.
"""

from __future__ import annotations

import math
import re

from ostinato.codegen.cpu.python_text import (
    BOTH,
    COMPARISON,
    EITHER,
    PRODUCT,
    SUM,
    UNARY,
    Text,
    binary,
    call,
)
from ostinato.pdg.node import Dtype, Scalar

SUFFIX: dict[Dtype, str] = {
    "float32": "f32",
    "float64": "f64",
    "int32": "i32",
    "int64": "i64",
    "uint16": "u16",
    "uint32": "u32",
}
FLOATS = ("float32", "float64")
NARROW = ("int32", "uint32")  # Numba computes these in 64 bits

ALIASES = (
    "f32, f64, i32, i64 = np.float32, np.float64, np.int32, np.int64",
    "u16, u32 = np.uint16, np.uint32",
)

_OPERATORS = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
_LOGIC = {"and": ("&", BOTH), "or": ("|", EITHER)}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def literal(value: Scalar, dtype: Dtype) -> Text:
    """A constant of the dtype.

    >>> print(literal(0.5, "float32"), literal(float("inf"), "float64"), literal(True, "bool"))
    f32(0.5) f64(np.inf) True
    """
    if dtype == "bool":
        return Text(str(bool(value)))
    if dtype not in FLOATS:
        return call(SUFFIX[dtype], str(int(value)))
    x = float(value)
    if math.isnan(x):
        return call(SUFFIX[dtype], "np.nan")
    if math.isinf(x):
        return call(SUFFIX[dtype], "np.inf" if x > 0 else "-np.inf")
    return call(SUFFIX[dtype], repr(x))


def function(fn: str, dtype: Dtype, args: tuple[Text, ...]) -> Text:
    """An elementwise function of operands of one dtype (``where``: bool first)."""
    if fn in _OPERATORS:
        op, level = _OPERATORS[fn]
        return _narrowed(binary(op, level, *args), dtype)
    if fn in _LOGIC:
        return binary(*_LOGIC[fn], *args)
    if fn in _COMPARISONS:
        left, right = (a.within(EITHER) for a in args)
        return Text(f"{left} {_COMPARISONS[fn]} {right}", COMPARISON)
    match fn:
        case "not":
            return Text(f"not {args[0].within(COMPARISON)}", 0)
        case "where":
            return call("where", *args)
        case "stop_gradient":
            return args[0]
        case "neg":
            return _narrowed(Text(f"-{args[0].within(UNARY)}", UNARY), dtype)
        case "abs" if dtype == "uint32":
            return args[0]
        case "sign" if dtype == "uint32":
            return call("minimum_u32", args[0], "u32(1)")
        case "isfinite":
            return Text(f"abs_{SUFFIX[dtype]}({args[0]}) < {SUFFIX[dtype]}(np.inf)", COMPARISON)
        case _:
            return call(f"{fn}_{SUFFIX[dtype]}", *args)


def _narrowed(text: Text, dtype: Dtype) -> Text:
    return call(SUFFIX[dtype], text) if dtype in NARROW else text


def cast(text: Text, source: Dtype, to: Dtype) -> Text:
    """A conversion as NumPy makes it; floats out of an integer's range saturate."""
    if source == to:
        return text
    if to == "bool":
        return Text(f"{text.within(EITHER)} != {literal(0, source)}", COMPARISON)
    if source in FLOATS and to not in FLOATS:
        return call(f"cast_{SUFFIX[to]}_{SUFFIX[source]}", text)
    return call(SUFFIX[to], text)


def draw(fn: str, dtype: Dtype, counter: tuple[Text, ...], key: tuple[str, str]) -> Text:
    """A random number at a counter of four words under a key of two."""
    name = "philox_bits" if fn == "bits" else f"{fn}_{SUFFIX[dtype]}"
    return call(name, *counter, *key)


def helpers(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """The names of the prelude that a piece of generated text calls, sorted."""
    return tuple(sorted(set(re.findall(r"\b(\w+)\(", text)) & known))
