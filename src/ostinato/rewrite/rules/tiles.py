"""Tiles: softmax-weighted sums over long ranges, a tile at a time, without a row of scores.

A range of n steps is made of tiles, one for each step of a new dimension: the greatest score, the
sum of powers and the weighted sum of every tile, each shifted by the tile's own greatest score, are
joined along it as in `ostinato.rewrite.rules.online`. So the scores may depend on the
point, as those of attention do, and only a tile of them exists at a time. A tile may be empty: its
greatest score is -inf, for which 0 takes its place, and its sums are 0.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ROWLESS = "Scores exist for one tile at a time: no row of all of them lies in memory."
INWARDS = "A tile of what was computed is computed from tiles."
PROOF = "proofs/test_tiles.py"
_law = Family("incremental/", PROOF, INWARDS)

a, b, c, d, e, f, h, i, j, k, l, m, n, o = variables("a b c d e f h i j k l m n o")  # noqa: E741
p, q, r, s, t, u, v, w, x, y, z = variables("p q r s t u v w x y z")

_MOST, _TILE = most(1, x), most(1, cut(1, p, x))
_RANGE = (tiled(n, p, c), final(c, e), axis(x, 1, size(n)), not_in(c, dom(x)))
_STEPS = (
    before(c, b, k),
    eq(t, dtype(x)),
    zero(t, z),
    unit(t, u),
    eq(r, rank(x)),
    ones(r, o),
)


def _power(x: Expression, shift: Expression) -> Term:
    return exp(sub(x, shift))


def _joined(terms: Term, ones: Expression, is_column: bool = True) -> Term:
    """The sums of all tiles as one, a linear recurrence that is shifted by the greatest so far.

    ``is_column``: whether the greatest scores stand as numbers beside the sums.
    """
    scores = (_TILE, scan("max", c, _TILE), at(c, b, scan("max", c, _TILE)))
    own, greatest, earlier = map(beside, scores) if is_column else scores
    shift = finite(greatest, reshape(0, ones, z))
    gain = case(k, _power(earlier, shift), bcast(h, reshape(0, ones, u)))
    return at(c, e, lin(c, 0, gain, mul(_power(own, shift), terms)))


_POWERS = _power(cut(1, p, x), finite(beside(_TILE), reshape(0, o, z)))


_rule = Family(
    "incremental/", PROOF, ROWLESS, "reassociates", "inside the box", when=_RANGE, end="-in-tiles"
)
_ALONE = _rule(
    "sum-of-powers",
    "sum_s exp(x[s] - m), m the greatest, = y at the last tile, where m[c] is the greatest of "
    "tile c, n[c] that of all up to it, y[c] = exp(n[c - 1] - n[c]) y[c - 1] + "
    "exp(m[c] - n[c]) sum_(s in tile c) exp(x[s] - m[c]), + (m - m)",
    total(1, _power(x, beside(_MOST))),
    add(_joined(total(1, _POWERS), l, is_column=False), sub(_MOST, _MOST)),
    *_STEPS,
    eq(h, shape(_MOST)),
    eq(s, rank(_MOST)),
    ones(s, l),
)


def _weighted(name: str, left: Term, terms: Term, *when: Fact) -> Rule:
    """Powers of rows times the vectors of a range."""
    return _rule(
        name,
        "sum_s exp(x[s] - m) v[s] in the same way, with the powers of a tile @ its vectors",
        left,
        add(_joined(terms, o), sub(beside(_MOST), beside(_MOST))),
        *_STEPS,
        axis(v, 2, size(n)),
        not_in(c, dom(v)),
        eq(h, shape(beside(_MOST))),
        *when,
    )


_WEIGHTS, _VECTORS = _power(x, beside(_MOST)), cut(2, p, v)
_FOLDS = (
    _rule(
        "max",
        "the greatest of a range = the greatest of the greatest of its tiles",
        _MOST,
        at(c, e, scan("max", c, _TILE)),
        exact="exact",
    ),
    _ALONE,
    _weighted("softmax-product", mm(_WEIGHTS, v), mm(_POWERS, _VECTORS), eq(r, rank(v))),
    _weighted(
        "softmax-sum-of-vectors",
        total(2, mul(column(size(n), _WEIGHTS), v)),
        part(2, 0, mm(row(size(l), _POWERS), _VECTORS)),
        eq(1 + r, rank(v)),
        eq(l, length(p)),
    ),
    _law(
        "quotient-leaves-product",
        "(a / y) @ b = (a @ b) / y for one y per row",
        mm(div(a, y), b),
        div(mm(a, b), y),
        *(section(n, p), axis(a, 1, size(n)), axis(y, 1, 1)),
        reason="What is the same along the range is applied once, after the sum.",
        exact="distributes",
        valid="inside the box",
    ),
)


def _inwards(
    name: str, law: str, left: Expression, right: Term, *when: Fact, axis: Operand = k
) -> Rule:
    return _law(f"tile-of-{name}", law, cut(axis, p, left), right, section(n, p), *when)


def _elementwise(op: Operator, law: str, names: tuple[Variable, ...]) -> Rule:
    """A function of operands of which some are as long as the range, and others have one element.

    Whatever has one element along the axis stays.
    """
    of, parts = op(f, *names), [Variable(f"{name}0") for name in names]
    facts = (
        pieces(x, k, p, n, Variable(f"{x}1"), part) for x, part in zip(names, parts, strict=True)
    )
    return _inwards(op.head, law, z, op(f, *parts), eq(z, of), *facts, axis(z, k, size(n)))


def _asked(name: str, law: str, part: Expression, length: Operand, flag: int) -> Rule:
    """What a part of an operand is, where one is asked for."""
    known = (sought(x, k, p), section(n, p), axis(x, k, length))
    also = (pieces(x, k, p, n, flag, part),)
    return _law(f"tile-of-{name}", law, x, x, *known, also=also, phase="spread")


_LONG = (eq(l, length(p)), axis(x, 1, size(n)))
_INWARDS = (
    _inwards("map1", "f(x)[tile] = f(x[tile])", map1(f, x), map1(f, cut(k, p, x))),
    _asked("operand", "the tile of an operand as long as the range is a part of it",
           cut(k, p, x), size(n), 0),
    _asked("one-element", "what has one element for all of the range is its own tile", x, 1, 1),
    _elementwise(map2, "f(x, y)[tile] = f(x[tile], y[tile])", (x, y)),
    _elementwise(map3, "f(x, y, w)[tile] = f(x[tile], y[tile], w[tile])", (x, y, w)),
    _inwards("columns", "(x @ y)[.., tile] = x @ y[.., tile]", mm(x, y), mm(x, cut(1, p, y)),
             axis=1),
    _inwards("rows", "(x @ y)[tile] = x[tile] @ y", mm(x, y), mm(cut(2, p, x), y), axis=2),
    _inwards("transposed", "a tile of x.T = the tile of x along the other axis, transposed", tr(x),
             tr(cut(3 - k, p, x)), k < 3),
    _inwards("moved", "a tile of an axis that was moved = the tile, moved", mv(j, k, x),
             mv(j, k, cut(j, p, x))),
    _inwards("range", "x[lo:hi][tile] = x[lo + tile]", sl(d, s, x), sl(d, q, x),
             piece(s, p, q), eq(k, 1 + rank(x))),
    _inwards("others", "a tile of an axis of every point = every point of the tile",
             sl(d, s, x), sl(d, s, cut(k, p, x)), k <= rank(x), not_in(d, mask(p))),
    _inwards("reshaped", "a reshape of the axes behind a tile leaves it", reshape(r, h, x),
             reshape(r, h, cut(r + (k - w), p, x)), eq(w, hlen(h)), w < k),
    _inwards("row", "a tile of a row in a matrix = the matrix of the tile",
             row(size(n), x), row(size(l), cut(1, p, x)), *_LONG, axis=1),
    _inwards("part", "an element along one axis of x and a tile of another = that of the tile",
             part(i, a, x), part(i, a, cut(k + 1 + ((k - i) >> 63), p, x))),
    _inwards("folded", "fold(x)[tile] = fold(x[tile]) along another axis", red(f, 1, x),
             red(f, 1, cut(k + 1, p, x))),
)  # fmt: skip
TILES: tuple[Rule, ...] = (*_FOLDS, *_INWARDS)
