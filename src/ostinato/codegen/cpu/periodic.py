"""Sine, cosine and tangent with a three-part reduction modulo a quarter turn.

Absolute error at most 2e-7 up to ``|x|`` = 1e5 in float32 and 4e-16 up to 1e9 in float64. Beyond,
the error grows with ``|x|``, and the results of sine and cosine stay within [-1, 1].
"""

import math
from math import factorial

from ostinato.codegen.cpu.elementary import PI, nearest, parts
from ostinato.codegen.cpu.llvm import Value
from ostinato.codegen.cpu.vector import Float, Vector

# Taylor degrees at which the remainder on [-pi/4, pi/4] falls below half a unit in the last place.
_DEGREE: dict[Float, int] = {"float32": 9, "float64": 17}
_REDUCED = 0.8  # a little more than pi/4, for the rounding of the quotient


def sin(v: Vector, x: Value) -> Value:
    r, quarter = _reduce(v, x)
    return _wave(v, r, quarter)


def cos(v: Vector, x: Value) -> Value:
    r, quarter = _reduce(v, x)
    return _wave(v, r, v.builder.add(quarter, v.int_const(1)))


def tan(v: Vector, x: Value) -> Value:
    """Quotient of sine and cosine; relative error 5e-7 in float32."""
    b = v.builder
    r, quarter = _reduce(v, x)
    sine, cosine = _sine(v, r), _cosine(v, r)
    is_odd = _has_bit(v, quarter, 1)
    above = b.select(is_odd, b.fneg(cosine), sine)
    return b.fdiv(above, b.select(is_odd, sine, cosine))


def cos_turns(v: Vector, turns: Value) -> Value:
    """Cosine of 2 pi ``turns``, for 0 <= turns < 1: the reduction is exact."""
    count, quarter = nearest(v, turns, 4.0)
    rest = v.fma(count, v.const(-0.25), turns)
    r = v.builder.fmul(rest, v.const(2 * math.pi))
    return _wave(v, r, v.builder.add(quarter, v.int_const(1)))


def _reduce(v: Vector, x: Value) -> tuple[Value, Value]:
    """Return ``x`` minus the nearest multiple of pi/2, and the low bits of the multiple."""
    count, quarter = nearest(v, x, 2 / math.pi)
    r = x
    for part in parts(PI / 2, v.dtype, 3):
        r = v.fma(count, v.const(-part), r)
    return v.clamp(r, -_REDUCED, _REDUCED), quarter


def _sine(v: Vector, r: Value) -> Value:
    b = v.builder
    powers = range(_DEGREE[v.dtype], 1, -2)
    tail = v.polynomial(b.fmul(r, r), [_sign(power) / factorial(power) for power in powers])
    return v.fma(b.fmul(tail, b.fmul(r, r)), r, r)


def _cosine(v: Vector, r: Value) -> Value:
    b = v.builder
    powers = range(_DEGREE[v.dtype] + 1, -1, -2)
    return v.polynomial(b.fmul(r, r), [_sign(power) / factorial(power) for power in powers])


def _sign(power: int) -> float:
    return -1.0 if power // 2 % 2 else 1.0


def _has_bit(v: Vector, integer: Value, bit: int) -> Value:
    b = v.builder
    return b.icmp_unsigned("!=", b.and_(integer, v.int_const(bit)), v.int_const(0))


def _wave(v: Vector, r: Value, quarter: Value) -> Value:
    """Sine of ``r`` plus that many quarter turns."""
    b = v.builder
    size = b.select(_has_bit(v, quarter, 1), _cosine(v, r), _sine(v, r))
    flip = b.shl(b.and_(quarter, v.int_const(2)), v.int_const(v.format.bits - 2))
    return v.floats(b.xor(v.bits(size), flip))
