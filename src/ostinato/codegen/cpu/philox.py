"""Philox4x32-10 in generated code, and the numbers drawn from it.

The law of keys and counters is in `ostinato.pdg.philox`, which gives the same bits with NumPy.
Every argument is an integer taken modulo 2**32.
"""

from ostinato.codegen.cpu import elementary, periodic
from ostinato.codegen.cpu.llvm import (
    F32,
    F64,
    I32,
    I64,
    Builder,
    Emit,
    Primitive,
    Value,
    constant,
    i64,
    primitive,
)
from ostinato.codegen.cpu.vector import Vector
from ostinato.pdg.node import Dtype

_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85


def _block(b: Builder, args: list[Value]) -> list[Value]:
    """Return the four words of the block with counter args[:4] and key args[4:]."""
    x0, x1, x2, x3, k0, k1 = (b.trunc(each, I32) for each in args)
    for _ in range(_ROUNDS):
        first = b.mul(b.zext(x0, I64), i64(_MULTIPLIERS[0]))
        second = b.mul(b.zext(x2, I64), i64(_MULTIPLIERS[1]))
        x0, x1, x2, x3 = (
            b.xor(b.xor(_high(b, second), x1), k0),
            b.trunc(second, I32),
            b.xor(b.xor(_high(b, first), x3), k1),
            b.trunc(first, I32),
        )
        k0 = b.add(k0, constant(I32, _WEYL[0]))
        k1 = b.add(k1, constant(I32, _WEYL[1]))
    return [x0, x1, x2, x3]


def _high(b: Builder, product: Value) -> Value:
    return b.trunc(b.lshr(product, i64(32)), I32)


def _unit_f32(b: Builder, word: Value) -> Value:
    """Return (word >> 8) * 2**-24, in [0, 1)."""
    whole = b.sitofp(b.lshr(word, constant(I32, 8)), F32)
    return b.fmul(whole, constant(F32, 2.0**-24))


def _unit_f64(b: Builder, first: Value, second: Value) -> Value:
    """Return ((first >> 5) * 2**26 + (second >> 6)) * 2**-53, in [0, 1)."""
    high = b.shl(b.zext(b.lshr(first, constant(I32, 5)), I64), i64(26))
    whole = b.or_(high, b.zext(b.lshr(second, constant(I32, 6)), I64))
    return b.fmul(b.sitofp(whole, F64), constant(F64, 2.0**-53))


def _box_muller(v: Vector, radius: Value, angle: Value) -> Value:
    """Return a standard normal from two uniforms; 1 - radius keeps the logarithm finite."""
    b = v.builder
    log = elementary.log(v, b.fsub(v.const(1.0), radius))
    size = v.call("sqrt", b.fmul(v.const(-2.0), log))
    return b.fmul(size, periodic.cos_turns(v, angle))


def _draw(name: str, dtype: Dtype, emit: Emit) -> Primitive:
    return primitive(name, dtype, ("int64",) * 6, emit)


def _word(index: int) -> Primitive:
    return _draw(f"philox_bits_{index}", "uint32", lambda b, args: _block(b, args)[index])


def _emit_uniform_f64(b: Builder, args: list[Value]) -> Value:
    return _unit_f64(b, *_block(b, args)[:2])


def _emit_normal_f32(b: Builder, args: list[Value]) -> Value:
    words = _block(b, args)
    return _box_muller(Vector(b, "float32"), _unit_f32(b, words[0]), _unit_f32(b, words[1]))


def _emit_normal_f64(b: Builder, args: list[Value]) -> Value:
    words = _block(b, args)
    return _box_muller(Vector(b, "float64"), _unit_f64(b, *words[:2]), _unit_f64(b, *words[2:]))


philox_bits, philox_bits_1, philox_bits_2, philox_bits_3 = (_word(index) for index in range(4))
uniform_f32 = _draw("uniform_f32", "float32", lambda b, args: _unit_f32(b, _block(b, args)[0]))
uniform_f64 = _draw("uniform_f64", "float64", _emit_uniform_f64)
normal_f32 = _draw("normal_f32", "float32", _emit_normal_f32)
normal_f64 = _draw("normal_f64", "float64", _emit_normal_f64)


def _emit_fold(b: Builder, args: list[Value]) -> Value:
    high = b.lshr(args[0], i64(32))
    return b.xor(b.and_(args[0], i64(0xFFFFFFFF)), high)


fold_seed = primitive("fold_seed", "int64", ("int64",), _emit_fold)
"""``fold_seed(seed)``: the low word of the seed, xor its high word, as a non-negative int64."""
