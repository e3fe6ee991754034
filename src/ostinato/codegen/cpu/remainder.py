"""The remainder of floats, exact for any quotient.

A step takes away the multiple of the divisor that is nearest among those a float64 can count, and
what remains is a float64. Six steps are enough for every pair of float32. In float64 two are
enough for quotients up to 2**100, and vectors with a larger one take a slow path for it.
"""

import math
from collections.abc import Sequence

from ostinato.codegen.cpu.llvm import alloca, emit_loop
from ostinato.codegen.cpu.llvm_text import Value, i64
from ostinato.codegen.cpu.vector import Vector
from ostinato.codegen.cpu.vector_forms import rarely

_STEPS = 6  # of 51 bits each: the largest quotient of float32 is below 2**278
_SPAN = 50  # bits that a step of the slow path takes away at least
_MANY = 46  # such steps: the largest quotient of float64 is below 2**2099
_FEW = 2.0**100


def remainder(v: Vector, x: Value, y: Value) -> Value:
    """``x`` less so many ``y`` towards 0, with the sign of ``x``; NaN for 0 and infinite ``x``."""
    if v.dtype == "float64":
        return _sized(v, _of_doubles(v, x, y), x, y)
    b, wide = v.builder, Vector(v.builder, "float64", v.lanes)
    rest, divisor = b.fpext(x, wide.type), wide.clamp(b.fpext(y, wide.type), -1e300, 1e300)
    inverse = b.fdiv(wide.const(1.0), divisor)
    for _ in range(_STEPS):
        rest = _less(wide, rest, divisor, b.fmul(rest, inverse))
    return _sized(v, b.fptrunc(rest, v.type), x, y)


def _less(v: Vector, rest: Value, divisor: Value, quotient: Value) -> Value:
    return v.fma(v.builder.fneg(v.call("rint", quotient)), divisor, rest)


def _sized(v: Vector, rest: Value, x: Value, y: Value) -> Value:
    """The remainder with the sign of ``x``, from one that may have the other."""
    b, size = v.builder, v.call("fabs", y)
    turned = b.xor(v.bits(rest), v.bits(x))
    is_other = b.and_(
        b.icmp_signed("<", turned, v.int_const(0)), b.fcmp_unordered("!=", rest, v.const(0.0))
    )
    moved = b.select(is_other, b.fadd(rest, v.call("copysign", size, x)), rest)
    return v.call("copysign", moved, x)


def _of_doubles(v: Vector, x: Value, y: Value) -> Value:
    b = v.builder
    quotient = b.fdiv(x, y)
    size = v.call("fabs", quotient)
    is_finite = b.fcmp_ordered("<", v.call("fabs", x), v.const(math.inf))
    is_large = b.and_(b.fcmp_ordered(">", size, v.const(_FEW)), is_finite)
    found = rarely(v, "far_remainder", is_large, [x, y], _of_any)
    once = _less(v, x, y, quotient)
    twice = _less(v, once, y, b.fdiv(once, y))
    whole = v.fma(x, v.const(0.0), x)  # NaN of infinity
    is_endless = b.fcmp_ordered("==", v.call("fabs", y), v.const(math.inf))
    return b.select(is_large, found, b.select(is_endless, whole, twice))


def _of_any(v: Vector, args: Sequence[Value]) -> Value:
    """The remainder of one pair; NaN for a divisor of 0."""
    b, (x, y) = v.builder, args
    place = alloca(b, v.type)
    b.store(x, place)
    own = _exponent(v, y)

    def step(_: Value) -> None:
        rest = b.load(place)
        ahead = b.sub(b.sub(_exponent(v, rest), own), i64(_SPAN))
        multiple = _shifted(v, y, b.select(b.icmp_signed(">", ahead, i64(0)), ahead, i64(0)))
        b.store(_less(v, rest, multiple, b.fdiv(rest, multiple)), place)

    emit_loop(b, i64(_MANY), step)
    return b.load(place)


def _exponent(v: Vector, x: Value) -> Value:
    return v.builder.and_(v.builder.lshr(v.bits(x), i64(52)), i64(2047))


def _shifted(v: Vector, x: Value, by: Value) -> Value:
    """``x * 2**by`` for 0 <= by < 3000, in factors that are floats."""
    b = v.builder
    for _ in range(3):
        factor = b.select(b.icmp_signed("<", by, i64(1000)), by, i64(1000))
        x = b.fmul(x, v.floats(b.shl(b.add(factor, i64(1023)), i64(52))))
        by = b.sub(by, factor)
    return x
