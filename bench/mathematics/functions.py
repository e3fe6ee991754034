"""The functions that are judged: their exact values, and the bounds that are stated.

A bound is in units of the last place (ulp) of the exact result, over all floats. Functions with
zeros that no formula reaches exactly (`lgamma`, `digamma`, `logaddexp`) are judged in the last
place of the larger of 1 and the result, the first two from 0 on: their poles below have any slope.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.cpu.primitive import Written
from ostinato.codegen.cpu.scalar import PRIMITIVES

Array = npt.NDArray[Any]
Exact = Callable[..., Array]
SUFFIX = {"float32": "f32", "float64": "f64"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one or two floats, and the largest error of each type."""

    name: str
    exact: Exact
    float32: float
    float64: float
    arity: int = 1
    slow: bool = False  # the exact values take long
    flat: bool = False  # judged in the last place of the larger of 1 and the result
    low: float = -math.inf  # judged from here on

    def bound(self, dtype: str) -> float:
        return self.float32 if dtype == "float32" else self.float64

    def primitive(self, dtype: str) -> Written:
        found = PRIMITIVES[f"{self.name}_{SUFFIX[dtype]}"]
        assert isinstance(found, Written), f"{self.name} is not written as instructions"
        return found


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small / (1 + small), 1 / (1 + small))


def _digits(name: str, low: float, high: float) -> Exact:
    """A function to 30 digits, one element at a time; beyond the ends it is what it is there."""

    def one(x: float) -> np.longdouble:
        mpmath: Any = importlib.import_module("mpmath")
        if np.isnan(x):
            return np.longdouble(math.nan)
        with mpmath.workdps(30):
            exact = mpmath_function(mpmath, name)(mpmath.mpf(min(max(float(x), low), high)))
            return np.longdouble(mpmath.nstr(exact.real, 25))

    return np.vectorize(one, otypes=[np.longdouble])


def mpmath_function(mpmath: Any, name: str) -> Any:
    """The function of that name, with its limits at infinity and 0."""
    known = {"lgamma": "loggamma"}
    function = getattr(mpmath, known.get(name, name))
    if name not in ("lgamma", "digamma"):
        return function

    def apply(x: Any) -> Any:
        if x == 0:
            return mpmath.inf if name == "lgamma" else mpmath.nan
        return mpmath.inf if mpmath.isinf(x) else function(x)

    return apply


FUNCTIONS = (
    Function("exp", np.exp, 1, 1),
    Function("exp2", np.exp2, 1, 1),
    Function("expm1", np.expm1, 3, 4),
    Function("log", np.log, 2, 2),
    Function("log2", np.log2, 3, 3),
    Function("log1p", np.log1p, 3, 3),
    Function("tanh", np.tanh, 5, 4),
    Function("sigmoid", _sigmoid, 3, 3),
    Function("sin", np.sin, 2, 2.5),
    Function("cos", np.cos, 2, 2.5),
    Function("tan", np.tan, 4, 4),
    Function("arcsinh", np.arcsinh, 4, 4),
    Function("sqrt", np.sqrt, 0.5, 0.51),
    Function("erf", _digits("erf", -200, 200), 3, 3, slow=True),
    Function("erfc", _digits("erfc", -200, 100), 5, 5, slow=True),
    Function("lgamma", _digits("lgamma", 0, math.inf), 1, 3, slow=True, flat=True, low=0.0),
    Function("digamma", _digits("digamma", 0, math.inf), 1, 8, slow=True, flat=True, low=0.0),
    Function("abs", np.abs, 0, 0),
    Function("floor", np.floor, 0, 0),
    Function("ceil", np.ceil, 0, 0),
    Function("round", np.round, 0, 0),
    Function("sign", np.sign, 0, 0),
    Function("pow", np.power, 1, 1.5, arity=2),
    Function("arctan2", np.arctan2, 3, 3, arity=2),
    Function("logaddexp", np.logaddexp, 2, 2, arity=2, flat=True),
    Function("mod", np.mod, 0, 0, arity=2),
    Function("floordiv", np.floor_divide, 0, 0, arity=2),
)
