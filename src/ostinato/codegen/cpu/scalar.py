"""Scalar functions that generated code calls by name, one name per function and dtype.

``tanh_f32(x)`` and the others are straight-line code without branches or calls, so that a loop over
contiguous elements becomes vector code. Exceptions: the float ``floordiv`` and ``mod``, the
integer divisions, and the float64 and integer powers.

An argument is cast to the type in the name. ``pow_i32(x, n)`` wraps, and of a
negative ``n`` it is the quotient ``1 / x ** -n`` rounded towards 0.
``cast_i32_f64(x)`` is the int32 of a float64.
"""

from typing import TypeAlias

from ostinato.codegen.cpu import integer
from ostinato.codegen.cpu.integer import Int
from ostinato.codegen.cpu.llvm import (
    I1,
    I32,
    I64,
    Builder,
    Primitive,
    Value,
    alloca,
    constant,
    declare,
    emit_loop,
    i64,
    primitive,
)
from ostinato.codegen.cpu.llvm import where as where
from ostinato.codegen.cpu.step_expression import BINARY, TERNARY, UNARY, Binary
from ostinato.codegen.cpu.vector import Float, Vector

Pair: TypeAlias = tuple[Primitive, Primitive]


def _unary(name: str) -> Pair:
    def make(dtype: Float) -> Primitive:
        def emit(builder: Builder, args: list[Value]) -> Value:
            return UNARY[name](Vector(builder, dtype), args[0])

        return primitive(f"{name}_{dtype}", dtype, (dtype,), emit)

    return make("float32"), make("float64")


def _binary(name: str, function: Binary) -> Pair:
    def make(dtype: Float) -> Primitive:
        def emit(builder: Builder, args: list[Value]) -> Value:
            return function(Vector(builder, dtype), args[0], args[1])

        return primitive(f"{name}_{dtype}", dtype, (dtype, dtype), emit)

    return make("float32"), make("float64")


def _fma(dtype: Float) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        return TERNARY["fma"](Vector(builder, dtype), args[0], args[1], args[2])

    return primitive(f"fma_{dtype}", dtype, (dtype, dtype, dtype), emit)


def _integers(name: str, rule: integer.Rule) -> tuple[Primitive, Primitive, Primitive]:
    def make(dtype: Int) -> Primitive:
        def emit(builder: Builder, args: list[Value]) -> Value:
            return rule(builder, dtype, args[0], args[1])

        return primitive(f"{name}_{dtype}", dtype, (dtype, dtype), emit)

    return make("int32"), make("int64"), make("uint32")


def _signed(name: str, rule: integer.UnaryRule) -> Pair:
    def make(dtype: Int) -> Primitive:
        return primitive(f"{name}_{dtype}", dtype, (dtype,), lambda b, args: rule(b, args[0]))

    return make("int32"), make("int64")


def _cast(target: Int) -> Pair:
    kind = I64 if target == "int64" else I32

    def make(source: Float) -> Primitive:
        def emit(builder: Builder, args: list[Value]) -> Value:
            return integer.from_float(Vector(builder, source), target, kind, args[0])

        return primitive(f"cast_{target}_{source}", target, (source,), emit)

    return make("float32"), make("float64")


exp_f32, exp_f64 = _unary("exp")
log_f32, log_f64 = _unary("log")
tanh_f32, tanh_f64 = _unary("tanh")
sigmoid_f32, sigmoid_f64 = _unary("sigmoid")
softplus_f32, softplus_f64 = _unary("softplus")
log1p_f32, log1p_f64 = _unary("log1p")
expm1_f32, expm1_f64 = _unary("expm1")
sin_f32, sin_f64 = _unary("sin")
cos_f32, cos_f64 = _unary("cos")
tan_f32, tan_f64 = _unary("tan")
exp2_f32, exp2_f64 = _unary("exp2")
log2_f32, log2_f64 = _unary("log2")
erf_f32, erf_f64 = _unary("erf")
erfc_f32, erfc_f64 = _unary("erfc")
lgamma_f32, lgamma_f64 = _unary("lgamma")
digamma_f32, digamma_f64 = _unary("digamma")
arcsinh_f32, arcsinh_f64 = _unary("arcsinh")
sqrt_f32, sqrt_f64 = _unary("sqrt")
rsqrt_f32, rsqrt_f64 = _unary("rsqrt")
abs_f32, abs_f64 = _unary("abs")
floor_f32, floor_f64 = _unary("floor")
ceil_f32, ceil_f64 = _unary("ceil")
round_f32, round_f64 = _unary("round")
sign_f32, sign_f64 = _unary("sign")
relu_f32, relu_f64 = _unary("relu")

pow_f32, pow_f64 = _binary("pow", BINARY["pow"])
logaddexp_f32, logaddexp_f64 = _binary("logaddexp", BINARY["logaddexp"])
arctan2_f32, arctan2_f64 = _binary("arctan2", BINARY["arctan2"])
minimum_f32, minimum_f64 = _binary("minimum", BINARY["minimum"])
maximum_f32, maximum_f64 = _binary("maximum", BINARY["maximum"])
floordiv_f32, floordiv_f64 = _binary("floordiv", integer.float_floordiv)
mod_f32, mod_f64 = _binary("mod", integer.float_mod)
fma_f32, fma_f64 = _fma("float32"), _fma("float64")

minimum_i32, minimum_i64, minimum_u32 = _integers("minimum", integer.minimum)
maximum_i32, maximum_i64, maximum_u32 = _integers("maximum", integer.maximum)
floordiv_i32, floordiv_i64, floordiv_u32 = _integers("floordiv", integer.floordiv)
mod_i32, mod_i64, mod_u32 = _integers("mod", integer.mod)
bitand_i32, bitand_i64, bitand_u32 = _integers("bitand", integer.bit_and)
bitor_i32, bitor_i64, bitor_u32 = _integers("bitor", integer.bit_or)
bitxor_i32, bitxor_i64, bitxor_u32 = _integers("bitxor", integer.bit_xor)
shl_i32, shl_i64, shl_u32 = _integers("shl", integer.left_shift)
shr_i32, shr_i64, shr_u32 = _integers("shr", integer.right_shift)
abs_i32, abs_i64 = _signed("abs", integer.absolute)
sign_i32, sign_i64 = _signed("sign", integer.sign)

cast_i32_f32, cast_i32_f64 = _cast("int32")
cast_i64_f32, cast_i64_f64 = _cast("int64")
cast_u32_f32, cast_u32_f64 = _cast("uint32")


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

    return primitive(f"pow_{dtype}", dtype, ("int64", "int64"), emit)


pow_i32, pow_i64 = _integer_power("int32"), _integer_power("int64")
pow_u32 = _integer_power("uint32")
