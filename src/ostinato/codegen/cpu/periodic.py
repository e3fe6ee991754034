"""Sine, cosine and tangent of any finite number.

A three-part reduction modulo a quarter turn serves small arguments; vectors in which a lane is
large take the exact reduction of `payne_hanek` for it, in float64.
"""

import math
from collections.abc import Callable, Sequence
from math import factorial
from typing import TypeAlias

from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.payne_hanek import reduce_exactly
from ostinato.codegen.cpu.polynomials import PI, nearest, parts
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.codegen.cpu.vector_forms import rarely

Unary: TypeAlias = Callable[[Vector, Value], Value]

# Taylor degrees at which the remainder on [-pi/4, pi/4] falls below half a unit in the last place.
_DEGREE: dict[Float, int] = {"float32": 9, "float64": 17}


_LIMIT: dict[Float, float] = {"float32": 1e4, "float64": 1e6}
"""Up to here three parts are enough."""


def _of_any(name: str, wave: Callable[[Vector, Value, Value], Value]) -> Unary:
    """The function of any number, from its form for a reduced one."""

    def far(v: Vector, args: Sequence[Value]) -> Value:
        wide = Vector(v.builder, "float64")
        is_wide = v.dtype == "float64"
        r, quarter = reduce_exactly(wide, args[0] if is_wide else _widened(v, args[0]))
        found = wave(wide, r, quarter)
        return found if is_wide else v.builder.fptrunc(found, v.type)

    def function(v: Vector, x: Value) -> Value:
        is_far = v.builder.fcmp_ordered(">", v.call("fabs", x), v.const(_LIMIT[v.dtype]))
        found = rarely(v, f"far_{name}", is_far, [x], far)
        return v.builder.select(is_far, found, wave(v, *_reduce(v, x)))

    return function


def _widened(v: Vector, x: Value) -> Value:
    return v.builder.fpext(x, Vector(v.builder, "float64").type)


def near_sin(v: Vector, x: Value) -> Value:
    """Sine of a number that is not large."""
    return _wave(v, *_reduce(v, x))


def near_tan(v: Vector, x: Value) -> Value:
    """Tangent of a number that is not large."""
    return _tangent(v, *_reduce(v, x))


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
    return r, quarter


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


def _tangent(v: Vector, r: Value, quarter: Value) -> Value:
    b = v.builder
    sine, cosine = _sine(v, r), _cosine(v, r)
    is_odd = _has_bit(v, quarter, 1)
    above = b.select(is_odd, b.fneg(cosine), sine)
    return b.fdiv(above, b.select(is_odd, sine, cosine))


def _has_bit(v: Vector, integer: Value, bit: int) -> Value:
    b = v.builder
    return b.icmp_unsigned("!=", b.and_(integer, v.int_const(bit)), v.int_const(0))


def _wave(v: Vector, r: Value, quarter: Value) -> Value:
    """Sine of ``r`` plus that many quarter turns."""
    b = v.builder
    size = b.select(_has_bit(v, quarter, 1), _cosine(v, r), _sine(v, r))
    flip = b.shl(b.and_(quarter, v.int_const(2)), v.int_const(v.format.bits - 2))
    return v.floats(b.xor(v.bits(size), flip))


def _turned(v: Vector, r: Value, quarter: Value) -> Value:
    return _wave(v, r, v.builder.add(quarter, v.int_const(1)))


sin = _of_any("sin", _wave)
cos = _of_any("cos", _turned)
tan = _of_any("tan", _tangent)
