"""Derivatives of the elementwise functions.

At points where a derivative jumps: ties of ``maximum`` and ``minimum`` share it evenly, ``abs`` has
0 at 0, and ``floor``, ``ceil``, ``round``, ``sign`` and comparisons have none.
"""

from __future__ import annotations

import math

from ostinato.pdg.arithmetic import Algebra, fill
from ostinato.pdg.build import const
from ostinato.pdg.functions import computed_in
from ostinato.pdg.index import expr
from ostinato.pdg.node import Map, Node

CONSTANT = frozenset(["stop_gradient", "floor", "ceil", "round", "sign", "floordiv"])
# Bernoulli numbers B(2k), k = 1, 2, ..., of the asymptotic series of trigamma.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SHIFTED = 12  # from here on the series is exact to float64


def derivative(node: Node, k: int, up: Node, a: Algebra) -> Node:
    """Return ``up`` times the derivative of an elementwise node by its operand ``k``.

    ``up`` may be thin, and so may the result.
    """
    assert isinstance(node.op, Map), f"{node} is not elementwise"
    match node.args:
        case (x,):
            return _unary(node.op.fn, x, node, up, a)
        case (x, y):
            return _binary(node.op.fn, (x, y), k, node, up)
        case (chosen, _, _):
            nothing = a.number(0, up)
            return a.choose(chosen, up, nothing) if k == 1 else a.choose(chosen, nothing, up)
        case _:
            raise AssertionError(f"{node} has {len(node.args)} operands")


def _unary(fn: str, x: Node, z: Node, up: Node, a: Algebra) -> Node:
    """``z = fn(x)``; derivatives use ``z`` where it is at hand."""
    one = a.number(1, z)
    match fn:
        case "neg":
            return a.neg(up)
        case "cast":
            return a.cast(up, computed_in(x.dtype))
        case "abs":
            return a.mul(up, a.map("sign", x))
        case "exp":
            return a.mul(up, z)
        case "expm1":
            return a.mul(up, a.add(z, one))
        case "log":
            return a.div(up, x)
        case "log1p":
            return a.div(up, a.add(x, one))
        case "sqrt":
            return a.div(a.scale(up, 0.5), z)
        case "sin":
            return a.mul(up, a.map("cos", x))
        case "cos":
            return a.neg(a.mul(up, a.map("sin", x)))
        case "tan":
            return a.mul(up, a.add(a.mul(z, z), one))
        case "tanh":
            return a.mul(up, a.sub(one, a.mul(z, z)))
        case "sigmoid":
            return a.mul(up, a.mul(z, a.sub(one, z)))
        case "exp2":
            return a.scale(a.mul(up, z), math.log(2))
        case "log2":
            return a.div(a.scale(up, 1 / math.log(2)), x)
        case "erf" | "erfc":
            bell = a.map("exp", a.neg(a.mul(x, x)))
            return a.scale(a.mul(up, bell), 2 / math.sqrt(math.pi) * (1 if fn == "erf" else -1))
        case "arcsinh":
            return a.div(up, a.map("sqrt", a.add(a.mul(x, x), one)))
        case "lgamma":
            return a.mul(up, a.map("digamma", x))
        case "digamma":
            return a.mul(up, _trigamma(a, x))
        case _:
            raise AssertionError(f"no derivative of the elementwise function {fn}")


def _trigamma(a: Algebra, x: Node) -> Node:
    """The derivative of digamma as an expression, so that it has derivatives of every order."""
    one, half = a.number(1, x), a.number(0.5, x)
    is_low = a.map("lt", x, half)
    z = a.choose(is_low, a.sub(one, x), x)
    # A point where the sine is not 0 stands in where the reflection is not chosen.
    rest = a.choose(is_low, a.sub(x, a.map("round", x)), half)
    wave = a.map("sin", a.scale(rest, math.pi))
    reflected = a.div(a.number(math.pi**2, x), a.mul(wave, wave))
    steps = const([float(k) for k in range(_SHIFTED)], x.dtype, (expr(_SHIFTED),))
    places = a.add(a.expand(z, [-1]), steps)
    terms = a.div(a.number(1, places), a.mul(places, places))
    below = a.sum(terms, [-1], (expr(_SHIFTED),))
    w = a.div(one, a.add(z, a.number(_SHIFTED, z)))
    square, series = a.mul(w, w), a.number(_BERNOULLI[-1], w)
    for number in reversed(_BERNOULLI[:-1]):
        series = a.add(a.mul(series, square), a.number(number, w))
    tail = a.add(a.add(w, a.scale(square, 0.5)), a.mul(a.mul(w, square), series))
    total = a.add(tail, below)
    return a.choose(is_low, a.sub(reflected, total), total)


def _binary(fn: str, args: tuple[Node, Node], k: int, z: Node, up: Node) -> Node:
    a, (x, y) = Algebra(z.where), args
    match fn:
        case "add":
            return up
        case "sub":
            return up if k == 0 else a.neg(up)
        case "mul":
            return a.mul(up, args[1 - k])
        case "div":
            share = a.div(up, y)
            return share if k == 0 else a.neg(a.mul(share, z))
        case "mod":
            return up if k == 0 else a.neg(a.mul(up, a.map("floordiv", x, y)))
        case "maximum":
            return _share(a, a.map("gt", args[k], args[1 - k]), (x, y), up)
        case "minimum":
            return _share(a, a.map("lt", args[k], args[1 - k]), (x, y), up)
        case "arctan2":
            size = a.add(a.mul(x, x), a.mul(y, y))
            return a.div(a.mul(up, y), size) if k == 0 else a.neg(a.div(a.mul(up, x), size))
        case "pow":
            return _base(a, x, y, up) if k == 0 else _exponent(a, x, z, up)
        case _:
            raise AssertionError(f"no derivative of the elementwise function {fn}")


def _share(a: Algebra, wins: Node, args: tuple[Node, Node], up: Node) -> Node:
    """All where the operand wins, half at a tie."""
    tied = a.choose(a.map("eq", *args), a.scale(up, 0.5), a.number(0, up))
    return a.choose(wins, up, tied)


def _base(a: Algebra, x: Node, y: Node, up: Node) -> Node:
    """``y * x ** (y - 1)``, and 0 where the exponent is 0 whatever the base."""
    known = fill(y)
    if known is None:
        one = a.number(1, y)
        is_zero = a.map("eq", y, a.number(0, y))
        lower = a.choose(is_zero, one, a.sub(y, one))
        return a.mul(up, a.mul(y, a.map("pow", x, lower)))
    if known in (0, 1):
        return a.scale(up, known)
    power = x if known == 2 else a.map("pow", x, a.number(known - 1, y))
    return a.mul(a.scale(up, known), power)


def _exponent(a: Algebra, x: Node, z: Node, up: Node) -> Node:
    """``z * log(x)``, and 0 where the base is 0."""
    is_zero = a.map("eq", x, a.number(0, x))
    safe = a.choose(is_zero, a.number(1, x), x)
    return a.mul(up, a.mul(z, a.map("log", safe)))
