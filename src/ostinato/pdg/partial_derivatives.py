"""Partial derivatives of elementwise functions that take more than a line.

At points where a derivative jumps: ties of ``maximum`` and ``minimum`` share it evenly, ``abs`` has
0 at 0, and ``floor``, ``ceil``, ``round``, ``sign`` and comparisons have none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ostinato.pdg.index import Expr
from ostinato.pdg.node import Dtype, Node


class Arithmetic(Protocol):
    """What derivatives are written in: see `ostinato.pdg.arithmetic`, which makes the nodes."""

    @property
    def where(self) -> str: ...
    def number(self, value: float, like: Node) -> Node: ...
    def counts(self, size: int, like: Node) -> Node: ...
    def fill(self, x: Node) -> float | None: ...
    def cast(self, a: Node, dtype: Dtype) -> Node: ...
    def map(self, fn: str, *args: Node) -> Node: ...
    def add(self, a: Node, b: Node) -> Node: ...
    def sub(self, a: Node, b: Node) -> Node: ...
    def mul(self, a: Node, b: Node) -> Node: ...
    def scale(self, a: Node, by: float) -> Node: ...
    def div(self, a: Node, b: Node) -> Node: ...
    def neg(self, a: Node) -> Node: ...
    def choose(self, cond: Node, a: Node, b: Node) -> Node: ...
    def sum(self, a: Node, axes: Sequence[int], sizes: tuple[Expr, ...]) -> Node: ...
    def expand(self, a: Node, axes: Sequence[int]) -> Node: ...


# ``up`` times the derivative of ``z`` by an operand; ``x`` is the first operand and ``y`` the last.
# ``up`` may be thin, and so may the result.
Partial: TypeAlias = Callable[[Arithmetic, Node, Node, Node, Node], Node]

# Bernoulli numbers B(2k), k = 1, 2, ..., of the asymptotic series of trigamma.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SHIFTED = 12  # from here on the series is exact to float64


def bell(a: Arithmetic, up: Node, x: Node, sign: int) -> Node:
    """Of the error function: ``2 / sqrt(pi) * exp(-x * x)``."""
    falling = a.map("exp", a.neg(a.mul(x, x)))
    return a.scale(a.mul(up, falling), 2 / math.sqrt(math.pi) * sign)


def trigamma(a: Arithmetic, up: Node, x: Node) -> Node:
    """Of digamma, as an expression, so that it has derivatives of every order."""
    one, half = a.number(1, x), a.number(0.5, x)
    is_low = a.map("lt", x, half)
    z = a.choose(is_low, a.sub(one, x), x)
    # A point where the sine is not 0 stands in where the reflection is not chosen.
    rest = a.choose(is_low, a.sub(x, a.map("round", x)), half)
    wave = a.map("sin", a.scale(rest, math.pi))
    reflected = a.div(a.number(math.pi**2, x), a.mul(wave, wave))
    steps = a.counts(_SHIFTED, x)
    places = a.add(a.expand(z, [-1]), steps)
    terms = a.div(a.number(1, places), a.mul(places, places))
    below = a.sum(terms, [-1], steps.shape)
    w = a.div(one, a.add(z, a.number(_SHIFTED, z)))
    square, series = a.mul(w, w), a.number(_BERNOULLI[-1], w)
    for number in reversed(_BERNOULLI[:-1]):
        series = a.add(a.mul(series, square), a.number(number, w))
    tail = a.add(a.add(w, a.scale(square, 0.5)), a.mul(a.mul(w, square), series))
    total = a.add(tail, below)
    return a.mul(up, a.choose(is_low, a.sub(reflected, total), total))


def share(a: Arithmetic, up: Node, is_won: Node, x: Node, y: Node) -> Node:
    """Of the greatest or the least of two: all where the operand wins, half at a tie."""
    tied = a.choose(a.map("eq", x, y), a.scale(up, 0.5), a.number(0, up))
    return a.choose(is_won, up, tied)


def angle(a: Arithmetic, up: Node, x: Node, y: Node, other: Node) -> Node:
    """Of ``arctan2``, but for the sign: the other operand over the square of the distance."""
    square = a.add(a.mul(x, x), a.mul(y, y))
    return a.div(a.mul(up, other), square)


def base(a: Arithmetic, up: Node, x: Node, y: Node) -> Node:
    """Of a power by its base: ``y * x ** (y - 1)``, and 0 where the exponent is 0."""
    known = a.fill(y)
    if known is None:
        one = a.number(1, y)
        is_zero = a.map("eq", y, a.number(0, y))
        lower = a.choose(is_zero, one, a.sub(y, one))
        return a.mul(up, a.mul(y, a.map("pow", x, lower)))
    if known in (0, 1):
        return a.scale(up, known)
    power = x if known == 2 else a.map("pow", x, a.number(known - 1, y))
    return a.mul(a.scale(up, known), power)


def exponent(a: Arithmetic, up: Node, z: Node, x: Node) -> Node:
    """Of a power by its exponent: ``z * log(x)``, and 0 where the base is 0."""
    is_zero = a.map("eq", x, a.number(0, x))
    safe = a.choose(is_zero, a.number(1, x), x)
    return a.mul(up, a.mul(z, a.map("log", safe)))
