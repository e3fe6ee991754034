"""Scalar functions that generated code calls by name, one name per function and dtype.

``tanh_f32(x)`` and the others are straight-line code without branches or calls, so that a loop over
contiguous elements becomes vector code. Exceptions: the float ``floordiv`` and ``mod``, the
integer divisions, and the float64 and integer powers.

An argument is cast to the type in the name. ``pow_i32(x, n)`` wraps, and of a
negative ``n`` it is the quotient ``1 / x ** -n`` rounded towards 0.
``cast_i32_f64(x)`` is the int32 of a float64.

Half floats are the 16 bits they have in memory: rounded from float32, and read back. Rounding is to
the nearest, halfway to even, as IEEE 754 says. All of it is integer arithmetic and one exact float
operation, so it needs no instructions that only some processors have.
"""

from collections.abc import Callable

from ostinato.codegen.cpu import integer, polynomials
from ostinato.codegen.cpu.integer import Int
from ostinato.codegen.cpu.llvm import Builder, alloca, declare, emit_loop
from ostinato.codegen.cpu.llvm_text import F32, I1, I16, I32, I64, Value, constant, i64
from ostinato.codegen.cpu.primitive import Primitive, Written
from ostinato.codegen.cpu.step_expression import CODE, Code
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.codegen.loops.expression import FLOATS, SIGNED, SUFFIX
from ostinato.pdg.functions import FUNCTIONS

Coding = Callable[[Builder, Value], Value]

_INFINITY = 0x7F800000  # of float32
_HALF_INFINITY = 0x7C00  # of float16
_QUIET = 0x7E00  # a NaN of float16


def _int(value: int) -> Value:
    return constant(I32, value)


def _bfloat16_bits(b: Builder, x: Value) -> Value:
    bits = b.bitcast(x, I32)
    odd = b.and_(b.lshr(bits, _int(16)), _int(1))
    rounded = b.lshr(b.add(bits, b.add(odd, _int(0x7FFF))), _int(16))
    quiet = b.or_(b.lshr(bits, _int(16)), _int(0x40))
    return b.trunc(b.select(b.fcmp_unordered("uno", x, x), quiet, rounded), I16)


def _bfloat16_value(b: Builder, bits: Value) -> Value:
    return b.bitcast(b.shl(b.zext(bits, I32), _int(16)), F32)


def _float16_bits(b: Builder, x: Value) -> Value:
    bits = b.bitcast(x, I32)
    size = b.and_(bits, _int(0x7FFFFFFF))
    sign = b.lshr(b.xor(bits, size), _int(16))
    large = b.select(
        b.icmp_unsigned(">", size, _int(_INFINITY)), _int(_QUIET), _int(_HALF_INFINITY)
    )
    # Adding 1/2 leaves the last bit of a denormal half as the last bit of the sum, rounded.
    shifted = b.fadd(b.bitcast(size, F32), constant(F32, 0.5))
    small = b.sub(b.bitcast(shifted, I32), _int(126 << 23))
    odd = b.and_(b.lshr(size, _int(13)), _int(1))
    rebased = b.sub(b.add(size, b.add(odd, _int(0xFFF))), _int(112 << 23))
    normal = b.lshr(rebased, _int(13))
    out = b.select(b.icmp_unsigned("<", size, _int(113 << 23)), small, normal)
    out = b.select(b.icmp_unsigned(">=", size, _int(143 << 23)), large, out)
    return b.trunc(b.or_(out, sign), I16)


def _float16_value(b: Builder, bits: Value) -> Value:
    wide = b.zext(bits, I32)
    size = b.and_(wide, _int(0x7FFF))
    sign = b.shl(b.xor(wide, size), _int(16))
    # Denormals become normal by the multiplication, which is exact.
    finite = b.fmul(b.bitcast(b.shl(size, _int(13)), F32), constant(F32, 2.0**112))
    special = b.or_(b.shl(size, _int(13)), _int(_INFINITY))
    is_special = b.icmp_unsigned(">=", size, _int(_HALF_INFINITY))
    value = b.select(is_special, special, b.bitcast(finite, I32))
    return b.bitcast(b.or_(value, sign), F32)


def _coded(name: str, coding: Coding) -> Primitive:
    return Written(name, "uint16", ("float32",), lambda b, args: coding(b, args[0]))


def _decoded(name: str, coding: Coding) -> Primitive:
    return Written(name, "float32", ("uint16",), lambda b, args: coding(b, args[0]))


float16_bits_f32 = _coded("float16_bits", _float16_bits)
float16_value_u16 = _decoded("float16_value", _float16_value)
bfloat16_bits_f32 = _coded("bfloat16_bits", _bfloat16_bits)
bfloat16_value_u16 = _decoded("bfloat16_value", _bfloat16_value)


INTS: tuple[Int, ...] = (*SIGNED, "uint32")


def _of_floats(name: str, arity: int, code: Code, dtype: Float) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        return code(Vector(builder, dtype), *args)

    return Written(f"{name}_{dtype}", dtype, (dtype,) * arity, emit)


def _of_integers(name: str, rule: integer.Rule, dtype: Int) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        return rule(builder, dtype, args[0], args[1])

    return Written(f"{name}_{dtype}", dtype, (dtype, dtype), emit)


def _of_one_integer(name: str, rule: integer.UnaryRule, dtype: Int) -> Primitive:
    return Written(f"{name}_{dtype}", dtype, (dtype,), lambda b, args: rule(b, args[0]))


def _cast(target: Int, source: Float) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        kind = I64 if target == "int64" else I32
        return integer.from_float(Vector(builder, source), target, kind, args[0])

    return Written(f"cast_{target}_{source}", target, (source,), emit)


def _power(builder: Builder, x: Value, n: Value) -> Value:
    """``x ** n`` modulo 2**64, by repeated squaring; of a negative ``n`` the quotient."""
    b, one, zero = builder, i64(1), i64(0)
    result, base = alloca(b, I64), alloca(b, I64)
    b.store(one, result)
    b.store(x, base)
    is_quotient = b.icmp_signed("<", n, zero)
    leading = b.call(declare(b, "llvm.ctlz.i64", I64, [I64, I1]), [n, constant(I1, 0)])

    def square(k: Value) -> None:
        is_factor = b.trunc(b.lshr(n, k), I1)
        factor = b.load(base)
        b.store(b.select(is_factor, b.mul(b.load(result), factor), b.load(result)), result)
        b.store(b.mul(factor, factor), base)

    emit_loop(b, b.select(is_quotient, zero, b.sub(i64(64), leading)), square)
    sign = b.select(b.trunc(n, I1), i64(-1), one)
    unit = b.select(b.icmp_signed("==", x, i64(-1)), sign, zero)
    quotient = b.select(b.icmp_signed("==", x, one), one, unit)
    return b.select(is_quotient, quotient, b.load(result))


def _integer_power(dtype: Int) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        found = _power(builder, args[0], args[1])
        return found if dtype == "int64" else builder.trunc(found, I32)

    return Written(f"pow_{dtype}", dtype, ("int64", "int64"), emit)


# Of floats: all that is not written with a sign. The two divisions have branches; the sum of
# exponentials is what a running fold repeats.
_FLOAT: dict[str, tuple[int, Code]] = {
    **{
        fn: (FUNCTIONS[fn].arity, code)
        for fn, code in CODE.items()
        if not FUNCTIONS[fn].sign and fn not in ("isfinite", "where")
    },
    "floordiv": (2, integer.float_floordiv),
    "mod": (2, integer.float_mod),
    "logaddexp": (2, polynomials.logaddexp),
}
_INTEGER: dict[str, integer.Rule] = {
    "minimum": integer.minimum,
    "maximum": integer.maximum,
    "floordiv": integer.floordiv,
    "mod": integer.mod,
    "bitand": lambda b, _, x, y: b.and_(x, y),
    "bitor": lambda b, _, x, y: b.or_(x, y),
    "bitxor": lambda b, _, x, y: b.xor(x, y),
    "shl": integer.left_shift,
    "shr": integer.right_shift,
}
_SIGNED: dict[str, integer.UnaryRule] = {"abs": integer.absolute, "sign": integer.sign}

PRIMITIVES: dict[str, Primitive] = {
    **{
        f"{fn}_{SUFFIX[dtype]}": _of_floats(fn, arity, code, dtype)
        for fn, (arity, code) in _FLOAT.items()
        for dtype in FLOATS
    },
    **{
        f"{fn}_{SUFFIX[dtype]}": _of_integers(fn, rule, dtype)
        for fn, rule in _INTEGER.items()
        for dtype in INTS
    },
    **{
        f"{fn}_{SUFFIX[dtype]}": _of_one_integer(fn, rule, dtype)
        for fn, rule in _SIGNED.items()
        for dtype in SIGNED
    },
    **{f"pow_{SUFFIX[dtype]}": _integer_power(dtype) for dtype in INTS},
    **{
        f"cast_{SUFFIX[target]}_{SUFFIX[source]}": _cast(target, source)
        for target in INTS
        for source in FLOATS
    },
}
"""Every scalar function by the name that generated code calls it by."""
