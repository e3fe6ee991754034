"""The logarithm of the gamma function and its derivative; float32 by way of float64.

Error at most 1e-7 in float32 and 4e-15 in float64, relative to the larger of 1 and the result;
between the poles of negative arguments it also grows with the slope there.
"""

import math
from collections.abc import Callable

from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.periodic import near_sin, near_tan
from ostinato.codegen.cpu.polynomials import log
from ostinato.codegen.cpu.vector import Vector

# lgamma(2 + e) / e for |e| <= 1/2, near minimax.
_NEAR_TWO = (
    -1.3219945666117874e-7,
    2.78740805211359e-7,
    -4.3252393445604816e-7,
    9.2005278949681005e-7,
    -2.0439048107029907e-6,
    4.3847044045983603e-6,
    -9.4387150992115327e-6,
    2.0505590755833453e-5,
    -4.4926313379155697e-5,
    9.9457673558194982e-5,
    -0.00022315475400520508,
    0.00050966951541154583,
    -0.0011927539118428157,
    0.0028905103310342669,
    -0.0073855510286719984,
    0.02058080842778038,
    -0.067352301053198103,
    0.32246703342411324,
    0.42278433509846714,
)
_FAR = 8  # Stirling's series is exact to float64 from here on
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_DIGAMMA_FAR = 10


def _widened(function: Callable[[Vector, Value], Value]) -> Callable[[Vector, Value], Value]:
    def apply(v: Vector, x: Value) -> Value:
        if v.dtype == "float64":
            return function(v, x)
        wide = Vector(v.builder, "float64", v.lanes)
        return v.builder.fptrunc(function(wide, v.builder.fpext(x, wide.type)), v.type)

    return apply


def _lgamma(v: Vector, x: Value) -> Value:
    b = v.builder
    a = v.call("fabs", x)
    inside = _positive(v, a)
    # lgamma(-a) = log(pi / (a |sin(pi a)|)) - lgamma(a); next to 0 both sides are alike.
    wave = v.call("fabs", near_sin(v, _turn(v, a)))
    reflected = b.fsub(log(v, b.fdiv(v.const(math.pi), b.fmul(a, wave))), inside)
    is_reflected = b.fcmp_ordered("<", x, v.const(-1e-100))
    out = b.select(is_reflected, reflected, inside)
    infinite = v.const(math.inf)
    return b.select(b.fcmp_ordered("==", a, infinite), infinite, out)


def _turn(v: Vector, x: Value) -> Value:
    """``x`` minus the nearest integer, times pi."""
    return v.builder.fmul(v.builder.fsub(x, v.call("rint", x)), v.const(math.pi))


def _positive(v: Vector, a: Value) -> Value:
    """Lgamma from 0: shifted to [1.5, 2.5] by the recurrence, or by Stirling's series."""
    b, one = v.builder, v.const(1.0)
    is_low = b.fcmp_ordered("<", a, v.const(1.5))
    is_lowest = b.fcmp_ordered("<", a, v.const(0.5))
    up = b.select(is_lowest, b.fmul(a, b.fadd(a, one)), a)
    y, down = a, one
    for _ in range(_FAR - 2):
        is_above = b.fcmp_ordered(">", y, v.const(2.5))
        y = b.select(is_above, b.fsub(y, one), y)
        down = b.select(is_above, b.fmul(down, y), down)
    e = b.select(is_low, b.fsub(a, one), b.fsub(y, v.const(2.0)))
    e = b.select(is_lowest, a, e)
    is_far = b.fcmp_ordered(">=", a, v.const(float(_FAR)))
    logarithm = log(v, b.select(is_far, a, b.select(is_low, up, down)))
    moved = b.select(is_low, b.fneg(logarithm), logarithm)
    near = v.fma(e, v.polynomial(e, _NEAR_TWO), moved)
    w = b.fdiv(one, a)
    series = b.fmul(w, v.polynomial(b.fmul(w, w), _STIRLING))
    half = v.const(0.5)
    far = v.fma(b.fsub(a, half), b.fsub(logarithm, one), series)
    far = b.fadd(far, v.const(0.5 * math.log(2 * math.pi) - 0.5))
    return b.select(is_far, far, near)


def _digamma(v: Vector, x: Value) -> Value:
    b, one = v.builder, v.const(1.0)
    is_low = b.fcmp_ordered("<", x, v.const(0.5))
    w = b.select(is_low, b.fsub(one, x), x)
    # 1/w + 1/(w + 1) + ... up to where the series holds, as one quotient.
    above, below = v.const(0.0), one
    for _ in range(_DIGAMMA_FAR):
        is_near = b.fcmp_ordered("<", w, v.const(float(_DIGAMMA_FAR)))
        above = b.select(is_near, v.fma(above, w, below), above)
        below = b.select(is_near, b.fmul(below, w), below)
        w = b.select(is_near, b.fadd(w, one), w)
    r = b.fdiv(one, w)
    square = b.fmul(r, r)
    series = v.fma(square, v.polynomial(square, _DIGAMMA), b.fmul(r, v.const(0.5)))
    total = b.fsub(b.fsub(log(v, w), series), b.fdiv(above, below))
    steep = b.fdiv(v.const(math.pi), near_tan(v, _turn(v, x)))
    out = b.select(is_low, b.fsub(total, steep), total)
    is_pole = b.and_(is_low, b.fcmp_ordered("==", v.call("rint", x), x))
    return b.select(is_pole, v.const(math.nan), out)


lgamma = _widened(_lgamma)
digamma = _widened(_digamma)
