"""The error function, its complement, the logarithm of the gamma function, and its derivative.

Relative error of `erf` and `erfc` at most 4e-7 in float32 and 2e-15 in float64, also in the tail.

`lgamma` and `digamma` take float32 by way of float64. Error at most 1e-7 in float32 and 4e-15 in
float64, relative to the larger of 1 and the result; between the poles of negative arguments it also
grows with the slope there.
"""

import math
from collections.abc import Callable

from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.polynomials import exp, log
from ostinato.codegen.cpu.trigonometric import near_sin, near_tan
from ostinato.codegen.cpu.vector import Float, Vector

# erf(x) / x as a polynomial of x**2 on [0, 1], near minimax.
_NEAR: dict[Float, tuple[float, ...]] = {
    "float32": (
        -9.667044571e-6,
        0.0001126595903,
        -0.0008484080406,
        0.005221031808,
        -0.02686543073,
        0.112837825,
        -0.3761263847,
        1.128379167,
    ),
    "float64": (
        -7.7958988270021422e-10,
        1.3720064546777686e-8,
        -1.6208483801871706e-7,
        1.6447424703317362e-6,
        -1.492473690741966e-5,
        0.00012055294904839708,
        -0.00085483259753896921,
        0.0052239776071164227,
        -0.02686617064323777,
        0.11283791670945006,
        -0.3761263890318354,
        1.1283791670955126,
    ),
}
# (1 + 2x) exp(x**2) erfc(x) as a polynomial of q = (x - k) / (x + k), x from 0 to infinity.
_CENTRE: dict[Float, float] = {"float32": 3.0, "float64": 4.0}
_TAIL: dict[Float, tuple[float, ...]] = {
    "float32": (
        8.007455075e-5,
        -9.25376891e-5,
        -0.0007340820521,
        0.001875060241,
        0.002506778672,
        -0.0237635597,
        0.06831319672,
        -0.1192752814,
        0.1296447209,
        -0.04756215615,
        -0.1356211001,
        1.253008056,
    ),
    "float64": (
        9.6554122417936347e-10,
        1.5712155996160382e-9,
        -1.2544827599324817e-8,
        -1.6357385222348233e-8,
        1.0683443447120146e-7,
        7.1119127091259019e-8,
        -8.2180207249040891e-7,
        2.9805960193972082e-7,
        5.7072395796008247e-6,
        -1.1225140351606082e-5,
        -2.4398117945313677e-5,
        0.00015062311785017894,
        -0.00019925700412069299,
        -0.00075777371418342043,
        0.0050319700325484314,
        -0.016197733979924353,
        0.037167515531843233,
        -0.06633036582050366,
        0.093732834998651718,
        -0.10103906603585294,
        0.068097054254686208,
        0.015379652102610162,
        -0.13962111684056249,
        1.2329951186255525,
    ),
}
_VANISHED: dict[Float, float] = {"float32": 11.0, "float64": 28.0}


def _erfc_above(v: Vector, a: Value) -> Value:
    """The complement for ``a`` from 0."""
    b = v.builder
    a, k, one = v.clamp(a, 0.0, _VANISHED[v.dtype]), v.const(_CENTRE[v.dtype]), v.const(1.0)
    q = b.fdiv(b.fsub(a, k), b.fadd(a, k))
    square = b.fmul(a, a)
    rounded = v.fma(a, a, b.fneg(square))  # exp would magnify what the square lost
    bell = exp(v, b.fneg(square))
    bell = v.fma(b.fneg(rounded), bell, bell)
    return b.fmul(bell, b.fdiv(v.polynomial(q, _TAIL[v.dtype]), v.fma(a, v.const(2.0), one)))


def erfc(v: Vector, x: Value) -> Value:
    """1 - erf(x) without cancellation for large ``x``."""
    b = v.builder
    above = _erfc_above(v, v.call("fabs", x))
    is_below = b.fcmp_ordered("<", x, v.const(0.0))
    return b.select(is_below, b.fsub(v.const(2.0), above), above)


def erf(v: Vector, x: Value) -> Value:
    """The integral of the Gaussian bell from 0, exactly +-1 at the infinities."""
    b = v.builder
    a = v.call("fabs", x)
    near = b.fmul(x, v.polynomial(b.fmul(x, x), _NEAR[v.dtype]))
    far = v.call("copysign", b.fsub(v.const(1.0), _erfc_above(v, a)), x)
    return b.select(b.fcmp_ordered("<", a, v.const(1.0)), near, far)


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
    is_pole = b.and_(is_reflected, b.fcmp_ordered("==", wave, v.const(0.0)))
    is_endless = b.or_(is_pole, b.fcmp_ordered("==", a, infinite))
    return b.select(is_endless, infinite, out)


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
