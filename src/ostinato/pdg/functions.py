"""The elementwise functions and the folds, one record each: types and NumPy meaning.

This table is the only place that says what a function means; the interpreter evaluates with it and
every other stage is tested against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes as ml_dtypes  # gives NumPy the dtype "bfloat16"
import numpy as np
import numpy.typing as npt

from ostinato.pdg import special_functions
from ostinato.pdg.node import Dtype

Array = npt.NDArray[Any]
ResultType = Literal["same", "bool", "uint16", "float32", "declared"]

BOOL: tuple[Dtype, ...] = ("bool",)
INTS: tuple[Dtype, ...] = ("int32", "int64", "uint32")
FLOATS: tuple[Dtype, ...] = ("float32", "float64")
HALVES: tuple[Dtype, ...] = ("float16", "bfloat16")  # storage: arithmetic is in float32
NUMBERS: tuple[Dtype, ...] = INTS + FLOATS
ANY: tuple[Dtype, ...] = BOOL + NUMBERS


def has_derivative(dtype: Dtype) -> bool:
    return dtype in FLOATS + HALVES


def computed_in(dtype: Dtype) -> Dtype:
    """The type of arithmetic on values of a type: halves are widened."""
    return "float32" if dtype in HALVES else dtype


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function of ``arity`` operands of one dtype (``where``: bool, x, x)."""

    name: str
    arity: int
    result: ResultType
    accepts: tuple[Dtype, ...]
    numpy: Callable[..., Array]


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * np.tanh(0.5 * x) + 0.5, x.dtype)


def _divide(x: Array, y: Array) -> Array:
    return np.asarray(np.true_divide(x, y), x.dtype)


_SAME: dict[str, tuple[int, tuple[Dtype, ...], Callable[..., Array]]] = {
    "add": (2, NUMBERS, np.add),
    "sub": (2, NUMBERS, np.subtract),
    "mul": (2, NUMBERS, np.multiply),
    "div": (2, FLOATS, _divide),
    "floordiv": (2, NUMBERS, np.floor_divide),
    "mod": (2, NUMBERS, np.mod),
    "pow": (2, NUMBERS, special_functions.power),
    "minimum": (2, NUMBERS, np.minimum),
    "maximum": (2, NUMBERS, np.maximum),
    "neg": (1, NUMBERS, np.negative),
    "abs": (1, NUMBERS, np.abs),
    "sign": (1, NUMBERS, np.sign),
    "exp": (1, FLOATS, np.exp),
    "log": (1, FLOATS, np.log),
    "log1p": (1, FLOATS, np.log1p),
    "expm1": (1, FLOATS, np.expm1),
    "exp2": (1, FLOATS, np.exp2),
    "log2": (1, FLOATS, np.log2),
    "sqrt": (1, FLOATS, np.sqrt),
    "erf": (1, FLOATS, special_functions.erf),
    "erfc": (1, FLOATS, special_functions.erfc),
    "lgamma": (1, FLOATS, special_functions.lgamma),
    "digamma": (1, FLOATS, special_functions.digamma),
    "arcsinh": (1, FLOATS, np.arcsinh),
    "arctan2": (2, FLOATS, np.arctan2),
    "sin": (1, FLOATS, np.sin),
    "cos": (1, FLOATS, np.cos),
    "tan": (1, FLOATS, np.tan),
    "tanh": (1, FLOATS, np.tanh),
    "sigmoid": (1, FLOATS, _sigmoid),
    "floor": (1, FLOATS, np.floor),
    "ceil": (1, FLOATS, np.ceil),
    "round": (1, FLOATS, np.round),
    "bitand": (2, INTS, np.bitwise_and),
    "bitor": (2, INTS, np.bitwise_or),
    "bitxor": (2, INTS, np.bitwise_xor),
    "shl": (2, INTS, special_functions.left_shift),
    "shr": (2, INTS, special_functions.right_shift),
    "and": (2, BOOL, np.logical_and),
    "or": (2, BOOL, np.logical_or),
    "not": (1, BOOL, np.logical_not),
    "stop_gradient": (1, ANY, np.positive),
}
_COMPARISONS: dict[str, Callable[..., Array]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def _identity(x: Array) -> Array:
    return x


def _coding(half: Dtype) -> dict[str, Function]:
    """Rounding to a half's bits, to the nearest and halfway to even, and the value of bits."""

    def bits(x: Array) -> Array:
        return x.astype(half).view("uint16")

    def value(x: Array) -> Array:
        return x.view(half).astype("float32")

    return {
        f"{half}_bits": Function(f"{half}_bits", 1, "uint16", ("float32",), bits),
        f"{half}_value": Function(f"{half}_value", 1, "float32", ("uint16",), value),
    }


FUNCTIONS: dict[str, Function] = {
    **{
        name: Function(name, arity, "same", accepts, fn)
        for name, (arity, accepts, fn) in _SAME.items()
    },
    **{name: Function(name, 2, "bool", ANY, fn) for name, fn in _COMPARISONS.items()},
    "stop_gradient": Function("stop_gradient", 1, "same", ANY, _identity),
    "isfinite": Function("isfinite", 1, "bool", FLOATS, np.isfinite),
    "where": Function("where", 3, "same", ANY, np.where),
    "cast": Function("cast", 1, "declared", ANY + HALVES, _identity),
    **_coding("float16"),
    **_coding("bfloat16"),
}


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold of a range of values: what it gives for none, and how it takes one more.

    It ``repeats`` a function of two, or gives the position of the first value that ``beats`` all
    before it. Where it ``rounds``, its value depends on the order.
    """

    name: str
    accepts: tuple[Dtype, ...]
    unit: bool | int | Literal["lowest", "highest"]
    repeats: str = ""
    beats: str = ""
    rounds: bool = False


FOLDS: dict[str, Fold] = {
    fold.name: fold
    for fold in (
        Fold("sum", NUMBERS, 0, "add", rounds=True),
        Fold("prod", NUMBERS, 1, "mul", rounds=True),
        Fold("max", NUMBERS, "lowest", "maximum"),
        Fold("min", NUMBERS, "highest", "minimum"),
        Fold("any", BOOL, False, "or"),
        Fold("all", BOOL, True, "and"),
        Fold("argmax", NUMBERS, "lowest", beats="gt"),
        Fold("argmin", NUMBERS, "highest", beats="lt"),
    )
}
REPEATED = {fold.name: fold.repeats for fold in FOLDS.values() if fold.repeats}
POSITIONS = {fold.name: fold.beats for fold in FOLDS.values() if fold.beats}


def fold_unit(fn: str, dtype: Dtype) -> bool | int | float:
    """The value of an empty fold: 0, 1, the lowest or the highest value of the dtype."""
    unit = FOLDS[fn].unit
    if not isinstance(unit, str):
        return unit
    if dtype in FLOATS:
        return -np.inf if unit == "lowest" else np.inf
    info = np.iinfo(dtype)
    return int(info.min if unit == "lowest" else info.max)
