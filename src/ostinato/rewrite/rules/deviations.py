"""Incremental: squared distances from the mean of a range, and their like for two histories.

``sum_s (x[s] - mean(x)) (z[s] - mean(z))`` over a growing range takes one product per point: the
distance of the new x from the old mean times that of the new z from the new mean (Welford 1962; z
is x for a variance). Parts of a window are joined by the product of the distances of their means
(Chan, Golub, LeVeque 1983). Neither subtracts a squared sum from a sum of squares: the error grows
with ``mean / deviation``, not with its square, and no variance is below zero.

``tally(s, c)``: c is how many steps slice s has. ``centre(d, s, x, n, y)``: y is the mean of the n
values of x in slice s along d, with a leading axis of size 1.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "One product per point instead of two passes over the whole range."
RUNNING = "One running sum serves every range that begins where it begins."
HALVES = "A long window takes a few steps: it is two windows of half the length."
MEANS = "Where a mean is known to be one, the distances from it can be summed step by step."
_law = Family("incremental/", "proofs/test_spread.py", ONE_STEP, "distributes", "inside the box")

a, b, c, d, e, f, g, h, i, j, k, m, n, o = variables("a b c d e f g h i j k m n o")
q, r, s, t, u, v, w, x, y, z = variables("q r s t u v w x y z")

_OWN, _THERE = map1(f, t), at(d, a, map1(f, t))  # the steps of slice q, and at a
_TALLY = (tally(q, t), eq(n, map1(f, i)), real_cast(f))
_FOLD = eq(m, 1 << rank(x))
_ALIKE = (eq(r, rank(x)), eq(h, shape(x)), eq(h, shape(z)), ones(r, o), is_in(d, dom(x)))


def _sum(s: Variable, x: Variable) -> Term:
    return total(m, sl(d, s, x))


def _mean(total: Expression, n: Expression) -> Term:
    """A mean from a sum and the count of one point."""
    return div(total, reshape(0, o, n))


def _row(x: Expression) -> Term:
    """A value of the point beside a range."""
    return reshape(r, sizes(1, then=h), x)


def _products(s: Variable, y: Expression, w: Expression) -> Term:
    """The sum of the products of two distances over a range."""
    return total(m, mul(sub(sl(d, s, x), y), sub(sl(d, s, z), w)))


def _rule(
    name: str,
    law: str,
    right: Term,
    *when: Fact,
    reason: str = RUNNING,
    exact: Exactness = "exact",
) -> Rule:
    """A law about a sum of products of two distances from means."""
    about = (centre(d, s, x, n, y), centre(d, s, z, n, w), *_ALIKE, _FOLD, *when)
    left = _products(s, y, w)
    return _law(f"spread-{name}", law, left, right, *about, reason=reason, exact=exact)


def _step() -> Rule:
    """The running sum over one side of the point."""
    earlier = case(k, at(d, b, _mean(_sum(s, x), n)), x)
    return _rule(
        "so-far",
        "sum_s (x[s] - mean(x)) (z[s] - mean(z)) over all so far, or to come, = the running sum of "
        "(x - the mean at the step beside) (z - the mean)",
        lin(d, f, reshape(0, o, u), mul(sub(x, earlier), sub(z, _mean(_sum(s, z), n)))),
        nearby(d, s, f, b, k),
        unit(dtype(x), u),
        reason=ONE_STEP,
        exact="distributes",
    )


def _of_half() -> Term:
    """The sum of products over slice q with its own means."""
    return _products(q, _row(_mean(_sum(q, x), _OWN)), _row(_mean(_sum(q, z), _OWN)))


def _merged(first: Term, second: Term, gaps: tuple[Term, Term], share: Expression) -> Term:
    """Sums of products of two parts, with the distances of their means."""
    return add(add(first, second), mul(mul(*gaps), reshape(0, o, share)))


_BOTH = add(_OWN, _THERE)


def _parts() -> Term:
    """Two windows of half the length, of which the second has elements."""

    def gap(x: Variable) -> Term:
        mean = _mean(_sum(q, x), _OWN)
        return sub(mean, at(d, a, mean))

    share = div(mul(_OWN, _THERE), _BOTH)
    return _merged(_of_half(), at(d, a, _of_half()), (gap(x), gap(z)), share)


def _one_more() -> Term:
    """Both windows and one element."""

    def gap(x: Variable) -> Term:
        return sub(_mean(add(_sum(q, x), at(d, a, _sum(q, x))), _BOTH), at(d, j, x))

    between = mul(mul(gap(x), gap(z)), reshape(0, o, div(_BOTH, n)))
    return add(_parts(), between)


def _decaying() -> Rule:
    """Squared distances with weights that decay; any other weight of what enters scales them all.

    The mean of the step before has weights of at least 1, so no step divides by 0.
    """
    mean = div(v, total(1, w))
    distance = sub(sl(d, s, x), reshape(0, sizes(1), mean))
    earlier = case(k, at(d, b, mean), x)
    weighted = (either("mul", y, w, mul(distance, distance)), eq(v, total(1, z)))
    return _law(
        "spread-decaying",
        "sum_s w[s] (x[s] - m)^2, w steps by g and is 1 where it enters, m the weighted mean, "
        "= y where y = (x - m') (x - m) + g y' of the step beside",
        total(1, y),
        lin(d, f, g, mul(sub(x, earlier), sub(x, mean))),
        *(*weighted, either("mul", z, w, sl(d, s, x))),
        *(decay(w, d, s, g, u), nearby(d, s, f, b, k), is_in(d, dom(x))),
        *(eq(0, rank(x)), eq(1.0, value(u))),
    )


SPREAD: tuple[Rule, ...] = (
    _law("mean", "the sum of a range over its length is its mean", y, y,
         eq(y, div(_row(_sum(s, x)), reshape(0, q, n))), tally(s, c), real_cast(f),
         eq(n, map1(f, c)), eq(h, shape(x)), _FOLD, eq(r, rank(x)),
         also=(centre(d, s, x, n, y),), reason=MEANS, exact="exact", valid="everywhere"),
    _step(),
    _decaying(),
    _rule("elsewhere",
          "the same over a range that is q at another point is that over q there, or 0 of nothing",
          case(c, at(d, a, _of_half()), bcast(h, reshape(0, o, u))),
          moved(d, s, q, a, c), *_TALLY, eq(e, dtype(LHS)), zero(e, u)),
    _rule("window-halved",
          "the same for a window is that of its halves, of the distances of their means, and for "
          "odd ones of an element more",
          case(g, case(c, _parts(), _of_half()), _one_more()), halved(d, s, q, a, c, j, g),
          *_TALLY, reason=HALVES, exact="distributes"),
)  # fmt: skip
