"""Incremental: sums over what came before, with weights that decay with the distance.

``sum_{s <= t} g^(t - s) x[s]`` is ``y[t] = x[t] + g y[t - 1]``: exponential averages, momenta and
the states of linear attention with decay, however their weights are spelled. A count from 0 is the
index of each step of the range (``incremental/positions``), so that one spelling of the distance
serves both. ``here(a, d)``: leaf a is the value of dimension d.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "A decaying sum is one multiply-add per step, not a pass over the whole past."
FIRST = "Decayed keys and values meet in a matrix that does not grow."

a, c, d, e, f, g, h, k, m, n, o, q = variables("a c d e f g h k m n o q")
s, u, v, w, x, y, z = variables("s u v w x y z")

_HERE = reshape(0, o, leaf(a))
_WEIGHTS = power(g, map1(f, sub(_HERE, sl(d, s, leaf(a)))))
_ONE = (eq(1, rank(g)), axis(g, 1, 1), not_in(d, dom(g)))
_PAST = (prefix(d, s), here(a, d), ones(1, o), real_cast(f), *_ONE)
_NUMBER = eq(0, rank(x))


def _rule(
    name: str,
    law: str,
    left: Term,
    right: Term,
    *when: Fact,
    reason: str = ONE_STEP,
    exact: Exactness = "distributes",
) -> Rule:
    return Rule(
        name=f"incremental/decayed-{name}",
        law=law,
        reason=reason,
        left=left,
        right=right,
        when=when,
        exact=exact,
        valid="inside the box",
        proof="proofs/test_decays.py",
    )


def _sums() -> Iterator[Rule]:
    law = "sum_{s <= d} g^(d - s) x[s] = y where y[d] = x[d] + g y[d - 1]"
    one = lin(d, 0, part(1, 0, g), x)
    for order, product in in_both_orders(_WEIGHTS, sl(d, s, x)):
        yield _rule(f"sum{order}", law, total(1, product), one, *_PAST, _NUMBER)
    several, leading = lin(d, 0, reshape(1, h, g), x), eq(m, 1 << rank(x))
    for order, product in in_both_orders(reshape(1, cons(n, h), _WEIGHTS), sl(d, s, x)):
        yield _rule(f"sums{order}", law, total(m, product), several, *_PAST, leading)
    law = "sum_{s <= d} g^(d - s) = y where y[d] = 1 + g y[d - 1]"
    right, one_of = lin(d, 0, part(1, 0, g), u), unit(dtype(g), u)
    yield _rule("total", law, total(1, _WEIGHTS), right, *_PAST, one_of, exact="reassociates")


def _triangles() -> Iterator[Rule]:
    """A row of a lower triangle of powers times a history."""
    distance = sub(_HERE, leaf(k))
    whole = (eq(s, full(d)), here(a, d), counts(k, length(s)), ones(1, o), real_cast(f))
    zeros = (eq(0.0, value(z)), eq(1, rank(z)), axis(z, 1, 1))
    bound = (eq(0.0, value(y)), eq(1, rank(y)), axis(y, 1, 1))
    for compared, condition, more in (
        ("distance", map2("ge", distance, y), bound),
        ("index", map2("le", leaf(k), _HERE), ()),
        ("here", map2("ge", _HERE, leaf(k)), ()),
    ):
        weights = where(condition, power(g, map1(f, distance)), z)
        for order, product in in_both_orders(weights, sl(d, s, x)):
            yield _rule(
                f"triangle-by-{compared}{order}",
                "sum_s where(s <= d, g^(d - s), 0) x[s] = y where y[d] = x[d] + g y[d - 1]",
                total(1, product),
                lin(d, 0, part(1, 0, g), x),
                *whole,
                *_ONE,
                _NUMBER,
                *zeros,
                *more,
                exact="skips zeros",
            )


_KEYS, _VALUES = sl(d, s, k), sl(d, s, v)
_VECTORS = (eq(n, size(length(s))), eq(1, rank(k)), eq(1, rank(v)), is_in(d, dom(k)))


def _outer() -> Iterator[Rule]:
    """Products of histories of which one decays."""
    law = "sum_{s <= d} g^(d - s) k[s]^T v[s] = S where S[d] = k[d]^T v[d] + g S[d - 1]"
    matrix = lin(d, 0, row(1, g), mul(column(e, k), row(c, v)))
    known, weights = (*_PAST, *_VECTORS, axis(k, 1, e), axis(v, 1, c)), column(n, _WEIGHTS)
    for order, product in in_both_orders(weights, _KEYS):
        yield _rule(f"keys{order}", law, mm(tr(product), _VALUES), matrix, *known)
    for order, product in in_both_orders(weights, _VALUES):
        yield _rule(f"values{order}", law, mm(tr(_KEYS), product), matrix, *known)


def _queries() -> Iterator[Rule]:
    """Scores with weights on them, before the values: weights go to the keys."""
    law = "(q k[range]^T w) v[range] = q ((w k[range])^T v[range])"
    state = mm(tr(mul(column(n, w), _KEYS)), _VALUES)
    some = (filled(n), axis(k, 1, e), filled(e))
    known = (growing(s), *_VECTORS, eq(1, rank(w)), axis(w, 1, n), *some)
    for order, product in in_both_orders(row(n, w), mm(q, tr(_KEYS))):
        left, right = mm(product, _VALUES), mm(q, state)
        yield _rule(f"scores{order}", law, left, right, *known, reason=FIRST)
    scores = reshape(2, sizes(n), mm(_KEYS, column(e, q)))
    for order, product in in_both_orders(w, scores):
        left, right = mm(row(n, product), _VALUES), mm(row(e, q), state)
        yield _rule(f"query{order}", law, left, right, *known, eq(1, rank(q)), reason=FIRST)


DECAYS: tuple[Rule, ...] = (*_sums(), *_triangles(), *_outer(), *_queries())
