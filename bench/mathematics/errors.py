"""The largest error of a function over many arguments, in units of the last place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.mathematics.functions import Function
from bench.mathematics.loops import applied

Array = npt.NDArray[Any]
_EXACTLY = ("mod", "floordiv")  # computed by NumPy without rounding in the type itself


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error and where it is."""

    ulp: float
    at: tuple[float, ...]
    count: int


def worst(function: Function, dtype: str, arguments: Sequence[Array]) -> Worst:
    """Compare with exact values of more digits; what is not finite has to be the same.

    The error of a number where NaN or infinity is right, or the other way round, is infinite.
    """
    found = applied(function.primitive(dtype), *arguments)
    with np.errstate(all="ignore"):
        exact = exact_values(function, dtype, arguments)
        rounded = exact.astype(dtype)
        least = 1.0 if function.flat else 0.0
        place = np.spacing(np.maximum(np.abs(rounded), np.dtype(dtype).type(least)))
        error = np.abs(found - exact) / place.astype(exact.dtype)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    both = np.isfinite(found) & np.isfinite(rounded)
    # A result beyond the largest float may be rounded to it or to infinity.
    largest = np.isinf(found) & (rounded == np.copysign(np.finfo(dtype).max, found))
    error = np.where(both, error, np.where(same, 0.0, np.where(largest, 1.0, np.inf)))
    first = int(np.argmax(error))
    return Worst(float(error[first]), tuple(float(x[first]) for x in arguments), error.size)


def exact_values(function: Function, dtype: str, arguments: Sequence[Array]) -> Array:
    """Values to more digits than the type has."""
    if function.name in _EXACTLY:
        return np.asarray(function.exact(*arguments))
    wide = np.float64 if dtype == "float32" and not function.slow else np.longdouble
    return function.exact(*(each.astype(wide) for each in arguments))
