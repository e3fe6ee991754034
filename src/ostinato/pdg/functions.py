"""The elementwise functions and the folds: one record each, from which every table is derived.

A record is the only place that says what a function means, how it is differentiated and what the
stages may assume of it: the interpreter evaluates with it, and every other stage is tested against
it. Code generators keep their code for a function under its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes as ml_dtypes  # gives NumPy the dtype "bfloat16"
import numpy as np
import numpy.typing as npt

from ostinato.pdg import partial_derivatives as d
from ostinato.pdg import special_functions
from ostinato.pdg.constant import Scalar
from ostinato.pdg.node import Dtype, Node
from ostinato.pdg.partial_derivatives import Partial

Array = npt.NDArray[Any]
ResultType = Literal["same", "bool", "uint16", "float32", "declared"]

BOOL: tuple[Dtype, ...] = ("bool",)
INTS: tuple[Dtype, ...] = ("int32", "int64", "uint32")
FLOATS: tuple[Dtype, ...] = ("float32", "float64")
HALVES: tuple[Dtype, ...] = ("float16", "bfloat16")  # storage: arithmetic is in float32
NUMBERS: tuple[Dtype, ...] = INTS + FLOATS
ANY: tuple[Dtype, ...] = BOOL + NUMBERS

COMPARED, ADDED, MULTIPLIED, ATOM = 1, 2, 3, 9  # how tightly operators bind their operands


def has_derivative(dtype: Dtype) -> bool:
    return dtype in FLOATS + HALVES


def computed_in(dtype: Dtype) -> Dtype:
    """The type of arithmetic on values of a type: halves are widened."""
    return "float32" if dtype in HALVES else dtype


Price = Literal["free", "step", "slow", "long"]


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function of ``arity`` operands of one dtype (``where``: bool, x, x).

    - ``partials``: the derivative by each operand; none where no gradient passes.
    - ``sign``: how it is written before its operand or between its operands, which it ``binds``.
    - ``price``: "free" takes no instruction and "step" one or two, "slow" few that take long, and
      "long" so many that much is lost where they take one element at a time.
    - ``is_tame``: it and its derivatives are finite at all finite operands; of others ``safe`` has
      operands at which they are, None for any, or is empty: they are looked for.
    - ``overflows``: it may be infinite at finite operands that are no poles.
    - ``limits``: values that it only comes near to, but for rounding.
    - ``code``: for each type an expression that stands for it: see `ostinato.pdg.expansion`.
    """

    name: str
    arity: int
    accepts: tuple[Dtype, ...]
    numpy: Callable[..., Array]
    partials: tuple[Partial, ...] = ()
    result: ResultType = "same"
    sign: str = ""
    binds: int = ATOM
    price: Price = "step"
    is_tame: bool = False
    safe: tuple[Scalar | None, ...] = ()
    commutes: bool = False
    overflows: bool = False
    limits: tuple[float, ...] = ()
    code: Mapping[Dtype, Node] | None = None


def _sigmoid(x: Array) -> Array:
    below = np.exp(-np.abs(x))  # precise far below 0, where the tanh is -1
    return np.asarray(np.where(x < 0, below, 1) / (1 + below), x.dtype)


def _divide(x: Array, y: Array) -> Array:
    return np.asarray(np.true_divide(x, y), x.dtype)


def _identity(x: Array) -> Array:
    return x


def _compared(name: str, sign: str, numpy: np.ufunc, commutes: bool = False) -> Function:
    return Function(
        name, 2, ANY, numpy, (), "bool", sign, COMPARED, is_tame=True, commutes=commutes
    )


def _bitwise(name: str, sign: str, numpy: Callable[..., Array]) -> Function:
    return Function(name, 2, INTS, numpy, (), "same", sign, ADDED, safe=(None, None), commutes=True)


def _coding(half: Dtype) -> tuple[Function, Function]:
    """Rounding to a half's bits, to the nearest and halfway to even, and the value of bits."""

    def bits(x: Array) -> Array:
        return x.astype(half).view("uint16")

    def value(x: Array) -> Array:
        return x.view(half).astype("float32")

    return (
        Function(f"{half}_bits", 1, ("float32",), bits, result="uint16"),
        Function(f"{half}_value", 1, ("uint16",), value, result="float32"),
    )


# fmt: off
_ARITHMETIC = (
    Function("add", 2, NUMBERS, np.add,
             (lambda a, up, z, x, y: up, lambda a, up, z, x, y: up),
             sign="+", binds=ADDED, is_tame=True, commutes=True, overflows=True),
    Function("sub", 2, NUMBERS, np.subtract,
             (lambda a, up, z, x, y: up, lambda a, up, z, x, y: a.neg(up)),
             sign="-", binds=ADDED, is_tame=True, overflows=True),
    Function("mul", 2, NUMBERS, np.multiply,
             (lambda a, up, z, x, y: a.mul(up, y), lambda a, up, z, x, y: a.mul(up, x)),
             sign="*", binds=MULTIPLIED, is_tame=True, commutes=True, overflows=True),
    Function("div", 2, FLOATS, _divide,
             (lambda a, up, z, x, y: a.div(up, y),
              lambda a, up, z, x, y: a.neg(a.mul(a.div(up, y), z))),
             sign="/", binds=MULTIPLIED, price="slow", safe=(None, 1), overflows=True),
    Function("floordiv", 2, NUMBERS, np.floor_divide,
             sign="//", binds=MULTIPLIED, price="slow", safe=(None, 1)),
    Function("mod", 2, NUMBERS, np.mod,
             (lambda a, up, z, x, y: up,
              lambda a, up, z, x, y: a.neg(a.mul(up, a.map("floordiv", x, y)))),
             sign="%", binds=MULTIPLIED, price="slow", safe=(None, 1)),
    Function("pow", 2, NUMBERS, special_functions.power,
             (lambda a, up, z, x, y: d.base(a, up, x, y),
              lambda a, up, z, x, y: d.exponent(a, up, z, x)),
             price="long", safe=(1, None), overflows=True),
    Function("minimum", 2, NUMBERS, np.minimum,
             (lambda a, up, z, x, y: d.share(a, up, a.map("lt", x, y), x, y),
              lambda a, up, z, x, y: d.share(a, up, a.map("lt", y, x), x, y)),
             is_tame=True, commutes=True),
    Function("maximum", 2, NUMBERS, np.maximum,
             (lambda a, up, z, x, y: d.share(a, up, a.map("gt", x, y), x, y),
              lambda a, up, z, x, y: d.share(a, up, a.map("gt", y, x), x, y)),
             is_tame=True, commutes=True),
    Function("neg", 1, NUMBERS, np.negative, (lambda a, up, z, x, y: a.neg(up),),
             sign="-", binds=MULTIPLIED, is_tame=True),
    Function("abs", 1, NUMBERS, np.abs, (lambda a, up, z, x, y: a.mul(up, a.map("sign", x)),),
             is_tame=True),
    Function("sign", 1, NUMBERS, np.sign, is_tame=True),
)
_ELEMENTARY = (
    Function("exp", 1, FLOATS, np.exp, (lambda a, up, z, x, y: a.mul(up, z),),
             price="long", overflows=True, limits=(0.0,)),
    Function("log", 1, FLOATS, np.log, (lambda a, up, z, x, y: a.div(up, x),), price="long"),
    Function("log1p", 1, FLOATS, np.log1p,
             (lambda a, up, z, x, y: a.div(up, a.add(x, a.number(1, z))),), price="long"),
    Function("expm1", 1, FLOATS, np.expm1,
             (lambda a, up, z, x, y: a.mul(up, a.add(z, a.number(1, z))),),
             price="long", overflows=True, limits=(-1.0,)),
    Function("exp2", 1, FLOATS, np.exp2,
             (lambda a, up, z, x, y: a.scale(a.mul(up, z), math.log(2)),),
             price="long", overflows=True, limits=(0.0,)),
    Function("log2", 1, FLOATS, np.log2,
             (lambda a, up, z, x, y: a.div(a.scale(up, 1 / math.log(2)), x),), price="long"),
    Function("sqrt", 1, FLOATS, np.sqrt,
             (lambda a, up, z, x, y: a.div(a.scale(up, 0.5), z),), price="slow"),
    Function("erf", 1, FLOATS, special_functions.erf,
             (lambda a, up, z, x, y: d.bell(a, up, x, 1),), price="long", limits=(-1.0, 1.0)),
    Function("erfc", 1, FLOATS, special_functions.erfc,
             (lambda a, up, z, x, y: d.bell(a, up, x, -1),), price="long", limits=(0.0,)),
    Function("lgamma", 1, FLOATS, special_functions.lgamma,
             (lambda a, up, z, x, y: a.mul(up, a.map("digamma", x)),), price="long"),
    Function("digamma", 1, FLOATS, special_functions.digamma,
             (lambda a, up, z, x, y: d.trigamma(a, up, x),), price="long"),
    Function("arcsinh", 1, FLOATS, np.arcsinh,
             (lambda a, up, z, x, y: (
                 a.div(up, a.map("sqrt", a.add(a.mul(x, x), a.number(1, z))))),), price="long"),
    Function("arctan2", 2, FLOATS, np.arctan2,
             (lambda a, up, z, x, y: d.angle(a, up, x, y, y),
              lambda a, up, z, x, y: a.neg(d.angle(a, up, x, y, x))), price="long"),
    Function("sin", 1, FLOATS, np.sin, (lambda a, up, z, x, y: a.mul(up, a.map("cos", x)),),
             price="long", is_tame=True),
    Function("cos", 1, FLOATS, np.cos,
             (lambda a, up, z, x, y: a.neg(a.mul(up, a.map("sin", x))),),
             price="long", is_tame=True),
    Function("tan", 1, FLOATS, np.tan,
             (lambda a, up, z, x, y: a.mul(up, a.add(a.mul(z, z), a.number(1, z))),),
             price="long"),
    Function("tanh", 1, FLOATS, np.tanh,
             (lambda a, up, z, x, y: a.mul(up, a.sub(a.number(1, z), a.mul(z, z))),),
             price="long", is_tame=True, limits=(-1.0, 1.0)),
    Function("sigmoid", 1, FLOATS, _sigmoid,
             (lambda a, up, z, x, y: a.mul(up, a.mul(z, a.sub(a.number(1, z), z))),),
             price="long", is_tame=True, limits=(0.0, 1.0)),
    Function("floor", 1, FLOATS, np.floor, is_tame=True),
    Function("ceil", 1, FLOATS, np.ceil, is_tame=True),
    Function("round", 1, FLOATS, np.round, is_tame=True),
)
_DISCRETE = (
    _bitwise("bitand", "&", np.bitwise_and),
    _bitwise("bitor", "|", np.bitwise_or),
    _bitwise("bitxor", "^", np.bitwise_xor),
    Function("shl", 2, INTS, special_functions.left_shift, sign="<<", binds=ADDED),
    Function("shr", 2, INTS, special_functions.right_shift, sign=">>", binds=ADDED),
    Function("and", 2, BOOL, np.logical_and, sign="and", binds=0, is_tame=True, commutes=True),
    Function("or", 2, BOOL, np.logical_or, sign="or", binds=0, is_tame=True, commutes=True),
    Function("not", 1, BOOL, np.logical_not, sign="not ", binds=MULTIPLIED, is_tame=True),
    Function("stop_gradient", 1, ANY, _identity, price="free", is_tame=True),
    _compared("lt", "<", np.less),
    _compared("le", "<=", np.less_equal),
    _compared("gt", ">", np.greater),
    _compared("ge", ">=", np.greater_equal),
    _compared("eq", "==", np.equal, commutes=True),
    _compared("ne", "!=", np.not_equal, commutes=True),
    Function("isfinite", 1, FLOATS, np.isfinite, result="bool", is_tame=True),
    Function("where", 3, ANY, np.where,
             (lambda a, up, z, x, y: a.number(0, up),
              lambda a, up, z, x, y: a.choose(x, up, a.number(0, up)),
              lambda a, up, z, x, y: a.choose(x, a.number(0, up), up)), is_tame=True),
    Function("cast", 1, ANY + HALVES, _identity,
             (lambda a, up, z, x, y: a.cast(up, computed_in(x.dtype)),),
             result="declared", price="free", is_tame=True),
)
# fmt: on

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        *_ARITHMETIC,
        *_ELEMENTARY,
        *_DISCRETE,
        *_coding("float16"),
        *_coding("bfloat16"),
    )
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


def add_fold(fold: Fold) -> None:
    """Enter a fold that repeats a function in the tables."""
    FOLDS[fold.name], REPEATED[fold.name] = fold, fold.repeats


def fold_unit(fn: str, dtype: Dtype) -> bool | int | float:
    """The value of an empty fold: 0, 1, the lowest or the highest value of the dtype."""
    unit = FOLDS[fn].unit
    if not isinstance(unit, str):
        return unit
    if dtype in FLOATS:
        return -np.inf if unit == "lowest" else np.inf
    info = np.iinfo(dtype)
    return int(info.min if unit == "lowest" else info.max)
