"""Elementary functions as polynomials and rational forms that vectorise, in float32 and float64.

Every function states its bound against the exact value, measured by the tests: relative 4e-7 in
float32 and 2e-15 in float64 unless its docstring says otherwise. Infinities and NaN behave as in
NumPy. No function calls a mathematics library, except the float64 power.
"""

import math
from fractions import Fraction
from math import factorial

import numpy as np

from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.vector import Float, Vector

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068000949339362196969472")

# exp(r) for |r| <= log(2) / 2 after 1 + r, near minimax.
_EXP: dict[Float, tuple[float, ...]] = {
    "float32": (0.001381454018, 0.008368745109, 0.04166839078, 0.166665204, 0.4999999343),
    "float64": (
        2.5000018833187374e-08,
        2.76303062502936e-07,
        2.7557586803895326e-06,
        2.480149294963387e-05,
        0.00019841269505773776,
        0.0013888888943759965,
        0.008333333333494976,
        0.041666666666529725,
        0.1666666666666641,
        0.5000000000000011,
    ),
}
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


def _scaled(v: Vector, y: Value, moved: Value) -> Value:
    """``y * 2**k`` for the integer k that was moved by ``_far``.

    Two factors: 2**k itself leaves the range where the result is subnormal or infinite.
    """
    b, mantissa = v.builder, v.format.mantissa
    bits = v.bits(moved)
    halved = b.shl(bits, v.int_const(mantissa - 1))
    exponents = (1 << v.format.bits - mantissa) - 1
    first = b.and_(halved, v.int_const(_signed(exponents << mantissa, v.format.bits)))
    second = b.sub(b.shl(bits, v.int_const(mantissa)), first)
    return b.fmul(b.fmul(y, v.floats(first)), v.floats(second))


def _signed(word: int, bits: int) -> int:
    return word - (1 << bits) if word >> bits - 1 else word


def _far(v: Vector) -> Value:
    """What moves an integer into the low bits, twice the bias above itself."""
    return v.const(1.5 * 2.0**v.format.mantissa + 2 * v.format.bias)


def _near(v: Vector, r: Value) -> Value:
    """e**r for ``|r| <= log(2) / 2``."""
    return v.polynomial(r, (*_EXP[v.dtype], 1.0, 1.0))


def exp(v: Vector, x: Value) -> Value:
    """e**x, with gradual underflow below and infinity above."""
    return _exp(v, v.clamp(x, *_EXP_RANGE[v.dtype]))


def exp_of_sum(v: Vector, x: Value, rest: Value) -> Value:
    """e**(x + rest), where ``rest`` is at most in the last places of ``x``."""
    return _exp(v, v.clamp(x, *_EXP_RANGE[v.dtype]), rest)


def _exp(v: Vector, x: Value, rest: Value | None = None) -> Value:
    """e**(x + rest) inside the range."""
    b, far = v.builder, _far(v)
    high, low = parts(LN2, v.dtype, 2)
    moved = v.fma(x, v.const(1 / math.log(2)), far)
    n = b.fsub(moved, far)
    r = v.fma(n, v.const(-low), v.fma(n, v.const(-high), x))
    return _scaled(v, _near(v, r if rest is None else b.fadd(r, rest)), moved)


def exp2(v: Vector, x: Value) -> Value:
    """2**x, exact for integers, with gradual underflow below and infinity above."""
    b, far, bias = v.builder, _far(v), v.format.bias
    x = v.clamp(x, -float(bias + v.format.mantissa + 3), float(bias + 2))
    moved = b.fadd(x, far)
    r = b.fmul(b.fsub(x, b.fsub(moved, far)), v.const(math.log(2)))
    return _scaled(v, _near(v, r), moved)


def expm1(v: Vector, x: Value) -> Value:
    """e**x - 1 without cancellation near 0; relative 5e-7 in float32."""
    b = v.builder
    near = v.fma(v.polynomial(x, _taylor_exp(v)), b.fmul(x, x), x)
    near = v.call("copysign", near, x)  # the sum with x is +0 at -0
    far = b.fsub(exp(v, x), v.const(1.0))
    return b.select(b.fcmp_ordered("<", v.call("fabs", x), v.const(0.34)), near, far)


def log(v: Vector, x: Value) -> Value:
    """Natural logarithm: -inf at 0, NaN below."""
    e, rest = _exponent_and_log(v, x)
    high, low = parts(LN2, v.dtype, 2)
    inside = v.fma(e, v.const(high), v.fma(e, v.const(low), rest))
    return log_edges(v, x, inside)


def log2(v: Vector, x: Value) -> Value:
    """Logarithm to base 2, exact for powers of 2."""
    e, rest = _exponent_and_log(v, x)
    return log_edges(v, x, v.fma(rest, v.const(1 / math.log(2)), e))


def _exponent_and_log(v: Vector, x: Value) -> tuple[Value, Value]:
    """Return the exponent as a float, and the logarithm of x / 2**exponent near 1."""
    b = v.builder
    e, m = exponent_and_mantissa(v, x)
    f = b.fsub(m, v.const(1.0))
    q = b.fdiv(f, b.fadd(f, v.const(2.0)))
    series = [1 / (2 * term + 1) for term in reversed(range(1, _LOG_TERMS[v.dtype]))]
    q2 = b.fmul(q, q)
    twice = b.fadd(q, q)
    return e, v.fma(b.fmul(twice, q2), v.polynomial(q2, series), twice)


def exponent_and_mantissa(v: Vector, x: Value) -> tuple[Value, Value]:
    """Return e and m with x = m * 2**e and m in [sqrt(1/2), sqrt(2)), for positive x."""
    b = v.builder
    mantissa = v.int_const(v.format.mantissa)
    is_tiny = b.fcmp_ordered("<", x, v.const(2.0 ** (1 - v.format.bias)))
    scaled = b.select(is_tiny, b.fmul(x, v.const(2.0**v.format.mantissa)), x)
    origin = v.bits(v.const(math.sqrt(0.5)))
    exponent = b.ashr(b.sub(v.bits(scaled), origin), mantissa)
    m = v.floats(b.sub(v.bits(scaled), b.shl(exponent, mantissa)))
    shift = b.select(is_tiny, v.const(-float(v.format.mantissa)), v.const(0.0))
    return b.fadd(b.sitofp(exponent, v.type), shift), m


def log_edges(v: Vector, x: Value, inside: Value) -> Value:
    """The logarithm of ``x`` from what it is for positive finite numbers."""
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
    found = b.select(is_finite, b.fadd(whole, b.fdiv(rounding, u)), whole)
    return v.call("copysign", found, x)  # also at -0, which the sum with 1 forgets


def tanh(v: Vector, x: Value) -> Value:
    """Hyperbolic tangent, exactly +-1 at the infinities."""
    b = v.builder
    if v.dtype == "float32":
        return _rational_tanh(v, x)
    e = expm1(v, v.clamp(b.fmul(v.call("fabs", x), v.const(2.0)), 0.0, 40.0))
    return v.call("copysign", b.fdiv(e, b.fadd(e, v.const(2.0))), x)


# Odd degree 13 over even degree 6, minimax inside the limit (the coefficients that Eigen and
# XLA also use), times 256: a product with them then loses nothing where x is tiny.
_TANH_LIMIT = 7.99881172180175781  # the first place where the quotient is 1: so is all beyond
_TANH_ABOVE = tuple(
    256.0 * each
    for each in (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    )
)
_TANH_BELOW = tuple(
    256.0 * each
    for each in (
        1.19825839466702e-06,
        1.18534705686654e-04,
        2.26843463243900e-03,
        4.89352518554385e-03,
    )
)


def _rational_tanh(v: Vector, x: Value) -> Value:
    b = v.builder
    x2 = b.fmul(x, x)
    # The quotient last: nothing but the result waits for it.
    inside = b.fdiv(b.fmul(x, v.polynomial(x2, _TANH_ABOVE)), v.polynomial(x2, _TANH_BELOW))
    is_far = b.fcmp_ordered(">", x2, v.const(_TANH_LIMIT * _TANH_LIMIT))
    return b.select(is_far, v.call("copysign", v.const(1.0), x), inside)


_ALMOST_ALL = 40.0  # the sigmoid from here is 1


def sigmoid(v: Vector, x: Value) -> Value:
    """e**x / (1 + e**x), relative precision kept far below 0."""
    b = v.builder
    y = _exp(v, v.clamp(x, _EXP_RANGE[v.dtype][0], _ALMOST_ALL))
    return b.fdiv(y, b.fadd(v.const(1.0), y))


def logaddexp(v: Vector, x: Value, y: Value) -> Value:
    """``log(exp(x) + exp(y))`` without overflow; equal infinities are not subtracted."""
    b = v.builder
    high, low = v.maximum(x, y), v.minimum(x, y)
    gap = b.select(b.fcmp_ordered("==", low, high), v.const(0.0), b.fsub(low, high))
    return b.fadd(high, log1p(v, exp(v, gap)))
