"""Elementary and special functions of tensors; integers are taken to float32.

Errors of compiled functions are at most 4e-7 in float32 and 2e-15 in float64, relative to the
result, unless a docstring says otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from ostinato.language.array.dtypes import accepted
from ostinato.language.functions import basic as f
from ostinato.language.functions.basic import abs as absolute
from ostinato.language.functions.basic import clip, expm1, met, softplus, tanh, where
from ostinato.language.tensor import Tensor, as_tensor, elementwise
from ostinato.pdg.functions import FLOATS

TINY = 1e-30  # whose square vanishes beside 1, and whose half is exact


def _float(x: object) -> Tensor:
    operand = as_tensor(x)
    return operand.cast(accepted(operand.dtype, FLOATS))


def _floats(x: object, y: object) -> tuple[Tensor, Tensor]:
    """Operands in the float type in which they meet."""
    left, right = met(x, y)
    return _float(left), _float(right)


def exp2(x: object) -> Tensor:
    """Return ``2 ** x``."""
    return elementwise("exp2", x)


def log2(x: object) -> Tensor:
    """Return the logarithm to base 2, exact for powers of 2."""
    return elementwise("log2", x)


def log10(x: object) -> Tensor:
    """Return the logarithm to base 10, computed from that to base 2."""
    return elementwise("log2", x) * math.log10(2)


def reciprocal(x: object) -> Tensor:
    """Return ``1 / x``, of integers in float32."""
    return 1.0 / _float(x)


def rsqrt(x: object) -> Tensor:
    """Return ``1 / sqrt(x)``."""
    return 1.0 / elementwise("sqrt", x)


def _half_exponentials(x: object) -> tuple[Tensor, Tensor]:
    half = 0.5 * _float(x)
    return f.expm1(half), f.expm1(-half)


def sinh(x: object) -> Tensor:
    """Return the hyperbolic sine, precise near 0 and up to the largest float; relative 1e-6."""
    given = _float(x)
    up, down = _half_exponentials(given)
    # Half of the smallest number is 0, and the smallest numbers are their own sines.
    return where(absolute(given) < TINY, given, 0.5 * (up - down) * (up + down + 2.0))


def cosh(x: object) -> Tensor:
    """Return the hyperbolic cosine, relative error at most 1e-6 in float32."""
    up, down = _half_exponentials(x)
    return 1.0 + 0.5 * (up - down) * (up - down)


def arctan2(y: object, x: object) -> Tensor:
    """Return the angle of the point (x, y), from -pi to pi."""
    return elementwise("arctan2", y, x)


def arctan(x: object) -> Tensor:
    return elementwise("arctan2", _float(x), 1.0)


def arcsin(x: object) -> Tensor:
    """Return the angle from -pi/2 to pi/2 with sine ``x``; NaN outside [-1, 1]."""
    sine = _float(x)
    return elementwise("arctan2", sine, f.sqrt((1.0 - sine) * (1.0 + sine)))


def arccos(x: object) -> Tensor:
    """Return the angle from 0 to pi with cosine ``x``; NaN outside [-1, 1]."""
    cosine = _float(x)
    return 2.0 * elementwise("arctan2", f.sqrt(1.0 - cosine), f.sqrt(1.0 + cosine))


def arcsinh(x: object) -> Tensor:
    return elementwise("arcsinh", x)


def arccosh(x: object) -> Tensor:
    """Return the area hyperbolic cosine; NaN below 1."""
    return 2.0 * elementwise("arcsinh", f.sqrt(0.5 * (_float(x) - 1.0)))


def arctanh(x: object) -> Tensor:
    """Return the area hyperbolic tangent; NaN outside [-1, 1]."""
    operand = _float(x)
    return 0.5 * (f.log1p(operand) - f.log1p(-operand))


def erf(x: object) -> Tensor:
    """Return the error function, ``2 / sqrt(pi)`` times the integral of ``exp(-s * s)`` from 0."""
    return elementwise("erf", x)


def erfc(x: object) -> Tensor:
    """Return ``1 - erf(x)``, precise where it is small."""
    return elementwise("erfc", x)


def lgamma(x: object) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function; inf at its poles.

    The error is relative to the larger of 1 and the result: 1e-7 in float32 and 4e-15 in float64.

    >>> import ostinato as ot
    >>> factorial = ot.exp(ot.lgamma(ot.constant([1.0, 4.0, 6.0])))
    >>> ot.Program(y=ot.round(factorial)).interpret()["y"].tolist()
    [1.0, 6.0, 120.0]
    """
    return elementwise("lgamma", x)


def digamma(x: object) -> Tensor:
    """Return the derivative of `lgamma`; NaN at its poles. Errors are those of `lgamma`."""
    return elementwise("digamma", x)


def trunc(x: object) -> Tensor:
    """Return the integers towards 0."""
    operand = as_tensor(x)
    return f.where(operand < 0, f.ceil(operand), f.floor(operand))


def isnan(x: object) -> Tensor:
    operand = as_tensor(x)
    return operand != operand


def isinf(x: object) -> Tensor:
    return f.abs(_float(x)) == math.inf


def nan_to_num(
    x: object, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Return ``x`` with numbers in place of NaN and infinities.

    The default for an infinity is the largest or lowest number of the type. Gradients pass where
    ``x`` is finite.
    """
    operand = _float(x)
    largest = float(np.finfo(operand.dtype).max)
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    bounded = f.where(operand == math.inf, high, f.where(operand == -math.inf, low, operand))
    return f.where(isnan(operand), nan, bounded)


def logaddexp(x: object, y: object) -> Tensor:
    """Return ``log(exp(x) + exp(y))`` without overflow."""
    left, right = _floats(x, y)
    is_first = left >= right  # chosen by a mask, so that derivatives of every order hold at ties
    top, low = f.where(is_first, left, right), f.where(is_first, right, left)
    gap = f.where(f.isfinite(top), low - top, 0.0)  # inf - inf has no value
    return f.where(isnan(low), low, top) + f.log1p(f.exp(gap))


def hypot(x: object, y: object) -> Tensor:
    """Return ``sqrt(x * x + y * y)`` without overflow, infinite beside an infinity.

    The gradient is 0 at the origin and at infinities.
    """
    left, right = _floats(x, y)
    size = f.stop_gradient(f.maximum(f.abs(left), f.abs(right)))
    is_infinite = isinf(left) | isinf(right)  # beside NaN too
    is_known = (size == 0) | is_infinite
    scale = f.where(f.isfinite(size) & ~is_known, size, 1.0)
    left, right = (f.where(is_known, 0.0, each) / scale for each in (left, right))
    squares = f.where(is_known, 1.0, left * left + right * right)
    return f.where(is_known, f.where(is_infinite, math.inf, 0.0), scale * f.sqrt(squares))


def fmod(x: object, y: object) -> Tensor:
    """Return the remainder of the division towards 0, with the sign of ``x``; exact.

    Integers divided by 0 give 0.
    """
    left, right = met(x, y)
    if left.dtype in FLOATS:
        turned = f.where((left < 0) ^ (right < 0), -right, right)
        rest = left % turned
        return f.where(rest == left, left, rest)  # of -0.0 too, whose sign is not below 0
    rest = left % right
    return f.where((rest != 0) & ((rest < 0) ^ (left < 0)), rest - right, rest)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return ``x`` above 0, else ``alpha * (exp(x) - 1)``.

    Source: Clevert et al. 2016, Exponential linear units.
    """
    is_above = x > 0
    return where(is_above, x, alpha * expm1(where(is_above, 0.0, x)))


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """Return ``x`` above 0, else ``slope * x``."""
    return where(x > 0, x, slope * x)


def hard_tanh(x: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    """Return ``x`` clipped to [low, high]."""
    return clip(x, low, high)


def mish(x: Tensor) -> Tensor:
    """Return ``x * tanh(softplus(x))``.

    Source: Misra 2020, Mish: a self regularized non-monotonic activation function.
    """
    return x * tanh(softplus(x))


def softsign(x: Tensor) -> Tensor:
    """Return ``x / (1 + abs(x))``."""
    return x / (1.0 + absolute(x))
