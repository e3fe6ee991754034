"""Elementary functions as polynomials and rational forms that vectorise, in float32 and float64.

Every function states its bound against the exact value, measured by the tests: relative 4e-7 in
float32 and 2e-15 in float64 unless its docstring says otherwise. Infinities and NaN behave as in
NumPy. No function calls a mathematics library, except the float64 power.
"""

import math
from fractions import Fraction
from math import factorial

import numpy as np

from ostinato.codegen.cpu.llvm import Value
from ostinato.codegen.cpu.vector import Float, Vector

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
_LN2 = Fraction(
    "0.69314718055994530941723212145817656807550013436025525412068000949339362196969472"
)

# Degrees at which the remainder falls below half a unit in the last place.
_EXP_DEGREE: dict[Float, int] = {"float32": 7, "float64": 13}
_LOG_TERMS: dict[Float, int] = {"float32": 5, "float64": 11}
_EXP_RANGE: dict[Float, tuple[float, float]] = {
    "float32": (-104.0, 89.0),
    "float64": (-746.0, 710.0),
}


def parts(value: Fraction, dtype: Float, count: int) -> list[float]:
    """Split a constant into floats of the type that sum to it, largest first."""
    found: list[float] = []
    for _ in range(count):
        part = float(np.dtype(dtype).type(float(value)))
        found.append(part)
        value -= Fraction(part)
    return found


def _taylor_exp(v: Vector) -> list[float]:
    """Coefficients of (exp(r) - 1 - r) / r**2."""
    return [1 / factorial(power) for power in range(_EXP_DEGREE[v.dtype], 1, -1)]


def nearest(v: Vector, x: Value, factor: float) -> tuple[Value, Value]:
    """Return the integer nearest to ``x * factor``, as a float and in the low bits of an integer.

    Adding 1.5 * 2**mantissa leaves the integer in the mantissa. Unlike a conversion this is
    defined for NaN and for values out of range.
    """
    magic = v.const(1.5 * 2.0**v.format.mantissa)
    moved = v.fma(x, v.const(factor), magic)
    return v.builder.fsub(moved, magic), v.builder.sub(v.bits(moved), v.bits(magic))


def _power_of_two(v: Vector, exponent: Value) -> Value:
    biased = v.builder.add(exponent, v.int_const(v.format.bias))
    return v.floats(v.builder.shl(biased, v.int_const(v.format.mantissa)))


def exp(v: Vector, x: Value) -> Value:
    """e**x, with gradual underflow below and infinity above."""
    b = v.builder
    high, low = parts(_LN2, v.dtype, 2)
    x = v.clamp(x, *_EXP_RANGE[v.dtype])
    n, k = nearest(v, x, 1 / math.log(2))
    r = v.fma(n, v.const(-low), v.fma(n, v.const(-high), x))
    y = b.fadd(v.fma(v.polynomial(r, _taylor_exp(v)), b.fmul(r, r), r), v.const(1.0))
    # Two factors: 2**k itself leaves the range where the result is subnormal or infinite.
    half = b.ashr(k, v.int_const(1))
    return b.fmul(b.fmul(y, _power_of_two(v, half)), _power_of_two(v, b.sub(k, half)))


def exp2(v: Vector, x: Value) -> Value:
    """2**x, exact for integers, with gradual underflow below and infinity above."""
    b, bias = v.builder, v.format.bias
    x = v.clamp(x, -float(bias + v.format.mantissa + 3), float(bias + 2))
    n, k = nearest(v, x, 1.0)
    r = b.fmul(b.fsub(x, n), v.const(math.log(2)))
    y = b.fadd(v.fma(v.polynomial(r, _taylor_exp(v)), b.fmul(r, r), r), v.const(1.0))
    half = b.ashr(k, v.int_const(1))
    return b.fmul(b.fmul(y, _power_of_two(v, half)), _power_of_two(v, b.sub(k, half)))


def expm1(v: Vector, x: Value) -> Value:
    """e**x - 1 without cancellation near 0; relative 5e-7 in float32."""
    b = v.builder
    near = v.fma(v.polynomial(x, _taylor_exp(v)), b.fmul(x, x), x)
    far = b.fsub(exp(v, x), v.const(1.0))
    return b.select(b.fcmp_ordered("<", v.call("fabs", x), v.const(0.34)), near, far)


def log(v: Vector, x: Value) -> Value:
    """Natural logarithm: -inf at 0, NaN below."""
    e, rest = _exponent_and_log(v, x)
    high, low = parts(_LN2, v.dtype, 2)
    inside = v.fma(e, v.const(high), v.fma(e, v.const(low), rest))
    return _log_edges(v, x, inside)


def log2(v: Vector, x: Value) -> Value:
    """Logarithm to base 2, exact for powers of 2."""
    e, rest = _exponent_and_log(v, x)
    return _log_edges(v, x, v.fma(rest, v.const(1 / math.log(2)), e))


def _exponent_and_log(v: Vector, x: Value) -> tuple[Value, Value]:
    """Return the exponent as a float, and the logarithm of x / 2**exponent near 1."""
    b = v.builder
    mantissa = v.int_const(v.format.mantissa)
    is_tiny = b.fcmp_ordered("<", x, v.const(2.0 ** (1 - v.format.bias)))
    scaled = b.select(is_tiny, b.fmul(x, v.const(2.0**v.format.mantissa)), x)
    origin = v.bits(v.const(math.sqrt(0.5)))
    exponent = b.ashr(b.sub(v.bits(scaled), origin), mantissa)
    # m = scaled / 2**exponent lies in [sqrt(1/2), sqrt(2)).
    m = v.floats(b.sub(v.bits(scaled), b.shl(exponent, mantissa)))
    f = b.fsub(m, v.const(1.0))
    q = b.fdiv(f, b.fadd(f, v.const(2.0)))
    series = [1 / (2 * term + 1) for term in reversed(range(1, _LOG_TERMS[v.dtype]))]
    q2 = b.fmul(q, q)
    twice = b.fadd(q, q)
    tail = v.polynomial(q2, series)
    shift = b.select(is_tiny, v.const(-float(v.format.mantissa)), v.const(0.0))
    e = b.fadd(b.sitofp(exponent, v.type), shift)
    return e, v.fma(b.fmul(twice, q2), tail, twice)


def _log_edges(v: Vector, x: Value, inside: Value) -> Value:
    b = v.builder
    finite = b.select(b.fcmp_ordered("<", x, v.const(math.inf)), inside, x)
    at_zero = b.select(b.fcmp_ordered("==", x, v.const(0.0)), v.const(-math.inf), finite)
    return b.select(b.fcmp_ordered("<", x, v.const(0.0)), v.const(math.nan), at_zero)


def log1p(v: Vector, x: Value) -> Value:
    """log(1 + x) without loss for small x."""
    b = v.builder
    u = b.fadd(v.const(1.0), x)
    rounding = b.fsub(x, b.fsub(u, v.const(1.0)))
    whole = log(v, u)
    is_finite = b.fcmp_ordered("<", v.call("fabs", whole), v.const(math.inf))
    return b.select(is_finite, b.fadd(whole, b.fdiv(rounding, u)), whole)


def tanh(v: Vector, x: Value) -> Value:
    """Hyperbolic tangent, exactly +-1 at the infinities."""
    b = v.builder
    if v.dtype == "float32":
        return _rational_tanh(v, x)
    e = expm1(v, v.clamp(b.fmul(v.call("fabs", x), v.const(2.0)), 0.0, 40.0))
    return v.call("copysign", b.fdiv(e, b.fadd(e, v.const(2.0))), x)


# Odd degree 13 over even degree 6, minimax inside the limit (the coefficients that
# Eigen and XLA also use); one division and ten fused multiply-adds.
_TANH_LIMIT = 7.90531110763549805
_TANH_ABOVE = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_BELOW = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)


def _rational_tanh(v: Vector, x: Value) -> Value:
    b = v.builder
    x2 = b.fmul(x, x)
    above = b.fmul(x, v.polynomial(x2, _TANH_ABOVE))
    inside = b.fdiv(above, v.polynomial(x2, _TANH_BELOW))
    is_far = b.fcmp_ordered(">", v.call("fabs", x), v.const(_TANH_LIMIT))
    return b.select(is_far, v.call("copysign", v.const(1.0), x), inside)


def sigmoid(v: Vector, x: Value) -> Value:
    """1 / (1 + exp(-x)), relative precision kept far below 0."""
    b = v.builder
    return b.fdiv(v.const(1.0), b.fadd(v.const(1.0), exp(v, b.fneg(x))))


def logaddexp(v: Vector, x: Value, y: Value) -> Value:
    """``log(exp(x) + exp(y))`` without overflow; equal infinities are not subtracted."""
    b = v.builder
    high, low = v.maximum(x, y), v.minimum(x, y)
    gap = b.select(b.fcmp_ordered("==", low, high), v.const(0.0), b.fsub(low, high))
    return b.fadd(high, log1p(v, exp(v, gap)))


def softplus(v: Vector, x: Value) -> Value:
    """log(1 + exp(x)) without overflow."""
    b = v.builder
    fade = log1p(v, exp(v, b.fneg(v.call("fabs", x))))
    return b.fadd(v.maximum(x, v.const(0.0)), fade)
