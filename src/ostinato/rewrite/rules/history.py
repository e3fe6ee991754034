"""Incremental: what enters a range that grows with the point is computed once, outside of it.

``growing(s)``: the bounds of slice s follow the point. What is done to every element of such a
range is done to every point instead, and the range holds the results: a history that is kept. The
axis of the range may stand anywhere: axis ``-p`` of ``mv(k, p, sl(d, s, x))``, with the rank ``k``.
Axis ``-a`` of that is axis ``-i`` of an element, one less where the range stands behind it.
``ranged(y, d, s, p, f, x)``: y is such a range of x, or, with the flag f, what has one element
there that is the same at all points: operators repeat it.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

SEEN = "A range is known as one, however it came about."
ONCE = "Each point is computed once, not again in every range that holds it."
COUNTED = "What is computed from positions is computed once for each."
PROOF = "proofs/test_history.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"
ORDERS = f"unproved: it knows permutations by tables; {PROOF} decides every order of 5 axes"

_law = Family("incremental/", PROOF, ONCE)

a, b, c, d, e, f, g, h, i, j, k, m, n, p = variables("a b c d e f g h i j k m n p")
q, s, u, v, w, x, y, z, low = variables("q s u v w x y z low")


def _inner(x: Variable) -> Fact:
    """Of several values with the same range one is enough: pairs of them would be many."""
    return eq(x, inner(d, s, sl(d, s, x)))


def _held(x: Expression, k: Number = k, p: Number = p) -> Term:
    """A value at all points of a growing range, whose axis stands at ``-p``."""
    return sl(d, s, x) if k == p else mv(k, p, sl(d, s, x))


_X = _held(x)
_RANGE = (growing(s), _inner(x), eq(k, 1 + rank(x)))
_INSIDE = (ne(a, p), eq(i, a - 1 - ((a - p) >> 63)))
_BESIDE = p - 1 - ((p - a) >> 63)  # the place of the range once axis -a is gone


def _seen(name: str, law: str, of: Variable, concluded: Fact, *when: Fact) -> Rule:
    """What is a range, which is known before laws of ranges run."""
    return _law(name, law, of, of, *when, also=(concluded,), reason=SEEN, phase="spread")


_rule = replace(_law, when=_RANGE)


def _together(
    op: Operator,
    law: str,
    names: tuple[Variable, ...],
    fields: tuple[Expression, ...] = (),
    inner: tuple[Expression, ...] = (),
    *when: Fact,
) -> Rule:
    """An operator of ranges is the range of the operator.

    ``fields``: those of the operator on ranges; ``inner``: on one element of each.
    """
    elements = tuple(Variable(f"{name}0") for name in names)
    about = (ranged(y, d, s, p, Variable(f"{y}1"), x)
             for y, x in zip(names, elements, strict=True))  # fmt: skip
    known = (eq(k, rank(LHS)), eq(n, length(s)), axis(LHS, p, size(n)))
    right = _held(op(*inner, *elements))
    return _law(f"together-{op.head}", law, op(*fields, *names), right, *about, *known, *when)


_ALONG = (*_INSIDE, not_in(d, mask(m)))
_ELEMENTWISE = (
    _seen("range", "x[lo:hi] is a range of x", y, ranged(y, d, s, p, 0, x),
          eq(y, _X), *_RANGE),
    _seen("beside-a-range", "what has one element beside a range, the same for all points, is one",
          w, ranged(w, d, s, p, 1, part(p, 0, w)),
          operands(y, w), ranged(y, d, s, p, 0, x), axis(w, p, 1), not_in(d, dom(w))),
    _together(map1, "f(x[lo:hi]) = f(x)[lo:hi]", (y,), (f,), (f,)),
    _together(map2, "f(x[lo:hi], y[lo:hi]) = f(x, y)[lo:hi]", (y, w), (f,), (f,)),
    _together(map3, "f(x[lo:hi], y[lo:hi], z[lo:hi]) = f(x, y, z)[lo:hi]", (y, w, v), (f,), (f,)),
    _together(mm, "x[lo:hi] @ y[lo:hi], the range in front, = (x @ y)[lo:hi]", (y, w), (), (),
              2 < p),
    _together(gather, "the elements of x[lo:hi] at places y[lo:hi] = those of x at y, [lo:hi]",
              (y, w), (a,), (i,), *_INSIDE),
    _together(along1, "f along another axis of x[lo:hi] = f(x)[lo:hi]",
              (y,), (f, a, m), (f, i, m), *_ALONG),
    _together(along2, "f along another axis of x[lo:hi] and y[lo:hi] = f(x, y)[lo:hi]",
              (y, w), (f, a, m), (f, i, m), *_ALONG),
    _together(cat, "x[lo:hi] and y[lo:hi] joined along another axis = joined(x, y)[lo:hi]",
              (y, w), (a,), (i,), *_INSIDE),
    _together(cut, "a part along another axis of x[lo:hi] = the part of x[lo:hi]",
              (y,), (a, j), (i, j), *_INSIDE, not_in(d, mask(j))),
)  # fmt: skip


def _fronts(before: tuple[Operand, ...], after: tuple[Operand, ...]) -> Rule:
    """A reshape of the axes in front of the range only."""
    return _rule(
        f"reshape-in-front-{len(before)}-{len(after)}",
        "x[lo:hi] with its axes in front reshaped = reshape(x)[lo:hi]",
        reshape(k, sizes(*after, n, then=h), _X),
        _held(reshape(k - 1, sizes(*after, then=h), x), k + (len(after) - len(before))),
        eq(n, size(length(s))),
        eq(shape(x), sizes(*before, then=h)),
        eq(k, p + len(before)),
        *(not_in(d, zmask(z)) for z in after if isinstance(z, Variable)),
    )


_AXES = (
    _rule("slice-in-place", "x[lo:hi] with its first axis where it is = x[lo:hi]",
          sl(d, s, x), mv(k, k, sl(d, s, x))),
    _rule("reshape-inside", "x[lo:hi] with axes behind the range reshaped = reshape(x)[lo:hi]",
          reshape(q, h, _X), _held(reshape(q, h, x), k - q + w, p - q + w),
          q < p, eq(w, hlen(h)), not_in(d, hmask(h))),
    _rule("new-axis-in-front", "x[lo:hi] with a new axis in front = x with a new axis[lo:hi]",
          reshape(p, sizes(1, n, then=h), _X),
          _held(reshape(p - 1, sizes(1, then=h), x), k - p + w + 2, w + 1),
          eq(n, size(length(s))), eq(w, hlen(h)), not_in(d, hmask(h))),
    _law("new-axes", "new axes come in front one after the other",
         reshape(k, sizes(1, 1, then=h), y),
         reshape(w, sizes(1, then=h), reshape(k, sizes(1, then=h), y)),
         long(n), axis(y, p, size(n)), eq(w, hlen(h)),
         reason="One axis more is one law, of ranges as of their parts."),
    _fronts((1,), ()),
    _fronts((u,), (v, w)),
    _fronts((v, w), (u,)),
    _rule("repeat-inside", "x[lo:hi] repeated along axes behind the range = repeat(x)[lo:hi]",
          bcast(h, _X), _held(bcast(h, x)), hlen(h) < p, not_in(d, hmask(h))),
    _rule("repeat-behind", "an axis that keeps its size is not repeated",
          bcast(cons(z, h), y), bcast(h, y), eq(y, _X), eq(q, 1 + hlen(h)), p <= q, axis(y, q, z)),
    _rule("part-inside", "x[lo:hi][.., i, ..] = x[.., i, ..][lo:hi]",
          part(a, j, _X), _held(part(i, j, x), k - 1, _BESIDE), *_INSIDE, not_in(d, mask(j))),
    _rule("read-inside", "x[lo:hi] at another point of another dimension = x there[lo:hi]",
          at(e, j, _X), _held(at(e, j, x)),
          ne(d, e), not_in(e, mask(s)), not_in(d, mask(j)), is_in(e, dom(x))),
    _rule("transpose-inside", "x[lo:hi].T, the range in front, = x.T[lo:hi]",
          tr(_X), _held(tr(x)), 2 < p),
    *(
        _rule(f"permute{suffix}",
              f"x[lo:hi] with its axes in another order = x with {others}, [lo:hi] in its place",
              perm(a, _X), _held(right, p=q), known, proof=ORDERS)
        for suffix, others, right, known in (
            ("", "its other axes in theirs", perm(b, x), around(a, p, q, b)),
            ("-pair", "its other two axes exchanged", tr(x), around_pair(a, p, q)),
            ("-alone", "its other axes as they were", x, around_alone(a, p, q)),
        )
    ),
    _rule("transpose-moves", "x[lo:hi].T = x[lo:hi] with the range at the other axis",
          tr(_X), _held(x, p=q), p < 3, eq(q, 3 - p)),
)  # fmt: skip

_FOLDS = (
    _rule("fold-beside", "fold over other axes of x[lo:hi] = fold(x)[lo:hi]",
          red(f, m, _X), _held(red(f, m & low | (m >> 1) & ~low, x), k - u, p - v),
          eq(0, m & (1 << (p - 1))), eq(low, (1 << (p - 1)) - 1),
          *popcount(u, m), *popcount(v, m & low), proof=MASKS),
    _rule("fold-of-folds", "fold over x[lo:hi] and other axes = fold of fold(x)[lo:hi]",
          red(f, m, sl(d, s, x)), red(f, 1 << (q - u), sl(d, s, red(f, w, x))),
          repeats(f, g), eq(q, rank(x)), eq(w, m & ((1 << q) - 1)), ne(w, m), ne(0, w),
          *popcount(u, w), proof=MASKS, exact="reassociates", bits=(exactly(f, g),)),
)  # fmt: skip


def _merged_rows(count: int) -> Rule:
    """A product of all rows of a range, as the product for each of its points."""
    rows = tuple(Variable(f"n{j}") for j in range(count - 1))
    apart = mm(y, reshape(2, sizes(*(1,) * (count - 2), a, b), w))
    return _rule(
        f"projection-of-merged-rows-{count}",
        "all rows of x[lo:hi] @ W = the rows of each x @ W",
        mm(reshape(count, sizes(m, a), y), w),
        reshape(count, sizes(m, b), apart),
        *(eq(y, _X), axes(y, *rows, a), axes(w, a, b)),
    )


def _as_row(p: Number) -> Term:
    """A value as one element along axis ``-p``."""
    return mv(k, p, reshape(k - 1, sizes(1, then=h), x))


_SHARED = (not_in(d, dom(w)), eq(h, shape(x)))
_TABLES = (
    _merged_rows(3),
    _merged_rows(4),
    _rule("projection", "x[lo:hi] @ W = (x @ W)[lo:hi]",
          mm(_held(x, p=2), w), _held(reshape(2, sizes(n), mm(_as_row(2), w)), p=2),
          *_SHARED, axis(w, 1, n)),
    _rule("projection-of-columns", "W @ x[lo:hi] as columns = (W @ x)[lo:hi] as columns",
          mm(w, _held(x, p=1)), _held(reshape(2, sizes(n), mm(w, _as_row(1))), p=1),
          *_SHARED, axis(w, 2, n)),
    _rule("looked-up", "table[x[lo:hi]] = table[x][lo:hi]",
          gather(p, w, _X), _held(part(p, 0, gather(p, w, _as_row(p)))), *_SHARED),
)  # fmt: skip

_START = reshape(0, h, leaf(e))
_POSITIONS = (
    _law("positions", "0, 1, ..., hi - 1 = d for d in 0..hi", leaf(c), sl(d, s, leaf(a)),
         from_zero(d, s), counts(c, length(s)), here(a, d), reason=COUNTED),
    _law("positions-of-range", "lo + 0, lo + 1, ..., hi - 1 = d for d in lo..hi",
         x, sl(d, s, leaf(a)),
         either("add", x, _START, leaf(c)), starts(d, s, e), counts(c, length(s)), here(a, d),
         ones(1, h), reason=COUNTED),
    *(
        _law(f"repeated{'-behind-an-axis' * bool(front)}", "c repeated hi - lo times = c[lo:hi]",
             bcast(sizes(*front, n, then=h), e),
             _held(bcast(sizes(*front, then=h), part(p, 0, e))),
             follows(d, s), eq(n, size(length(s))), eq(k, rank(e)), eq(p, 1 + hlen(h)),
             eq(k, p + len(front)), axis(e, p, 1), not_in(d, dom(e)), not_in(d, hmask(h)),
             *(not_in(d, zmask(z)) for z in front),
             reason="What is the same at all points is like a history of it.")
        for front in ((), (z,))
    ),
)  # fmt: skip

HISTORY: tuple[Rule, ...] = (*_ELEMENTWISE, *_AXES, *_FOLDS, *_TABLES, *_POSITIONS)
