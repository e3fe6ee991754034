"""Philox4x32-10 in generated code, and the numbers drawn from it.

The law of keys and counters is in `ostinato.pdg.philox`, which gives the same bits with NumPy.
Every argument is an integer taken modulo 2**32, but for the first word of the key: it may have a
high word, as the key of a seed, and then the last word of the counter is xor that. In a loop over
elements that costs nothing; the key's other word is a literal.
"""

from collections.abc import Sequence

from ostinato.codegen.cpu import polynomials, trigonometric
from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import I32, I64, Type, Value, constant, i64, vector_type
from ostinato.codegen.cpu.primitive import Emit, Primitive, Written, in_llvm
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.codegen.cpu.vector_forms import Pure, call_form
from ostinato.pdg.node import Dtype

_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85


def _block(b: Builder, args: Sequence[Value], lanes: int = 0) -> list[Value]:
    """Return the four words of the block with counter args[:4] and key args[4:]."""
    x0, x1, x2, x3, k0, k1 = args
    wide = vector_type(I64, lanes)
    for _ in range(_ROUNDS):
        first = b.mul(b.zext(x0, wide), _same(wide, lanes, _MULTIPLIERS[0]))
        second = b.mul(b.zext(x2, wide), _same(wide, lanes, _MULTIPLIERS[1]))
        x0, x1, x2, x3 = (
            b.xor(b.xor(_high(b, second, lanes), x1), k0),
            b.trunc(second, x0.type),
            b.xor(b.xor(_high(b, first, lanes), x3), k1),
            b.trunc(first, x0.type),
        )
        k0 = b.add(k0, _same(x0.type, lanes, _WEYL[0]))
        k1 = b.add(k1, _same(x0.type, lanes, _WEYL[1]))
    return [x0, x1, x2, x3]


def _same(kind: Type, lanes: int, value: int) -> Value:
    """A number, in every lane."""
    return constant(kind, [value] * lanes if lanes else value)


def _words(b: Builder, args: Sequence[Value]) -> list[Value]:
    """Counter, whose last word is xor the high word of the key, and key."""
    words = [b.trunc(each, I32) for each in args]
    words[3] = b.xor(words[3], b.trunc(b.lshr(args[4], i64(32)), I32))
    return words


def _high(b: Builder, product: Value, lanes: int) -> Value:
    shifted = b.lshr(product, _same(product.type, lanes, 32))
    return b.trunc(shifted, vector_type(I32, lanes))


def _unit_f32(v: Vector, word: Value) -> Value:
    """Return (word >> 8) * 2**-24, in [0, 1)."""
    whole = v.builder.sitofp(v.builder.lshr(word, v.int_const(8)), v.type)
    return v.builder.fmul(whole, v.const(2.0**-24))


def _unit_f64(v: Vector, first: Value, second: Value) -> Value:
    """Return ((first >> 5) * 2**26 + (second >> 6)) * 2**-53, in [0, 1)."""
    b, kind = v.builder, first.type
    left = b.lshr(first, _same(kind, v.lanes, 5))
    right = b.lshr(second, _same(kind, v.lanes, 6))
    high = b.shl(b.zext(left, v.int_type), v.int_const(26))
    whole = b.or_(high, b.zext(right, v.int_type))
    return b.fmul(b.sitofp(whole, v.type), v.const(2.0**-53))


def _box_muller(v: Vector, radius: Value, angle: Value) -> Value:
    """Return a standard normal from two uniforms; 1 - radius keeps the logarithm finite."""
    b = v.builder
    log = polynomials.log(v, b.fsub(v.const(1.0), radius))
    size = v.call("sqrt", b.fmul(v.const(-2.0), log))
    return b.fmul(size, trigonometric.cos_turns(v, angle))


def _draw(name: str, dtype: Dtype, emit: Emit) -> Primitive:
    return Written(name, dtype, ("int64",) * 6, emit)


def _word(index: int) -> Primitive:
    return _draw(
        f"philox_bits_{index}", "uint32", lambda b, args: _block(b, _words(b, args))[index]
    )


def _uniform(v: Vector, words: Sequence[Value]) -> Value:
    block = _block(v.builder, words, v.lanes)
    return _unit_f32(v, block[0]) if v.dtype == "float32" else _unit_f64(v, *block[:2])


def _normal(v: Vector, words: Sequence[Value]) -> Value:
    block = _block(v.builder, words, v.lanes)
    if v.dtype == "float32":
        return _box_muller(v, _unit_f32(v, block[0]), _unit_f32(v, block[1]))
    return _box_muller(v, _unit_f64(v, *block[:2]), _unit_f64(v, *block[2:]))


def _here(dtype: Float, draw: Pure) -> Emit:
    """Written at its place: loops repeat a part of a block only, and that is what they do most."""
    return lambda b, args: draw(Vector(b, dtype), _words(b, args))


def _apart(dtype: Float, draw: Pure) -> Emit:
    return lambda b, args: call_form(b, "normal", dtype, _words(b, args), draw)


philox_bits, philox_bits_1, philox_bits_2, philox_bits_3 = (_word(index) for index in range(4))
uniform_f32 = _draw("uniform_f32", "float32", _here("float32", _uniform))
uniform_f64 = _draw("uniform_f64", "float64", _here("float64", _uniform))
normal_f32 = _draw("normal_f32", "float32", _here("float32", _normal))
normal_f64 = _draw("normal_f64", "float64", _here("float64", _normal))
normal_apart_f32 = _draw("normal_apart_f32", "float32", _apart("float32", _normal))
"""``normal_f32``, compiled by itself: for the few draws of initial parameters."""
normal_apart_f64 = _draw("normal_apart_f64", "float64", _apart("float64", _normal))


@in_llvm("int64", "int64")
def seed_key(b: Builder, args: list[Value]) -> Value:
    """``seed_key(seed)``: 64 bits, those of a seed below 2**32 as they are."""
    none, high = constant(I32, 0), b.lshr(args[0], i64(32))
    counter = [b.trunc(args[0], I32), b.trunc(high, I32), none, none]
    first, second, *_ = _block(b, [*counter, none, none])
    mixed = b.or_(b.shl(b.zext(second, I64), i64(32)), b.zext(first, I64))
    return b.select(b.icmp_signed("==", high, i64(0)), args[0], mixed)
