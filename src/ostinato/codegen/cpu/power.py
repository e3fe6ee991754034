"""The power of floats: float32 by way of float64, float64 by a logarithm in two parts.

The logarithm is exact to 2**-66, so that its product with the exponent, up to 745, is exact to a
fraction of the last place of the result.
"""

import math
from fractions import Fraction
from typing import TypeAlias

from ostinato.codegen.cpu import polynomials
from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.vector import Vector

Pair: TypeAlias = tuple[Value, Value]  # a number as the sum of two floats, the second small

_TERMS = 13  # of arctanh, behind the first two
_LN2_BITS = 40  # of the first part of log(2): its product with an exponent is exact


def power(v: Vector, x: Value, y: Value) -> Value:
    """``x ** y`` as in C."""
    b = v.builder
    if v.dtype == "float64":
        return _edges(v, x, y, _of_doubles(v, v.call("fabs", x), y))
    wide = Vector(b, "float64", v.lanes)
    log = polynomials.log(wide, b.fpext(v.call("fabs", x), wide.type))
    product = b.fmul(b.fpext(y, wide.type), log)
    size = b.fptrunc(polynomials.exp(wide, product), v.type)
    return _edges(v, x, y, size)


def _of_doubles(v: Vector, a: Value, y: Value) -> Value:
    """``a ** y`` for ``a`` from 0."""
    b = v.builder
    high, low = _logarithm(v, a)
    product = b.fmul(y, high)
    rest = v.fma(y, low, v.fma(y, high, b.fneg(product)))
    is_inside = b.fcmp_ordered("<", v.call("fabs", product), v.const(1e3))
    rest = b.select(is_inside, rest, v.const(0.0))
    return polynomials.exp_of_sum(v, product, rest)


def _logarithm(v: Vector, a: Value) -> Pair:
    """log(a): infinite at the ends, where the second part does not count."""
    b = v.builder
    exponent, m = polynomials.exponent_and_mantissa(v, a)
    high, low = _near(v, m)
    first = round(polynomials.LN2 * 2**_LN2_BITS)
    upper = b.fmul(exponent, v.const(first / 2**_LN2_BITS))
    lower = v.const(float(polynomials.LN2 - Fraction(first, 2**_LN2_BITS)))
    total = b.fadd(upper, high)  # the exponent's part is 0 or the larger one
    lost = b.fsub(high, b.fsub(total, upper))
    rest = v.fma(exponent, lower, b.fadd(lost, low))
    whole = b.fadd(total, rest)
    left = b.fsub(rest, b.fsub(whole, total))
    return polynomials.log_edges(v, a, whole), left


def _near(v: Vector, m: Value) -> Pair:
    """log(m) = 2 (q + q**3 / 3 + ...), q = (m - 1) / (m + 1), for m near 1."""
    b, one = v.builder, v.const(1.0)
    f = b.fsub(m, one)
    below = b.fadd(m, one)
    lost = b.fsub(m, b.fsub(below, one))
    q = b.fdiv(f, below)
    missing = v.fma(b.fneg(q), lost, v.fma(b.fneg(q), below, f))
    ql = b.fdiv(missing, below)
    s = b.fmul(q, q)
    sl = v.fma(b.fadd(q, q), ql, v.fma(q, q, b.fneg(s)))
    series = [1 / (2 * k + 1) for k in reversed(range(2, _TERMS))]
    tail = b.fmul(s, v.polynomial(s, series))
    third = polynomials.parts(Fraction(1, 3), "float64", 2)
    c = b.fadd(v.const(third[0]), tail)
    cl = b.fadd(b.fsub(tail, b.fsub(c, v.const(third[0]))), v.const(third[1]))
    p = b.fmul(s, c)
    pl = v.fma(s, cl, v.fma(sl, c, v.fma(s, c, b.fneg(p))))
    t = b.fmul(q, p)
    tl = v.fma(q, pl, v.fma(ql, p, v.fma(q, p, b.fneg(t))))
    high = b.fadd(q, t)
    low = b.fadd(b.fsub(t, b.fsub(high, q)), b.fadd(ql, tl))
    return b.fadd(high, high), b.fadd(low, low)


def _edges(v: Vector, x: Value, y: Value, size: Value) -> Value:
    b = v.builder
    one, zero = v.const(1.0), v.const(0.0)
    half = b.fmul(y, v.const(0.5))
    is_whole = b.fcmp_ordered("==", v.call("floor", y), y)
    is_odd = b.and_(is_whole, b.fcmp_unordered("!=", v.call("floor", half), half))
    signed = b.select(is_odd, v.call("copysign", size, x), size)
    is_undefined = b.and_(
        b.and_(b.fcmp_ordered("<", x, zero), b.fcmp_ordered(">", x, v.const(-math.inf))),
        b.not_(is_whole),
    )
    inside = b.select(is_undefined, v.const(math.nan), signed)
    # 1 ** y and x ** 0 are 1 even for NaN, and (-1) ** inf is 1: the logarithm cannot say so.
    is_flat = b.and_(
        b.fcmp_ordered("==", v.call("fabs", x), one),
        b.fcmp_ordered("==", v.call("fabs", y), v.const(math.inf)),
    )
    is_one = b.or_(b.fcmp_ordered("==", x, one), b.fcmp_ordered("==", y, zero))
    return b.select(b.or_(is_one, is_flat), one, inside)
