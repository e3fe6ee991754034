"""Scalar functions that generated code calls by name, one name per function and dtype.

``tanh_f32(x)`` and the others are straight-line code without branches or calls, so that a loop over
contiguous elements becomes vector code. Exceptions: the float ``floordiv`` and ``mod``, the
integer divisions, and the float64 and integer powers.

An argument is cast to the type in the name. ``pow_i32(x, n)`` wraps, and of a
negative ``n`` it is the quotient ``1 / x ** -n`` rounded towards 0.
``cast_i32_f64(x)`` is the int32 of a float64.
"""

from ostinato.codegen.cpu import integer, polynomials
from ostinato.codegen.cpu.integer import Int
from ostinato.codegen.cpu.llvm import Builder, alloca, declare, emit_loop
from ostinato.codegen.cpu.llvm_text import I1, I32, I64, Value, constant, i64
from ostinato.codegen.cpu.primitive import Primitive, primitive
from ostinato.codegen.cpu.step_expression import CODE, Code
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.pdg.functions import FUNCTIONS

FLOATS: dict[Float, str] = {"float32": "f32", "float64": "f64"}
SIGNED: dict[Int, str] = {"int32": "i32", "int64": "i64"}
INTS: dict[Int, str] = {**SIGNED, "uint32": "u32"}


def _of_floats(name: str, arity: int, code: Code, dtype: Float) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        return code(Vector(builder, dtype), *args)

    return primitive(f"{name}_{dtype}", dtype, (dtype,) * arity, emit)


def _of_integers(name: str, rule: integer.Rule, dtype: Int) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        return rule(builder, dtype, args[0], args[1])

    return primitive(f"{name}_{dtype}", dtype, (dtype, dtype), emit)


def _of_one_integer(name: str, rule: integer.UnaryRule, dtype: Int) -> Primitive:
    return primitive(f"{name}_{dtype}", dtype, (dtype,), lambda b, args: rule(b, args[0]))


def _cast(target: Int, source: Float) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> Value:
        kind = I64 if target == "int64" else I32
        return integer.from_float(Vector(builder, source), target, kind, args[0])

    return primitive(f"cast_{target}_{source}", target, (source,), emit)


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
    "bitand": integer.bit_and,
    "bitor": integer.bit_or,
    "bitxor": integer.bit_xor,
    "shl": integer.left_shift,
    "shr": integer.right_shift,
}
_SIGNED: dict[str, integer.UnaryRule] = {"abs": integer.absolute, "sign": integer.sign}

PRIMITIVES: dict[str, Primitive] = {
    **{
        f"{fn}_{short}": _of_floats(fn, arity, code, dtype)
        for fn, (arity, code) in _FLOAT.items()
        for dtype, short in FLOATS.items()
    },
    **{
        f"{fn}_{short}": _of_integers(fn, rule, dtype)
        for fn, rule in _INTEGER.items()
        for dtype, short in INTS.items()
    },
    **{
        f"{fn}_{short}": _of_one_integer(fn, rule, dtype)
        for fn, rule in _SIGNED.items()
        for dtype, short in SIGNED.items()
    },
    **{f"pow_{short}": _integer_power(dtype) for dtype, short in INTS.items()},
    **{
        f"cast_{to}_{of}": _cast(target, source)
        for target, to in INTS.items()
        for source, of in FLOATS.items()
    },
}
"""Every scalar function by the name that generated code calls it by."""
