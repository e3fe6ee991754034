"""Half floats as the 16 bits they have in memory: rounded from float32, and read back.

Rounding is to the nearest, halfway to even, as IEEE 754 says. All of it is integer arithmetic and
one exact float operation, so it needs no instructions that only some processors have.
"""

from collections.abc import Callable

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import F32, I16, I32, Value, constant
from ostinato.codegen.cpu.primitive import Primitive, primitive

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
    return primitive(name, "uint16", ("float32",), lambda b, args: coding(b, args[0]))


def _decoded(name: str, coding: Coding) -> Primitive:
    return primitive(name, "float32", ("uint16",), lambda b, args: coding(b, args[0]))


float16_bits_f32 = _coded("float16_bits", _float16_bits)
float16_value_u16 = _decoded("float16_value", _float16_value)
bfloat16_bits_f32 = _coded("bfloat16_bits", _bfloat16_bits)
bfloat16_value_u16 = _decoded("bfloat16_value", _bfloat16_value)
