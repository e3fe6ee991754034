"""Functions that NumPy lacks, computed plainly in float64 and rounded to the operand's type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# B(2k) / 2k of the asymptotic series of digamma, k = 1, 2, ...
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
SHIFTED = 10  # the series is exact to float64 from here on


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _digamma(x: float) -> float:
    if not math.isfinite(x):
        return x if x > 0 else math.nan
    if x <= 0 and x == math.floor(x):
        return math.nan
    if x < 0.5:  # reflection; the remainder keeps the tangent exact far from 0
        return _digamma(1 - x) - math.pi / math.tan(math.pi * math.remainder(x, 1.0))
    below = 0.0
    while x < SHIFTED:
        below += 1 / x
        x += 1
    series = sum(c * (1 / x) ** (2 * k) for k, c in enumerate(DIGAMMA_SERIES, 1))
    return math.log(x) - 1 / (2 * x) - series - below


def _each(fn: Callable[[float], float]) -> Callable[[Array], Array]:
    each = np.vectorize(fn, otypes=[np.float64])

    def apply(x: Array) -> Array:
        return np.asarray(each(x.astype(np.float64))).astype(x.dtype)

    return apply


erf = _each(math.erf)
erfc = _each(math.erfc)
lgamma = _each(_lgamma)
digamma = _each(_digamma)


def left_shift(x: Array, by: Array) -> Array:
    """``x << by``; 0 where ``by`` is negative or not below the number of bits."""
    bits = x.dtype.itemsize * 8
    inside = (by >= 0) & (by < bits)
    return np.where(inside, np.left_shift(x, np.where(inside, by, 0)), 0).astype(x.dtype)


def right_shift(x: Array, by: Array) -> Array:
    """``x >> by``; as if by all bits where ``by`` is negative or not below their number."""
    bits = x.dtype.itemsize * 8
    inside = (by >= 0) & (by < bits)
    gone = np.where(x < 0, -1, 0) if x.dtype.kind == "i" else np.zeros_like(x)
    return np.where(inside, np.right_shift(x, np.where(inside, by, 0)), gone).astype(x.dtype)


def power(x: Array, y: Array) -> Array:
    """``x ** y``; of integers to a negative power the quotient towards 0, and 0 of 0."""
    if x.dtype.kind != "i":
        shape = np.broadcast_shapes(x.shape, y.shape)
        return np.power(x, np.atleast_1d(y)).reshape(shape)  # NumPy takes roots for one number
    whole = np.power(x, np.maximum(y, 0))
    odd = np.where(y % 2 == 1, -1, 1)
    part = np.where(x == 1, 1, np.where(x == -1, odd, 0))
    return np.where(y < 0, part, whole).astype(x.dtype)
