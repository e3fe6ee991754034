"""Integer arithmetic, divisions and casts with NumPy's results and no undefined case.

A division by the integer 0 gives 0, and the most negative number divided by -1 gives itself.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

from ostinato.codegen.cpu.llvm import Builder, Compare
from ostinato.codegen.cpu.llvm_text import Type, Value, constant
from ostinato.codegen.cpu.remainder import remainder
from ostinato.codegen.cpu.vector import Vector

Int = Literal["int32", "int64", "uint32"]
BITS: dict[Int, int] = {"int32": 32, "int64": 64, "uint32": 32}
Rule: TypeAlias = Callable[[Builder, Int, Value, Value], Value]
UnaryRule: TypeAlias = Callable[[Builder, Value], Value]


def is_signed(dtype: Int) -> bool:
    return dtype != "uint32"


def compare(b: Builder, dtype: Int, op: Compare, x: Value, y: Value) -> Value:
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


def bit_and(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    return b.and_(x, y)


def bit_or(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    return b.or_(x, y)


def bit_xor(b: Builder, dtype: Int, x: Value, y: Value) -> Value:
    return b.xor(x, y)


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
