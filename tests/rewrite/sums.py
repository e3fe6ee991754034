"""Sums over ranges and under masks, in many spellings, and the order of work that is known of each.

The table is what a user may write; `drawn` writes more, from a grammar. The order of work is the
power of the extent with which the predicted time of the chosen form grows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import ostinato as ot
from ostinato.pdg.node import Pdg
from ostinato.rewrite.optimize import RewriteOptions, optimize

SIZES = 4096, 16384
LINEAR = 1.25  # a logarithmic factor is well below, a square root of the extent above
Make = Callable[[Any, Any, Any], Any]  # of a count (or its like), values, and the dimension
MINUS, PLUS = -math.inf, math.inf


def order_of_work(program: ot.Program | Pdg) -> float:
    """The power of T with which the predicted time grows."""
    pdg = program if isinstance(program, Pdg) else program.pdg
    hints = ({"B": 1, "T": size} for size in SIZES)
    few, many = (optimize(pdg, RewriteOptions(hints=h)).report.price_after for h in hints)
    return math.log(many / few, SIZES[1] / SIZES[0])


def past(make: Make) -> ot.Program:
    """Over all steps so far: ages of them, and their values."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    age = (ot.index(t) - ot.arange(t + 1)).cast("float32")
    return ot.Program(y=make(age, x[b, : t + 1], t))


def before(make: Make) -> ot.Program:
    """Over all steps before the point."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    age = (ot.index(t) - ot.arange(t)).cast("float32")
    return ot.Program(y=make(age, x[b, :t], t))


def future(make: Make) -> ot.Program:
    """Over all steps from the point on: how far ahead they are, and their values."""
    b, t = ot.dims("b t")
    later = ot.input("x", over=(b, t))[b, t:]
    return ot.Program(y=make(ot.arange(later.shape[0]).cast("float32"), later, t))


def after(make: Make) -> ot.Program:
    """Over all steps behind the point."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    ahead = (ot.index(t)[t + 1 :] - ot.index(t)).cast("float32")
    return ot.Program(y=make(ahead, x[b, t + 1 :], t))


def whole(make: Make) -> ot.Program:
    """Over a whole dimension, with masks: the positions, the point, and the values."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    return ot.Program(y=make(ot.arange(t.size), ot.index(t), x[b, :]))


def points(make: Make) -> ot.Program:
    """At every point of an episode and a step, which `make` gets, and values there."""
    b, t = ot.dims("b t")
    return ot.Program(y=make(b, t, ot.input("x", over=(b, t))))


WEIGHTS: dict[str, Make] = {
    "g ** k": lambda k, x, t: 0.9**k * x,
    "exp(-k / tau)": lambda k, x, t: ot.exp(-k / 5.0) * x,
    "exp(-(k / tau))": lambda k, x, t: x * ot.exp(-(k / 5.0)),
    "2 ** (-k / h)": lambda k, x, t: 2.0 ** (-k / 7.0) * x,
    "0.5 ** (k / h)": lambda k, x, t: x * 0.5 ** (k / 7.0),
    "x / 1.03 ** k": lambda k, x, t: x / 1.03**k,
    "x / 1.03 ** (k + 1)": lambda k, x, t: x / 1.03 ** (k + 1.0),
    "g ** (k + 1)": lambda k, x, t: 0.9 ** (k + 1.0) * x,
    "sqrt(g ** k)": lambda k, x, t: ot.sqrt(0.9**k) * x,
    "(g ** k) ** 2": lambda k, x, t: (0.9**k) ** 2.0 * x,
    "g ** k h ** k": lambda k, x, t: 0.9**k * 0.8**k * x,
    "g ** k x h ** k": lambda k, x, t: 0.9**k * x * 0.8**k,
    "exp(k log g)": lambda k, x, t: ot.exp(k * math.log(0.9)) * x,
    "exp(-rate k)": lambda k, x, t: ot.exp(-0.1 * k) * x,
    "exp(1 - rate k)": lambda k, x, t: ot.exp(1.0 - 0.1 * k) * x,
    "(1 - g) g ** k": lambda k, x, t: (1 - 0.9) * 0.9**k * x,
    "-(g ** k)": lambda k, x, t: x * -(0.9**k),
    "1 / c ** k": lambda k, x, t: 1.0 / 1.03**k * x,
    "x (g ** k x)": lambda k, x, t: x * (0.9**k * x),
}
RANGES = {"past": past, "before": before, "future": future, "after": after}

MASKED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "s <= t": lambda s, t, x: ot.where(s <= t, x, 0.0).sum(0),
    "not s > t": lambda s, t, x: ot.where(~(s > t), x, 0.0).sum(0),
    "s > t, else": lambda s, t, x: ot.where(s > t, 0.0, x).sum(0),
    "t - s >= 0": lambda s, t, x: ot.where(t - s >= 0, x, 0.0).sum(0),
    "s < t": lambda s, t, x: ot.where(s < t, x, 0.0).sum(0),
    "s >= t": lambda s, t, x: ot.where(s >= t, x, 0.0).sum(0),
    "s > t": lambda s, t, x: ot.where(s > t, x, 0.0).sum(0),
    "s < t or s = t": lambda s, t, x: ot.where((s < t) | (s == t), x, 0.0).sum(0),
    "s != t": lambda s, t, x: ot.where(s != t, x, 0.0).sum(0),
    "the greatest": lambda s, t, x: ot.where(s <= t, x, MINUS).max(0),
    "the least": lambda s, t, x: ot.where(s <= t, x, PLUS).min(0),
    "a product": lambda s, t, x: ot.where(s <= t, x, 1.0).prod(0),
    "a mean": lambda s, t, x: ot.where(s <= t, x, 0.0).sum(0) / (t + 1),
    "a factor": lambda s, t, x: ((s <= t).cast("float32") * x).sum(0),
    "a window": lambda s, t, x: ot.where((s <= t) & (s > t - 16), x, 0.0).sum(0),
    "the greatest of a window": lambda s, t, x: ot.where(abs(t - s) < 8, x, MINUS).max(0),
    "blocks": lambda s, t, x: ot.where(s // 8 == t // 8, x, 0.0).sum(0),
    "a discount": lambda s, t, x: ot.where(s <= t, ot.exp((s - t) / 5.0) * x, 0.0).sum(0),
    "a masked softmax": lambda s, t, x: (ot.softmax(ot.where(s <= t, x, MINUS), 0) * x).sum(0),
    "a masked softmax to come": lambda s, t, x: (x * ot.softmax(ot.where(s < t, MINUS, x), 0)).sum(
        0
    ),
    "a masked discount": lambda s, t, x: (
        ot.where(s < t, 0.9 ** (t - s).cast("float32"), 0.0) * x
    ).sum(0),
}

ELEMENTS: dict[str, Make] = {
    "the last of a softmax": lambda b, t, x: ot.softmax(x[b, : t + 1], 0)[b, t, -1],
    "the first of a softmax": lambda b, t, x: ot.softmax(x[b, : t + 1], 0)[b, t, 0],
    "the first of a softmax to come": lambda b, t, x: ot.softmax(x[b, t:], 0)[b, t, 0],
    "the last of a sort": lambda b, t, x: ot.sort(x[b, : t + 1], 0)[b, t, -1],
    "the first of the greatest": lambda b, t, x: ot.top_k(x[b, : t + 1], 1, 0)[0][b, t, 0],
    "the last of a log softmax": lambda b, t, x: ot.log_softmax(x[b, : t + 1], 0)[b, t, -1],
}


def _entropy(spelled: Callable[[Any], Any]) -> Make:
    """Of a softmax over all steps so far, from the scores."""
    return lambda b, t, x: -spelled(x[b, : t + 1]).sum(0)


ENTROPIES: dict[str, Make] = {
    "p log p": _entropy(lambda x: ot.softmax(x, 0) * ot.log(ot.softmax(x, 0))),
    "exp(l) l": _entropy(lambda x: ot.exp(ot.log_softmax(x, 0)) * ot.log_softmax(x, 0)),
    "p l": _entropy(lambda x: ot.softmax(x, 0) * ot.log_softmax(x, 0)),
    "l p": _entropy(lambda x: ot.log_softmax(x, 0) * ot.softmax(x, 0)),
    "to come": lambda b, t, x: (ot.softmax(x[b, t:], 0) * ot.log_softmax(x[b, t:], 0)).sum(0),
}


def _variance(weights: Callable[[Any], Any]) -> Make:
    """Of values with weights that decay, over the sum of the weights."""

    def make(k: Any, x: Any, t: Any) -> Any:
        w = weights(k)
        mean = (w * x).sum(0) / w.sum(0)
        return (w * (x - mean) ** 2.0).sum(0) / w.sum(0)

    return make


def _normalised(k: Any, x: Any, t: Any) -> Any:
    """The same with weights of which the sum is 1."""
    w = 0.9**k / (0.9**k).sum(0)
    return (w * (x - (w * x).sum(0)) ** 2.0).sum(0)


VARIANCES: dict[str, tuple[Callable[[Make], ot.Program], Make]] = {
    "of powers": (past, _variance(lambda k: 0.9**k)),
    "of exponentials": (past, _variance(lambda k: ot.exp(-k / 5.0))),
    "of weights of sum 1": (past, _normalised),
    "to come": (future, _variance(lambda k: 0.9**k)),
}


def _outer(weighed: Callable[[Any, Any, Any], Any]) -> Callable[[], ot.Program]:
    """Keys and values of all steps so far, and the powers of 0.9 of their ages as a column."""

    def make() -> ot.Program:
        b, t = ot.dims("b t")
        keys, values = (ot.input(name, (3,), over=(b, t))[b, : t + 1] for name in "xv")
        age = (ot.index(t) - ot.arange(t + 1)).cast("float32")
        return ot.Program(y=weighed((0.9**age).reshape(t + 1, 1), keys, values))

    return make


PRODUCTS: dict[str, Callable[[], ot.Program]] = {
    "keys that decay": _outer(lambda w, k, v: (w * k).T @ v),
    "values that decay": _outer(lambda w, k, v: k.T @ (w * v)),
    "keys and values that decay": _outer(lambda w, k, v: (w * k).T @ (v / (1.0 / w))),
    "keys and values": _outer(lambda w, k, v: k.T @ v),
}

# Known to take more than they need: each is work to do, and moves up once it is done.
GAPS: dict[str, Callable[[], ot.Program]] = {
    "every fourth": lambda: whole(
        lambda s, t, x: ot.where((s % 4 == t % 4) & (s <= t), x, 0.0).sum(0)
    ),
    "from the half on": lambda: whole(
        lambda s, t, x: ot.where((2 * s >= t) & (s <= t), x, 0.0).sum(0)
    ),
    "a variance without a mean": lambda: past(
        lambda k, x, t: (0.9**k * (x - (0.9**k * x).sum(0)) ** 2.0).sum(0)
    ),
    "the greatest of weighted": lambda: future(lambda k, x, t: (0.9**k * x).max(0)),
}


# ------------------------------------------------------------------ from a grammar


def _number(chance: random.Random) -> float:
    return chance.choice((0.5, 0.8, 0.9, 1.03, 2.0))


def exponent(chance: random.Random, k: Any, depth: int) -> Any:
    """A multiple of a count, and a little more."""
    if depth == 0:
        return k
    inner = exponent(chance, k, depth - 1)
    return chance.choice((
        lambda: inner * 0.5, lambda: 0.5 * inner, lambda: inner / 4.0, lambda: -inner,
        lambda: inner + 1.0, lambda: 1.0 - inner, lambda: inner - k,
    ))()  # fmt: skip


def weight(chance: random.Random, k: Any, x: Any, depth: int) -> Any:
    """What steps by a factor from point to point, perhaps with values in it."""
    if depth == 0:
        e = exponent(chance, k, chance.randrange(3))
        g = _number(chance)
        return chance.choice((
            lambda: g**e, lambda: ot.exp(-0.2 * e), lambda: ot.sqrt(g**e), lambda: (g**e) ** 2.0,
        ))()  # fmt: skip
    inner = weight(chance, k, x, depth - 1)
    other = weight(chance, k, x, 0)
    return chance.choice((
        lambda: inner * other, lambda: other / inner, lambda: inner * 3.0, lambda: 3.0 * inner,
        lambda: -inner, lambda: inner / 2.0, lambda: 1.0 / inner, lambda: x * inner,
        lambda: inner * x,
    ))()  # fmt: skip


def drawn(seed: int) -> ot.Program:
    """A sum with a weight of the grammar, over one of the ranges."""
    chance = random.Random(seed)
    make = chance.choice((*RANGES.values(),))
    depth = chance.randrange(3)

    def summed(k: Any, x: Any, t: Any) -> Any:
        return (weight(chance, k, x, depth) * x).sum(0)

    return make(summed)


def _comparison(chance: random.Random, s: Any, t: Any) -> Any:
    left, right = s + chance.randint(-3, 3), t + chance.randint(-3, 3)
    if chance.random() < 0.3:
        left, right = s - t, chance.randint(-3, 3)
    compared = (left <= right, left < right, left >= right, left > right, ~(left > right))
    return chance.choice(compared)


def drawn_mask(seed: int) -> ot.Program:
    """A fold under a mask of one or two comparisons of positions."""
    chance = random.Random(seed)

    def folded(s: Any, t: Any, x: Any) -> Any:
        mask = _comparison(chance, s, t)
        if chance.random() < 0.5:
            other = _comparison(chance, s, t)
            mask = chance.choice((mask & other, mask | other))
        fold, unit = chance.choice((("sum", 0.0), ("max", MINUS), ("min", PLUS)))
        sides = (mask, x, unit) if chance.random() < 0.5 else (~mask, unit, x)
        return getattr(ot.where(*sides), fold)(0)

    return whole(folded)
