"""Numbers of generated code: their types, casts and operators, as Numba has them.

Integers of up to 32 bits become 64 bits in arithmetic; two float32 stay float32.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import BITS, F64, I1, I64, KINDS, Value, constant, known
from ostinato.codegen.loops.expression import FLOATS, SIGNED, Sign, common, promoted
from ostinato.pdg.errors import UnreadableError


@dataclass(frozen=True, slots=True)
class Number:
    """A value of one of Numba's number types."""

    dtype: str
    value: Value


def literal(value: float) -> Number:
    """A Python number: bool, int64 or float64."""
    if isinstance(value, bool):
        return Number("bool", constant(I1, int(value)))
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise UnreadableError(f"{value} is no int64")
        return Number("int64", constant(I64, value))
    return Number("float64", constant(F64, value))


def cast_literal(value: float, dtype: str) -> Number:
    """A Python number as a constant of a type."""
    if dtype in FLOATS:
        return Number(dtype, constant(KINDS[dtype], float(value)))
    if isinstance(value, float):
        raise UnreadableError(f"the float {value} as {dtype}")
    wrapped = int(value) % 2 ** BITS[dtype]
    if dtype in SIGNED and wrapped >= 2 ** (BITS[dtype] - 1):
        wrapped -= 2 ** BITS[dtype]
    return Number(dtype, constant(KINDS[dtype], wrapped))


def cast(b: Builder, x: Number, to: str) -> Number:
    """A number as another type; a float never becomes an integer so."""
    if x.dtype == to:
        return x
    kind, value = KINDS[to], x.value
    match x.dtype in FLOATS, to in FLOATS:
        case True, True:
            made = b.fpext(value, kind) if to == "float64" else b.fptrunc(value, kind)
        case False, True:
            made = b.sitofp(value, kind) if x.dtype in SIGNED else b.uitofp(value, kind)
        case False, False if to == "bool":
            made = b.icmp_unsigned("!=", value, constant(KINDS[x.dtype], 0))
        case False, False if BITS[to] > BITS[x.dtype]:
            made = b.sext(value, kind) if x.dtype in SIGNED else b.zext(value, kind)
        case False, False:
            made = b.trunc(value, kind) if BITS[to] < BITS[x.dtype] else value
        case _:
            raise UnreadableError(f"a {x.dtype} as {to}")
    return Number(to, made)


def truth(b: Builder, x: Number) -> Value:
    """Whether a number is not zero."""
    if x.dtype in FLOATS:
        return b.fcmp_unordered("!=", x.value, constant(KINDS[x.dtype], 0.0))
    return cast(b, x, "bool").value


def alike(b: Builder, x: Number, y: Number, dtype: str) -> tuple[Value, Value]:
    return cast(b, x, dtype).value, cast(b, y, dtype).value


def arithmetic(b: Builder, op: str, x: Number, y: Number) -> Number:
    """``x op y``."""
    if op in _BITS:
        return _bitwise(b, op, x, y)
    if op == "/":
        dtype = common(x.dtype, y.dtype)
        dtype = dtype if dtype in FLOATS else "float64"
        return Number(dtype, b.fdiv(*alike(b, x, y, dtype)))
    dtype = promoted(x.dtype, y.dtype)
    left, right = alike(b, x, y, dtype)
    if op in ("//", "%"):
        if dtype != "int64":
            raise UnreadableError(f"`{op}` of {dtype}")
        quotient, rest = _floor(b, left, right)
        return Number(dtype, quotient if op == "//" else rest)
    if dtype in FLOATS:
        operations = {"+": b.fadd, "-": b.fsub, "*": b.fmul}
    else:
        operations = {"+": b.add, "-": b.sub, "*": b.mul}
    return Number(dtype, operations[op](left, right))


_BITS = "&|^"


def _bitwise(b: Builder, op: str, x: Number, y: Number) -> Number:
    dtype = "bool" if x.dtype == y.dtype == "bool" else promoted(x.dtype, y.dtype)
    if dtype in FLOATS:
        raise UnreadableError(f"bits of {dtype}")
    made = {"&": b.and_, "|": b.or_, "^": b.xor}
    return Number(dtype, made[op](*alike(b, x, y, dtype)))


def _floor(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Quotient and remainder of int64, rounded down; both are 0 where there is no quotient."""
    zero, one = constant(I64, 0), constant(I64, 1)
    if (known(y) or 0) > 0:
        quotient, rest = b.sdiv(x, y), b.srem(x, y)
        below = b.icmp_signed("<", rest, zero)
        return b.sub(quotient, b.zext(below, I64)), b.add(rest, b.select(below, y, zero))
    smallest = b.icmp_signed("==", x, constant(I64, -(2**63)))
    too_large = b.and_(smallest, b.icmp_signed("==", y, constant(I64, -1)))
    undefined = b.or_(b.icmp_signed("==", y, zero), too_large)
    by = b.select(undefined, one, y)
    quotient, rest = b.sdiv(x, by), b.srem(x, by)
    differ = b.icmp_signed("<", b.xor(rest, by), zero)
    below = b.and_(differ, b.icmp_signed("!=", rest, zero))
    quotient = b.sub(quotient, b.zext(below, I64))
    rest = b.add(rest, b.select(below, by, zero))
    return b.select(undefined, zero, quotient), b.select(undefined, zero, rest)


def negative(b: Builder, x: Number) -> Number:
    """``-x``."""
    if x.dtype in FLOATS:
        return Number(x.dtype, b.fneg(x.value))
    if x.dtype.startswith("uint"):
        wide = cast(b, x, "uint64")
    else:
        wide = cast(b, x, "int64")
    return Number(wide.dtype, b.sub(constant(I64, 0), wide.value))


def compare(b: Builder, sign: Sign, x: Number, y: Number) -> Number:
    """``x sign y``: false where one is NaN, but for ``!=``."""
    dtype = common(x.dtype, y.dtype)
    left, right = alike(b, x, y, dtype)
    if dtype in FLOATS:
        made = b.fcmp_unordered if sign == "!=" else b.fcmp_ordered
        return Number("bool", made(sign, left, right))
    made = b.icmp_signed if dtype in SIGNED else b.icmp_unsigned
    return Number("bool", made(sign, left, right))


def extreme(b: Builder, largest: bool, x: Number, y: Number) -> Number:
    """``max(x, y)`` or ``min(x, y)`` of integers."""
    dtype = common(x.dtype, y.dtype)
    if dtype in FLOATS:
        raise UnreadableError(f"min or max of {dtype}")
    x, y = cast(b, x, dtype), cast(b, y, dtype)
    first = compare(b, ">" if largest else "<", x, y)
    return Number(dtype, b.select(first.value, x.value, y.value))
