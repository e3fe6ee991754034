"""Incremental: products with triangular matrices of weights, which are discounted sums.

Row i and column j are steps of dimension d. ``lag(x, d, b)``: x is ``j - i`` where b is 1, ``i -
j`` where it is 0; ``facing(c, d, b)``: c says where that is not negative; ``beyond(c, d, b)``:
where it is positive. ``rungs(m, d, b, g)``: there m is the product of g over the steps from the row
to before the column, such as ``g ** (j - i)``, and elsewhere anything; ``ladder(m, d, b, g)``:
elsewhere 0. However such a matrix is spelled, a product with it is the linear recurrence ``y[d] =
x[d] + g y[d + 1]``, or with ``d - 1``: T steps instead of T^2. Where an episode ends, g is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "Discounted sums are one multiply-add per step, not a product with a triangle."
CHAINED = "Weights that are products of factors cost one multiply-add per step."
SEEN = "A triangle of powers is known by what it is, however it is spelled."
PROOF = "proofs/test_ramps.py"

a, b, c, d, e, f, g, h, i, k, m, n = variables("a b c d e f g h i k m n")
q, r, s, u, w, x, y, z = variables("q r s u w x y z")

_STEPS = (eq(s, full(d)), eq(n, size(length(s))))
_COUNTED = (counts(k, length(s)), *_STEPS)
_ROW, _COLUMN = row(n, leaf(k)), column(n, leaf(k))
_STEADY = not_in(d, dom(g))
_NUMBER = (eq(2, rank(g)), axis(g, 1, 1), axis(g, 2, 1), _STEADY)
_ZERO = (eq(0.0, value(z)), eq(2, rank(z)), axis(z, 1, 1), axis(z, 2, 1))
_OTHER = eq(e, 1 - b)
_NO_RANK = eq(0, rank(g))


def _seen(
    name: str,
    law: str,
    term: Term,
    concluded: Fact,
    *when: Fact,
    exact: Exactness = "reassociates",
) -> Rule:
    """What a matrix is, from what it is made of."""
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=SEEN,
        left=x,
        right=x,
        when=(eq(x, term), *when),
        also=(concluded,),
        exact=exact,
        proof=PROOF,
    )


_LAG_Y = lag(y, d, b)
_LAGS = (
    ("ahead", "columns - rows = j - i", sub(_ROW, _COLUMN), 1, _COUNTED),
    ("behind", "rows - columns = i - j", sub(_COLUMN, _ROW), 0, _COUNTED),
    ("negated", "-(j - i) = i - j", neg(y), e, (_LAG_Y, _OTHER)),
    ("transposed", "(j - i)^T = i - j", tr(y), e, (_LAG_Y, _OTHER)),
    ("cast", "j - i as a float is j - i", map1(f, y), b, (_LAG_Y, real_cast(f))),
)
_CLAIMED: dict[str, Exactness] = {"negated": "zero signs", "cast": "reassociates"}


def _compared(fact: Asking, sign: str, least: str, most: str) -> Iterator[Rule]:
    """Where a lag is at least 0, or above it: by the lag itself, or by rows and columns."""
    known, turned = (_LAG_Y, *_ZERO), sign.replace(">", "<")
    ahead, behind = f"says j - i {sign} 0", f"says i - j {sign} 0"
    for name, law, term, flag, when in (
        (least, f"j - i {sign} 0", map2(least, y, z), b, known),
        (most, f"j - i {turned} 0 {behind}", map2(most, y, z), e, (*known, _OTHER)),
        ("ahead", f"j {sign} i {ahead}", map2(least, _ROW, _COLUMN), 1, _COUNTED),
        ("behind", f"i {sign} j {behind}", map2(least, _COLUMN, _ROW), 0, _COUNTED),
        ("not-behind", f"i {turned} j {ahead}", map2(most, _COLUMN, _ROW), 1, _COUNTED),
        ("not-ahead", f"j {turned} i {behind}", map2(most, _ROW, _COLUMN), 0, _COUNTED),
    ):
        yield _seen(f"{fact.head}-{name}", law, term, fact(x, d, flag), *when, exact="exact")


_RUNGS, _OTHER_RUNGS, _LADDER = rungs(y, d, b, g), rungs(w, d, b, h), ladder(y, d, b, g)
_skipping = partial(_seen, exact="skips zeros")


def _rungs() -> Iterator[Rule]:
    """Powers of the lag, products of factors along rows or columns, and products of these."""
    factor, known = reshape(2, NIL, g), (_LAG_Y, *_NUMBER)
    law = "g^(j - i) is the product of g over the steps from i to before j"
    yield _seen("rungs-power", law, power(g, y), rungs(x, d, b, factor), *known)
    law = "exp(c (j - i)) is the product of exp(c) over the steps from i to before j"
    for name, product in (("last", mul(y, g)), ("first", mul(g, y))):
        concluded = rungs(x, d, b, exp(factor))
        yield _skipping(f"rungs-exponents-{name}", law, exp(product), concluded, *known)
    ones = (eq(1.0, value(u)), eq(2, rank(u)), axis(u, 1, 1), axis(u, 2, 1))
    steps = (*_STEPS, _NO_RANK, *ones)
    law = "prod_{k <= j} where(k > i, g[k - 1], 1) is the product of g from i to before j"
    chosen = where(c, row(n, cat(1, w, sl(d, q, g))), u)
    first = (but_last(d, q), axis(w, 1, 1), beyond(c, d, 1))
    term = along1("prod", 1, a, chosen)
    yield _seen("rungs-along-rows", law, term, rungs(x, d, 1, g), *first, *steps)
    law = "prod_{k <= i} where(k > j, g[k], 1) is the product of g from i down to behind j"
    term = along1("prod", 2, a, where(c, column(n, sl(d, s, g)), u))
    yield _seen("rungs-along-columns", law, term, rungs(x, d, 0, g), beyond(c, d, 0), *steps)
    law = "products of g times products of h are products of g h"
    both = rungs(x, d, b, mul(g, h))
    yield _seen("rungs-product", law, mul(y, w), both, _RUNGS, _OTHER_RUNGS)


def _ladders() -> Iterator[Rule]:
    """Such products where the lag is not negative, chosen or multiplied by 0 and 1."""
    mask, known, seen = map1(f, c), (facing(c, d, b), _RUNGS), ladder(x, d, b, g)
    yield _seen("ladder", "where(j >= i, products of g, 0)", where(c, y, z), seen, *known, *_ZERO)
    law, cast = "products of g times 1 where j >= i, else 0", real_cast(f)
    yield _skipping("ladder-masked", law, mul(y, mask), seen, *known, cast)
    yield _skipping("ladder-masked-first", law, mul(mask, y), seen, *known, cast)
    law, seen = "a ladder of g times products of h is a ladder of g h", ladder(x, d, b, mul(g, h))
    for order, product in in_both_orders(y, w):
        yield _skipping(f"ladder-product{order}", law, product, seen, _LADDER, _OTHER_RUNGS)
    law, turned = "a ladder of one factor, transposed, faces the other way", ladder(x, d, e, g)
    steady = (_LADDER, _STEADY, _OTHER)
    yield _seen("ladder-transposed", law, tr(y), turned, *steady, exact="exact")


def _chained(name: str, law: str, left: Term, right: Term, *when: Fact) -> Rule:
    """Sums with weights that are products of factors along the way."""
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=CHAINED,
        left=left,
        right=right,
        when=when,
        exact="distributes",
        valid="inside the box",
        proof=PROOF,
    )


_ALIKE = (
    eq(r, rank(x)),
    eq(r, rank(g)),
    eq(m, 1 << r),
    eq(a, 1 + r),
    eq(shape(x), shape(g)),
)


def _chains() -> Iterator[Rule]:
    earlier = along1("prod", a, i, sl(d, q, g))
    law = "x[d] + sum_k g[d] ... g[d + k] x[d + 1 + k] = y where y[d] = x[d] + g[d] y[d + 1]"
    known, right = (*_ALIKE, rest(d, s), shortened(d, q)), lin(d, 1, g, x)
    for order, product in in_both_orders(earlier, sl(d, s, x)):
        tail = total(m, product)
        yield _chained(f"chained-step{order}", law, add(x, tail), right, *known)
        yield _chained(f"chained-step-before{order}", law, add(tail, x), right, *known)


def _product(name: str, law: str, left: Term, right: Term, *when: Fact) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=ONE_STEP,
        left=left,
        right=right,
        when=(ladder(m, d, b, g), *_STEPS, _NO_RANK, *when),
        exact="skips zeros",
        proof=PROOF,
    )


def _together(flag: Variable) -> Term:
    """The recurrences of all rows at once."""
    return sl(d, s, lin(d, flag, beside(g), sl(q, u, x)))


def _products() -> Iterator[Rule]:
    law = "sum_j m[d, j] x[j] where m is a ladder = y where y[d] = x[d] + g y[d +- 1]"
    number, several = eq(0, rank(x)), (eq(0, rank(x)), ne(d, q), not_in(d, mask(u)))
    history, histories = sl(d, s, x), sl(q, u, sl(d, s, x))
    vectors = sl(d, s, lin(d, b, beside(g), x))
    yield _product("ladder-times-vectors", law, mm(m, history), vectors, eq(1, rank(x)))
    found = column(n, sl(d, s, lin(d, b, g, x)))
    yield _product("ladder-times-column", law, mm(m, column(n, history)), found, number)
    yield _product("ladder-times-columns", law, mm(m, tr(histories)), _together(b), *several)
    law = "sum_i x[i] m[i, d] where m is a ladder = y where y[d] = x[d] + g y[d -+ 1]"
    for name, matrix, flag, steady in (
        ("", m, e, (_STEADY, _OTHER)),
        ("-transposed", tr(m), b, ()),
    ):
        left, found = mm(row(n, history), matrix), row(n, sl(d, s, lin(d, flag, g, x)))
        yield _product(f"row-times-ladder{name}", law, left, found, number, *steady)
        left, found = mm(histories, matrix), tr(_together(flag))
        yield _product(f"rows-times-ladder{name}", law, left, found, *several, *steady)


RAMPS: tuple[Rule, ...] = (
    *(
        _seen(f"lag-{name}", law, term, lag(x, d, b), *when, exact=_CLAIMED.get(name, "exact"))
        for name, law, term, b, when in _LAGS
    ),
    *_compared(facing, ">=", "ge", "le"),
    *_compared(beyond, ">", "gt", "lt"),
    *_rungs(),
    *_ladders(),
    *_products(),
    *_chains(),
)
