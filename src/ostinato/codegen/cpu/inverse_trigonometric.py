"""Inverse trigonometric and hyperbolic functions.

Relative error at most 4e-7 in float32 and 2e-15 in float64.
"""

import math

from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.polynomials import PI, log1p, parts
from ostinato.codegen.cpu.vector import Float, Vector

# (arctan(q) / q - 1) / q**2 as a polynomial of q**2, for |q| <= tan(pi / 8), near minimax.
_ARCTAN: dict[Float, tuple[float, ...]] = {
    "float32": (
        0.05046128168,
        -0.0862389667,
        0.1107126044,
        -0.1428414555,
        0.1999997715,
        -0.3333333328,
    ),
    "float64": (
        0.01627194475162406,
        -0.034558092551413796,
        0.045511081263251719,
        -0.052303478730160742,
        0.058789145444006217,
        -0.066664236280692576,
        0.076922963049744701,
        -0.090909087510766359,
        0.11111111105106705,
        -0.14285714285659327,
        0.19999999999999803,
        -0.33333333333333333,
    ),
}


def arctan2(v: Vector, y: Value, x: Value) -> Value:
    """The angle of the point (x, y); 0 at the origin, and the diagonals for two infinities."""
    b = v.builder
    zero, one, infinite = v.const(0.0), v.const(1.0), v.const(math.inf)
    ay, ax = v.call("fabs", y), v.call("fabs", x)
    is_steep = b.fcmp_ordered(">", ay, ax)
    high, low = b.select(is_steep, ay, ax), b.select(is_steep, ax, ay)
    is_huge = b.fcmp_ordered(">", high, v.const(2.0**100))  # the sum below must not overflow
    factor = b.select(is_huge, v.const(2.0**-30), one)
    high, low = b.fmul(high, factor), b.fmul(low, factor)
    is_diagonal = b.fcmp_ordered("==", low, infinite)
    is_diagonal = b.and_(is_diagonal, b.fcmp_ordered("==", high, infinite))
    is_wide = b.fcmp_ordered(">", low, b.fmul(high, v.const(math.tan(math.pi / 8))))
    is_wide = b.or_(is_wide, is_diagonal)
    above = b.select(is_wide, b.fsub(low, high), low)
    below = b.select(is_wide, b.fadd(low, high), high)
    is_origin = b.and_(b.fcmp_ordered("==", low, zero), b.fcmp_ordered("==", high, zero))
    is_special = b.or_(is_diagonal, is_origin)
    q = b.fdiv(b.select(is_special, zero, above), b.select(is_special, one, below))
    s = b.fmul(q, q)
    angle = v.fma(b.fmul(q, s), v.polynomial(s, _ARCTAN[v.dtype]), q)
    is_left = b.icmp_signed("<", v.bits(x), v.int_const(0))  # -0 lies on the left
    angle = b.select(is_wide, b.fadd(v.const(math.pi / 4), angle), angle)
    angle = b.select(is_steep, _from(v, 2, angle), angle)
    angle = b.select(is_left, _from(v, 1, angle), angle)
    return v.call("copysign", angle, y)


def _from(v: Vector, divisor: int, angle: Value) -> Value:
    """The fraction of pi minus the angle, in two parts."""
    high, low = parts(PI / divisor, v.dtype, 2)
    return v.builder.fadd(v.builder.fsub(v.const(high), angle), v.const(low))


def arcsinh(v: Vector, x: Value) -> Value:
    """log(x + sqrt(1 + x**2)), odd, without cancellation or overflow."""
    b = v.builder
    one, a = v.const(1.0), v.call("fabs", x)
    square = b.fmul(a, a)
    root = v.call("sqrt", b.fadd(one, square))
    near = b.fadd(a, b.fdiv(square, b.fadd(one, root)))
    is_far = b.fcmp_ordered(">", a, v.const(2.0**30))  # 1 no longer counts beside the square
    whole = log1p(v, b.select(is_far, b.fsub(a, one), near))
    twice = b.select(is_far, v.const(math.log(2)), v.const(0.0))
    return v.call("copysign", b.fadd(whole, twice), x)
