"""The one table of functions that vector code knows, and the code of expressions of them."""

import math
from collections.abc import Callable
from typing import TypeAlias

from ostinato.codegen.cpu import erf_gamma, polynomials, power, trigonometric
from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.vector import Vector
from ostinato.codegen.loops.expression import Sign
from ostinato.codegen.loops.matmul_spec import Expr

Lookup: TypeAlias = Callable[[str], Value]
Unary: TypeAlias = Callable[[Vector, Value], Value]
Binary: TypeAlias = Callable[[Vector, Value, Value], Value]
Code: TypeAlias = Callable[..., Value]  # of a vector and the operands


def sign(v: Vector, x: Value) -> Value:
    b = v.builder
    zero = v.const(0.0)
    kept = b.fadd(x, zero)  # NaN as it is, and no negative zero
    below = b.select(b.fcmp_ordered("<", x, zero), v.const(-1.0), kept)
    return b.select(b.fcmp_ordered(">", x, zero), v.const(1.0), below)


def _select(v: Vector, test: Value, x: Value, y: Value) -> Value:
    return v.builder.select(test, x, y)


def _intrinsic(name: str) -> Unary:
    return lambda v, x: v.call(name, x)


def _comparison(op: Sign) -> Binary:
    return lambda v, x, y: v.compare(op, x, y)


_UNARY: dict[str, Unary] = {
    "neg": lambda v, x: v.builder.fneg(x),
    "not": lambda v, x: v.builder.not_(x),
    "exp": polynomials.exp,
    "log": polynomials.log,
    "tanh": polynomials.tanh,
    "sigmoid": polynomials.sigmoid,
    "log1p": polynomials.log1p,
    "expm1": polynomials.expm1,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "exp2": polynomials.exp2,
    "log2": polynomials.log2,
    "erf": erf_gamma.erf,
    "erfc": erf_gamma.erfc,
    "lgamma": erf_gamma.lgamma,
    "digamma": erf_gamma.digamma,
    "arcsinh": trigonometric.arcsinh,
    "sqrt": _intrinsic("sqrt"),
    "abs": _intrinsic("fabs"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "round": _intrinsic("rint"),
    "sign": sign,
    "isfinite": lambda v, x: v.compare("<", v.call("fabs", x), v.const(math.inf)),
}
_BINARY: dict[str, Binary] = {
    "add": lambda v, x, y: v.builder.fadd(x, y),
    "sub": lambda v, x, y: v.builder.fsub(x, y),
    "mul": lambda v, x, y: v.builder.fmul(x, y),
    "div": lambda v, x, y: v.builder.fdiv(x, y),
    "minimum": lambda v, x, y: v.minimum(x, y),
    "maximum": lambda v, x, y: v.maximum(x, y),
    "pow": power.power,
    "arctan2": trigonometric.arctan2,
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "and": lambda v, x, y: v.builder.and_(x, y),
    "or": lambda v, x, y: v.builder.or_(x, y),
}
CODE: dict[str, Code] = {**_UNARY, **_BINARY, "where": _select}
"""The vector code of every function that an expression may use."""


def evaluate(v: Vector, expr: Expr, lookup: Lookup) -> Value:
    """Emit the instructions of an expression; ``lookup`` gives the value of a name."""
    match expr:
        case ("name", str(name)):
            return lookup(name)
        case ("const", value) if not isinstance(value, tuple):
            return v.const(float(value))
        case (str(op), *args):
            operands = [evaluate(v, arg, lookup) for arg in args if isinstance(arg, tuple)]
            return CODE[op](v, *operands)
        case _:
            raise ValueError(f"not an expression: {expr!r}")
