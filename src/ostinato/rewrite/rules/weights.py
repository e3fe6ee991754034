"""Incremental: sums over ranges that follow the point, with any weight that steps by a factor.

A range gains one step of a dimension at every point, and keeps those that it has (``enters``); the
*lag* of an element is how many points ago it came. ``ramp(x, d, s, g, u)``: x is ``u + g lag``.
``decay(x, d, s, g, u)``: x is u where it enters, and with every later point g times what it was.
Both follow from the parts of a weight: the laws here say how functions pass them on, and no law
names a spelling. One more turns the sum of any decay into a linear recurrence, ``y = u + g y'``.

The recurrence multiplies by g once per step and never divides: what the definition of a weight
keeps finite at the lags 0 to k stays so. A weight of lag k has at most ``k + 1`` roundings of g and
u more than its definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "A sum whose weights step by a factor is one multiply-add per step."
SEEN = "A weight is known by how it changes from point to point, however it is spelled."
_law = Family("incremental/", "proofs/test_weights.py", ONE_STEP, "distributes", "inside the box")

a, b, c, d, e, f, g, h, i, k, m, n, o = variables("a b c d e f g h i k m n o")
p, q, r, s, t, u, v, w, x, y, z = variables("p q r s t u v w x y z")


def _seen(
    name: str,
    law: str,
    term: Expression,
    concluded: Fact,
    *when: Fact,
    exact: Exactness = "reassociates",
) -> Rule:
    """What a term is, from what it is made of."""
    known = when if term is x else (eq(x, term), *when)
    return _law(
        name, law, x, x, *known, also=(concluded,), reason=SEEN, exact=exact, valid="everywhere"
    )


_RAMP, _OTHER_RAMP = ramp(y, d, s, g, u), ramp(w, d, s, h, v)
_DECAY, _OTHER_DECAY = decay(y, d, s, g, u), decay(w, d, s, h, v)
_ENTERS = enters(d, s, a, f)
_STEADY = (eq(k, rank(w)), axis(w, k, 1), not_in(d, dom(w)))  # the same for all steps and points
_W = part(k, 0, w)
_NUMBERS = (not_in(d, dom(g)), not_in(d, dom(u)))


def _ramp(
    name: str,
    law: str,
    term: Expression,
    g: Expression,
    u: Expression,
    *when: Fact,
    exact: Exactness = "reassociates",
) -> Rule:
    return _seen(f"ramp-{name}", law, term, ramp(x, d, s, g, u), *when, exact=exact)


def _decay(
    name: str,
    law: str,
    term: Expression,
    g: Expression,
    u: Expression,
    *when: Fact,
    exact: Exactness = "skips zeros",
) -> Rule:
    return _seen(f"decay-{name}", law, term, decay(x, d, s, g, u), *when, exact=exact)


def _ramps() -> Iterator[Rule]:
    """What rises by the same with every lag."""
    law = "counts and indices rise by the same with every lag"
    real = (map1(f, g), map1(f, u))
    yield _ramp("of-counts", law, map1(f, y), *real, lagged(y, d, s, g, u), real_cast(f))
    law = "so do those in a part of all steps"
    counted = (lagged_in(y, d, s, g, u), eq(k, rank(y)), real_cast(f))
    yield _ramp("of-part", law, map1(f, cut(k, s, y)), *real, *counted)
    law = "-(u + g k) = -u + (-g) k"
    yield _ramp("neg", law, neg(y), neg(g), neg(u), _RAMP, exact="zero signs")
    law = "(u + g k) + (v + h k) = (u + v) + (g + h) k, and so for differences"
    both = (_RAMP, _OTHER_RAMP, adds(f))
    yield _ramp("sum", law, map2(f, y, w), map2(f, g, h), map2(f, u, v), *both)
    law = "(u + g k) + w = (u + w) + g k, and so for differences"
    known = (_RAMP, adds(f), *_STEADY)
    yield _ramp("moved", law, x, g, map2(f, u, _W), either(f, x, y, w), *known)
    law = "w - (u + g k) = (w - u) + (-g) k"
    yield _ramp("below", law, sub(w, y), neg(g), sub(_W, u), _RAMP, *_STEADY)


def _scaled() -> Iterator[Rule]:
    """Multiples of what rises evenly; what begins with 0 does so afterwards."""
    times = (either(f, x, y, w), _RAMP, scales(f), *_STEADY)
    law = "(g k) w = (g w) k, and so for quotients"
    yield _ramp("scaled", law, x, map2(f, g, _W), u, *times, eq(0.0, value(u)))
    law = "(u + g k) w = u w + (g w) k, and so for quotients"
    moved = map2(f, g, _W), map2(f, u, _W)
    yield _ramp("moved-scaled", law, x, *moved, *times, bounded(w), exact="distributes")


def _decays() -> Iterator[Rule]:
    """What is multiplied by a factor with every lag.

    Where it enters it is neither large nor small, so that no product of factors overflows before
    the weight itself does.
    """
    law = "exp(u + g k) is exp(g) times that of the lag before"
    even = (_RAMP, *_NUMBERS, moderate(u))
    yield _decay("exp", law, exp(y), exp(g), exp(u), *even)
    law = "w ** (u + g k) is w ** g times that of the lag before, for a number w > 0"
    powers = (power(w, y), power(_W, g), power(_W, u))
    yield _decay("power", law, *powers, *even, *_STEADY, gentle(w))
    law = "w ** k for a count k is w times that of the lag before"
    counted = (_RAMP, eq(1.0, value(g)), eq(0.0, value(u)))
    one = (eq(e, dtype(w)), unit(e, z), eq(i, k - 1), ones(i, o))
    number = eq(shape(y), cons(size(length(s)), o))
    facts = (*counted, *_STEADY, *one, number)
    first = reshape(0, o, z)
    yield _decay("power-of-count", law, power(w, y), _W, first, *facts, exact="reassociates")
    yield _decay("neg", "-w steps by the factor of w", neg(y), g, neg(u), _DECAY, exact="exact")
    law = "products and quotients of what steps by factors step by those of the factors"
    both = (_DECAY, _OTHER_DECAY, scales(f))
    pairs = (map2(f, y, w), map2(f, g, h), map2(f, u, v))
    yield _decay("product", law, *pairs, *both, exact="reassociates")


def _beside() -> Iterator[Rule]:
    """Products with numbers, and with what is said of an element alone."""
    one = (unit(e, z), eq(i, k - 1), ones(i, o))
    inverse = div(reshape(0, o, z), g)
    law = "w x and x / w step by the factor of x, for what does not change"
    scaled = (_DECAY, scales(f), *_STEADY)
    times = map2(f, u, _W), either(f, x, y, w)
    yield _decay("scaled", law, x, g, *times, *scaled, exact="reassociates")
    law = "w / x steps by 1 over the factor of x, for what does not change"
    quotient = (_DECAY, *_STEADY, eq(e, dtype(w)), *one)
    over = div(w, y), inverse, div(_W, u)
    yield _decay("inverse", law, *over, *quotient, exact="reassociates")
    law = "x[s] steps by 1, and is x where it enters"
    known = (enters(d, s, a, b), eq(e, dtype(v)), eq(r, rank(v)), unit(e, z), ones(r, o))
    there, there_is = at(d, a, v), (is_in(d, dom(v)), not_in(d, sdom(v)))
    yield _decay("of-values", law, sl(d, s, v), reshape(0, o, z), there, *known, *there_is)


def _views() -> Iterator[Rule]:
    """Weights beside vectors, and terms that are left out where an element says so."""
    law = "weights of which axes behind the range are reshaped step by the same factor"
    one_factor = (ones(k - 1, m), eq(m, shape(g)), eq(i, hlen(h)), ones(i, o))
    whole = (_DECAY, eq(k, rank(y)), r < k, eq(shape(y), cons(size(length(s)), shape(u))))
    columns = (reshape(r, h, y), reshape(r, o, g), reshape(r, h, u))
    yield _decay("reshaped", law, *columns, *whole, *one_factor, not_in(d, hmask(h)),
                 exact="exact")  # fmt: skip
    law = "where(c[s], w, 0) steps by the factor of w"
    sides = where(sl(d, s, c), y, z), g, where(at(d, a, c), u, part(k, 0, z))
    nothing = (eq(0.0, value(z)), eq(k, rank(z)), axis(z, k, 1), not_in(d, dom(z)))
    known = (_DECAY, enters(d, s, a, b), *nothing, eq(shape(y), shape(x)), not_in(d, sdom(c)))
    yield _decay("where", law, *sides, *known, bounded(g), exact="reassociates")


def _sum(name: str, law: str, factor: Expression, added: Expression, *when: Fact) -> Rule:
    known = (
        _DECAY,
        _ENTERS,
        eq(k, rank(y)),
        eq(m, 1 << (k - 1)),
        *(not_in(d, sdom(x)) for x in (g, u)),
    )
    return _law(name, law, total(m, y), lin(d, f, factor, added), *known, *when)


def _sums() -> Iterator[Rule]:
    law = (
        "the sum of what steps by g, and u where it enters, = y where y = u + g y one step before, "
        "without u where nothing enters"
    )
    some = (some_where(s, c, q), eq(e, dtype(LHS)), zero(e, z), eq(h, shape(g)), eq(n, shape(u)))
    nothing = reshape(0, o, z)
    factor, added = case(q, g, bcast(h, nothing)), case(c, u, bcast(n, nothing))
    yield _sum("decaying-sum", law, factor, added, *some, eq(i, k - 1), ones(i, o))
    law = "x and the sum of what steps by g behind it, with g x first, = y where y = x + g y"
    whole = (either("add", x, v, total(m, y)), either("mul", u, g, at(d, a, v)), rest(d, s))
    known = (*whole, is_in(d, dom(v)), not_in(d, sdom(v)))
    yield replace(_sum("decaying-sum-from-here", law, g, v, *known), left=x)


def _chains() -> Iterator[Rule]:
    """Products of factors along the way: each step multiplies by one more."""
    alone = (eq(k, 1 + rank(g)), not_in(d, sdom(g)))

    def chain(
        name: str,
        law: str,
        term: Term,
        u: Expression,
        *when: Fact,
        exact: Exactness = "reassociates",
    ) -> Rule:
        return _decay(f"chain{name}", law, term, g, u, *alone, *when, exact=exact)

    law = "g[d] ... g[s], or to g[s - 1] behind d, is g[d] times what it is for the step after"
    running = along1("prod", k, i, sl(d, q, g))
    yield chain("", law, running, g, as_many(d, s, q), eq(i, length(q)))
    law = "g[d] ... g[s - 1], which is 1 at d, is g[d] times what it is for the step after"
    one = (eq(1.0, value(y)), axis(y, k, 1), eq(k, rank(y)), eq(e, dtype(y)), unit(e, z))
    before = shortened(d, q), eq(i, length(q))
    known = (suffix(d, s), *before, *one, ones(o, h), eq(o, k - 1))
    yield chain("-from-one", law, cat(k, y, running), reshape(0, h, z), *known, exact="exact")


def _summed() -> Iterator[Rule]:
    """Sums of sums, and of products of vectors."""
    law = "sum_n w[n] sum_{k <= n} y[k] = z where z[d] = u[d] sum_n w[n] + g[d] h[d] z[d + 1]"
    number = (_DECAY, _OTHER_DECAY, suffix(d, s), eq(1, rank(w)), eq(i, length(s)))
    sums = either("mul", x, w, along1("sum", 1, i, y))
    step = lin(d, 1, mul(g, h), mul(u, total(1, w)))
    yield _law("decaying-sums", law, total(1, x), step, sums, *number)
    law = "sum_s y[s]^T w[s], y steps by g and w by h, = S where S = u^T v + g h S one step before"
    vectors = (axes(y, k, m), axes(w, k, n), *(eq(1, rank(x)) for x in (g, h, u, v)))
    numbers = (axis(g, 1, 1), axis(h, 1, 1), not_in(d, sdom(u)), not_in(d, sdom(v)))
    step = lin(d, f, row(1, mul(g, h)), mul(column(m, u), row(n, v)))
    known = (_DECAY, _OTHER_DECAY, _ENTERS, eq(a, self(d)), *vectors, *numbers)
    yield _law("decaying-products", law, mm(tr(y), w), step, *known)


WEIGHTS: tuple[Rule, ...] = (
    *(*_ramps(), *_scaled(), *_decays(), *_beside(), *_views()),
    *(*_chains(), *_sums(), *_summed()),
)
