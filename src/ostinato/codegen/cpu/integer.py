"""Integer arithmetic, divisions and casts with NumPy's results and no undefined case.

A division by the integer 0 gives 0, and the most negative number divided by -1 gives itself.

The remainder of floats is exact for any quotient. A step takes away the multiple of the divisor
that is nearest among those a float64 can count, and what remains is a float64. Six steps are enough
for every pair of float32. In float64 two are enough for quotients up to 2**100, and vectors with a
larger one take a slow path for it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from ostinato.codegen.cpu.llvm import Builder, alloca, emit_loop
from ostinato.codegen.cpu.llvm_text import BITS, Type, Value, constant, i64
from ostinato.codegen.cpu.vector import Vector
from ostinato.codegen.cpu.vector_forms import rarely
from ostinato.codegen.loops.expression import Sign

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


Int = Literal["int32", "int64", "uint32"]
Rule: TypeAlias = Callable[[Builder, Int, Value, Value], Value]
UnaryRule: TypeAlias = Callable[[Builder, Value], Value]


def is_signed(dtype: Int) -> bool:
    return dtype != "uint32"


def compare(b: Builder, dtype: Int, op: Sign, x: Value, y: Value) -> Value:
    return b.icmp_signed(op, x, y) if is_signed(dtype) else b.icmp_unsigned(op, x, y)


def minimum(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    return b.select(compare(b, dtype, "<", x, y), x, y)


def maximum(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    return b.select(compare(b, dtype, ">", x, y), x, y)


def floordiv(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    """Quotient rounded down."""
    zero, one = constant(x.type, 0), constant(x.type, 1)
    is_zero = b.icmp_unsigned("==", y, zero)
    if not is_signed(dtype):
        return b.select(is_zero, zero, b.udiv(x, b.select(is_zero, one, y)))
    quotient, rest, is_minus_one = _divide(b, x, y)
    down = b.select(_needs_step_down(b, rest, y), b.sub(quotient, one), quotient)
    return b.select(is_zero, zero, b.select(is_minus_one, b.sub(zero, x), down))


def mod(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    """Remainder with the sign of the divisor."""
    zero, one = constant(x.type, 0), constant(x.type, 1)
    is_zero = b.icmp_unsigned("==", y, zero)
    if not is_signed(dtype):
        return b.select(is_zero, zero, b.urem(x, b.select(is_zero, one, y)))
    _, rest, is_minus_one = _divide(b, x, y)
    up = b.select(_needs_step_down(b, rest, y), b.add(rest, y), rest)
    return b.select(b.or_(is_zero, is_minus_one), zero, up)


def _divide(b: Builder, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Return quotient and remainder by a divisor made harmless, and whether it was -1."""
    is_minus_one = b.icmp_unsigned("==", y, constant(x.type, -1))
    is_zero = b.icmp_unsigned("==", y, constant(x.type, 0))
    safe = b.select(b.or_(is_zero, is_minus_one), constant(x.type, 1), y)
    quotient = b.sdiv(x, safe)
    return quotient, b.sub(x, b.mul(quotient, safe)), is_minus_one


def _needs_step_down(b: Builder, rest: Value, y: Value) -> Value:
    zero = constant(rest.type, 0)
    differ = b.icmp_signed("<", b.xor(rest, y), zero)
    return b.and_(b.icmp_unsigned("!=", rest, zero), differ)


def left_shift(b: Builder, dtype: Int, x: Value, by: Value) -> Value:
    """``x << by``, and 0 for a shift that is negative or not below the number of bits."""
    safe, is_inside = _shift(b, dtype, by)
    return b.select(is_inside, b.shl(x, safe), constant(x.type, 0))


def right_shift(b: Builder, dtype: Int, x: Value, by: Value) -> Value:
    """``x >> by``, and what a shift by all bits leaves where ``by`` is outside."""
    safe, is_inside = _shift(b, dtype, by)
    if not is_signed(dtype):
        return b.select(is_inside, b.lshr(x, safe), constant(x.type, 0))
    return b.ashr(x, b.select(is_inside, by, constant(x.type, BITS[dtype] - 1)))


def _shift(b: Builder, dtype: Int, by: Value) -> tuple[Value, Value]:
    """Return a shift made harmless, and whether it was: a shift out of range is undefined."""
    is_inside = b.icmp_unsigned("<", by, constant(by.type, BITS[dtype]))
    return b.select(is_inside, by, constant(by.type, 0)), is_inside


def absolute(b: Builder, x: Value) -> Value:
    zero = constant(x.type, 0)
    return b.select(b.icmp_signed("<", x, zero), b.sub(zero, x), x)


def sign(b: Builder, x: Value) -> Value:
    zero = constant(x.type, 0)
    above = b.zext(b.icmp_signed(">", x, zero), x.type)
    return b.sub(above, b.zext(b.icmp_signed("<", x, zero), x.type))


def from_float(v: Vector, target: Int, kind: Type, x: Value) -> Value:
    """Drop the fraction; NaN gives 0, and what is out of range the nearest integer of the type.

    Not by the saturating instruction of LLVM, which does not become vector code.
    """
    b, bits = v.builder, BITS[target]
    low, end = (-1 << bits - 1, 1 << bits - 1) if is_signed(target) else (0, 1 << bits)
    largest = end - max(1, end >> v.format.mantissa + 1)  # of the type, and a float
    inside = v.clamp(b.select(b.fcmp_ordered("==", x, x), x, v.const(0.0)), low, largest)
    whole = b.fptosi(inside, kind) if is_signed(target) else b.fptoui(inside, kind)
    if largest == end - 1:
        return whole
    return b.select(b.fcmp_ordered(">=", x, v.const(end)), constant(kind, end - 1), whole)


def float_mod(v: Vector, x: Value, y: Value) -> Value:
    """Remainder with the sign of the divisor, exact for any quotient."""
    b, zero = v.builder, v.const(0.0)
    rest = remainder(v, x, y)
    return b.select(
        _float_steps_down(v, rest, y),
        b.fadd(rest, y),
        b.select(b.fcmp_ordered("==", rest, zero), v.call("copysign", zero, y), rest),
    )


def float_floordiv(v: Vector, x: Value, y: Value) -> Value:
    """Quotient rounded down; x / 0 as the plain division gives it."""
    b, one = v.builder, v.const(1.0)
    rest = remainder(v, x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    down = b.select(_float_steps_down(v, rest, y), b.fsub(quotient, one), quotient)
    # The division above may round just below an integer: take the nearest one.
    floor = v.call("floor", down)
    is_short = b.fcmp_ordered(">", b.fsub(down, floor), v.const(0.5))
    whole = b.select(is_short, b.fadd(floor, one), floor)
    zero, plain = v.const(0.0), b.fdiv(x, y)
    signed = b.select(b.fcmp_ordered("==", whole, zero), v.call("copysign", zero, plain), whole)
    return b.select(b.fcmp_ordered("==", y, zero), plain, signed)


def _float_steps_down(v: Vector, rest: Value, y: Value) -> Value:
    b, zero = v.builder, v.const(0.0)
    differ = b.xor(b.fcmp_ordered("<", y, zero), b.fcmp_ordered("<", rest, zero))
    return b.and_(b.fcmp_unordered("!=", rest, zero), differ)
