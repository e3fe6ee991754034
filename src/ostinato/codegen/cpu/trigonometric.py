"""Trigonometric functions of any finite number, and inverse ones.

A three-part reduction modulo a quarter turn serves small arguments; vectors in which a lane is
large take the exact reduction of Payne and Hanek for it, in float64: ``x = m * 2**e`` has an
integer ``m``. Bits of 2/pi that make multiples of 4 with ``m * 2**e`` do not count, and those far
behind do not either: 192 bits are enough for every float64.

Relative error of the inverse ones at most 4e-7 in float32 and 2e-15 in float64.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from math import factorial
from typing import TypeAlias

from ostinato.codegen.cpu.llvm import declare, words
from ostinato.codegen.cpu.llvm_text import I1, I64, I128, Value, constant, i64
from ostinato.codegen.cpu.polynomials import PI, log1p, nearest, parts
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.codegen.cpu.vector_forms import rarely

_WORDS = 21  # 64 zeros, then 2/pi as far as the largest exponent and 192 bits beyond need it


def _arctan_of_inverse(n: int, bits: int) -> int:
    """arctan(1/n) * 2**bits."""
    total, power, k = 0, (1 << bits) // n, 0
    while power:
        total += (-power if k % 2 else power) // (2 * k + 1)
        power //= n * n
        k += 1
    return total


@cache
def two_over_pi() -> tuple[int, ...]:
    """64 zero bits and the bits of 2/pi behind the point, in words, by Machin's formula.

    >>> two_over_pi()[0], two_over_pi()[1] / 2**64
    (0, 0.6366197723675814)
    """
    bits = 64 * (_WORDS + 1)
    pi = 4 * (4 * _arctan_of_inverse(5, bits) - _arctan_of_inverse(239, bits))
    digits = (2 << 2 * bits) // pi >> 2 * 64
    return (0, *((digits >> 64 * (_WORDS - 2 - k)) % 2**64 for k in range(_WORDS - 1)))


def reduce_exactly(v: Vector, x: Value) -> tuple[Value, Value]:
    """Return ``x`` minus the nearest multiple of pi/2, and that multiple's low bits.

    For one finite float64 from 1 on, to its last bit; NaN for infinity.
    """
    b = v.builder
    bits = v.bits(x)
    exponent = b.and_(b.lshr(bits, i64(52)), i64(2047))
    whole = b.or_(b.and_(bits, i64(2**52 - 1)), i64(2**52))
    high, low = _product(v, whole, b.sub(exponent, i64(1075 - 62)))
    moved = b.add(high, i64(2**61))
    quarter = b.lshr(moved, i64(62))
    rest = b.sub(b.and_(moved, i64(2**62 - 1)), i64(2**61))
    turned = _scaled(v, rest, low)
    is_negative = b.icmp_signed("<", bits, i64(0))
    turned = b.select(is_negative, b.fneg(turned), turned)
    is_finite = b.icmp_unsigned("<", exponent, i64(2047))
    return (
        b.select(is_finite, turned, v.const(float("nan"))),
        b.select(is_negative, b.sub(i64(0), quarter), quarter),
    )


def _product(v: Vector, whole: Value, position: Value) -> tuple[Value, Value]:
    """The upper 128 of the lower 192 bits of the product with 192 bits from the position on."""
    b = v.builder
    first, shift = b.lshr(position, i64(6)), b.and_(position, i64(63))
    table = words(b.module, "two_over_pi", two_over_pi())
    four = [b.load(b.gep(table, b.add(first, i64(k)))) for k in range(4)]
    funnel = declare(b, "llvm.fshl.i64", I64, [I64] * 3)
    three = [b.call(funnel, [four[k], four[k + 1], shift]) for k in range(3)]
    factor = b.zext(whole, I128)
    middle, least = (b.mul(factor, b.zext(each, I128)) for each in three[1:])
    total = b.add(middle, b.lshr(least, constant(I128, 64)))
    carried = b.trunc(b.lshr(total, constant(I128, 64)), I64)
    return b.add(carried, b.mul(whole, three[0])), b.trunc(total, I64)


def _scaled(v: Vector, high: Value, low: Value) -> Value:
    """``(high * 2**64 + low) * 2**-126`` quarter turns as an angle; high is signed."""
    b = v.builder
    both = b.or_(b.shl(b.sext(high, I128), constant(I128, 64)), b.zext(low, I128))
    is_negative = b.icmp_signed("<", high, i64(0))
    size = b.select(is_negative, b.sub(constant(I128, 0), both), both)
    count = declare(b, "llvm.ctlz.i128", I128, [I128, I1])
    zeros = b.call(count, [size, constant(I1, 0)])
    leading = b.trunc(b.lshr(b.shl(size, zeros), constant(I128, 65)), I64)
    power = b.shl(b.sub(i64(1023 + 65 - 126), b.trunc(zeros, I64)), i64(52))
    turned = b.fmul(b.sitofp(leading, v.type), v.floats(power))
    upper, lower = parts(PI / 2, "float64", 2)
    angle = v.fma(turned, v.const(upper), b.fmul(turned, v.const(lower)))
    return b.select(is_negative, b.fneg(angle), angle)


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


def _odd(function: Unary) -> Unary:
    """Keep the sign of 0, which the reduction forgets."""

    def odd(v: Vector, x: Value) -> Value:
        b = v.builder
        return b.select(b.fcmp_ordered("==", x, v.const(0.0)), x, function(v, x))

    return odd


sin = _odd(_of_any("sin", _wave))
cos = _of_any("cos", _turned)
tan = _odd(_of_any("tan", _tangent))


# (arctan(q) / q - 1) / q**2 as a polynomial of q**2, for |q| <= tan(pi / 8), near minimax.
_ARCTAN: dict[Float, tuple[float, ...]] = {
    "float32": (
        0.05046128168,
        -0.0862389667,
        0.1107126044,
        -0.1428414555,
        0.1999997715,
        -0.3333333328,
    ),
    "float64": (
        0.01627194475162406,
        -0.034558092551413796,
        0.045511081263251719,
        -0.052303478730160742,
        0.058789145444006217,
        -0.066664236280692576,
        0.076922963049744701,
        -0.090909087510766359,
        0.11111111105106705,
        -0.14285714285659327,
        0.19999999999999803,
        -0.33333333333333333,
    ),
}


def arctan2(v: Vector, y: Value, x: Value) -> Value:
    """The angle of the point (x, y); 0 at the origin, and the diagonals for two infinities."""
    b = v.builder
    zero, one, infinite = v.const(0.0), v.const(1.0), v.const(math.inf)
    ay, ax = v.call("fabs", y), v.call("fabs", x)
    is_steep = b.fcmp_ordered(">", ay, ax)
    high, low = b.select(is_steep, ay, ax), b.select(is_steep, ax, ay)
    is_huge = b.fcmp_ordered(">", high, v.const(2.0**100))  # the sum below must not overflow
    factor = b.select(is_huge, v.const(2.0**-30), one)
    high, low = b.fmul(high, factor), b.fmul(low, factor)
    is_diagonal = b.fcmp_ordered("==", low, infinite)
    is_diagonal = b.and_(is_diagonal, b.fcmp_ordered("==", high, infinite))
    is_wide = b.fcmp_ordered(">", low, b.fmul(high, v.const(math.tan(math.pi / 8))))
    is_wide = b.or_(is_wide, is_diagonal)
    above = b.select(is_wide, b.fsub(low, high), low)
    below = b.select(is_wide, b.fadd(low, high), high)
    is_origin = b.and_(b.fcmp_ordered("==", low, zero), b.fcmp_ordered("==", high, zero))
    is_special = b.or_(is_diagonal, is_origin)
    q = b.fdiv(b.select(is_special, zero, above), b.select(is_special, one, below))
    s = b.fmul(q, q)
    angle = v.fma(b.fmul(q, s), v.polynomial(s, _ARCTAN[v.dtype]), q)
    is_left = b.icmp_signed("<", v.bits(x), v.int_const(0))  # -0 lies on the left
    angle = b.select(is_wide, b.fadd(v.const(math.pi / 4), angle), angle)
    angle = b.select(is_steep, _from(v, 2, angle), angle)
    angle = b.select(is_left, _from(v, 1, angle), angle)
    return v.call("copysign", angle, y)


def _from(v: Vector, divisor: int, angle: Value) -> Value:
    """The fraction of pi minus the angle, in two parts."""
    high, low = parts(PI / divisor, v.dtype, 2)
    return v.builder.fadd(v.builder.fsub(v.const(high), angle), v.const(low))


def arcsinh(v: Vector, x: Value) -> Value:
    """log(x + sqrt(1 + x**2)), odd, without cancellation or overflow."""
    b = v.builder
    one, a = v.const(1.0), v.call("fabs", x)
    square = b.fmul(a, a)
    root = v.call("sqrt", b.fadd(one, square))
    near = b.fadd(a, b.fdiv(square, b.fadd(one, root)))
    is_far = b.fcmp_ordered(">", a, v.const(2.0**30))  # 1 no longer counts beside the square
    whole = log1p(v, b.select(is_far, b.fsub(a, one), near))
    twice = b.select(is_far, v.const(math.log(2)), v.const(0.0))
    return v.call("copysign", b.fadd(whole, twice), x)
