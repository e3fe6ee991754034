"""The error function and its complement.

Relative error at most 4e-7 in float32 and 2e-15 in float64, also in the tail of `erfc`.
"""

from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.polynomials import exp
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
