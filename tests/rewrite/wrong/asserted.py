"""Laws that assert a fact beside their equality, and the fact is not true.

Both sides are the same term: only what `also` says can be wrong. The example shows that it is; a
fact without one says what other rules, or extraction, would conclude from it.
"""

from __future__ import annotations

from ostinato.rewrite.relations.sexpr import Tree
from ostinato.rewrite.terms import *
from tests.rewrite.wrong.record import Seeded
from tests.rewrite.wrong.world import Point, World, along

a, b, c, d, e, g, h, i, k, l, m, n, q = variables("a b c d e g h i k l m n q")  # noqa: E741
r, s, u, w, x, y, z = variables("r s u w x y z")

BEFORE: dict[str, Tree] = {
    "r'": ("at", "d", "i", ("rec", "r")),
    "q'": ("at", "d", "j", ("rec", "q")),
}
R = along("d", 1.0, 2.0, 3.0, outside=1.0)
LAG = [[0.0, 1.0, 2.0], [-1.0, 0.0, 1.0], [-2.0, -1.0, 0.0]]  # how far a column is ahead


def _steps(**tensors: object) -> World:
    """A recurrence along three steps, whose step before is read at the index i."""
    return World({"d": 2}, {"d": 3}, tensors,
                 indices={"i": lambda p: p["d"] - 1, "j": lambda p: p["d"] + 1}, terms=BEFORE,
                 conditions={"c": lambda p: p["d"] % 2 == 0},
                 recurrences={"r": R, "q": R})  # fmt: skip


def _before(p: Point) -> float:
    return float(R({"d": p["d"] - 1}))


def _twice_before(p: Point) -> float:
    return 2 * _before(p)


def _line(p: Point) -> float:
    return 2 * _before(p) + 1


def _after(p: Point) -> float:
    return float(R({"d": p["d"] + 1}))


LOADED = ("value", "rank", "dom", "unit", "zero", "gone", "axis", "exactly", "prefix", "within",
          "indicator", "pins", "only", "counts")  # fmt: skip


def _asserted(
    name: str, why: str, term: Term, fact: Fact, *when: Fact, world: World | None
) -> Seeded:
    """A rule that names a term and says something of it.

    What loading a program says of it no rule may say: that needs no example.
    """
    of = fact.fields[0] if fact.head == "set" else fact
    shown = world is not None and not (isinstance(of, Term | Fact) and of.head in LOADED)
    return Seeded(name, why, x, x, (eq(x, term), *when), world, (fact,), "reassociates",
                  shown=shown)  # fmt: skip


_RAY, _LINE = scaled(r, y, g), affine(r, y, g, a)
_RAYS = (
    _asserted("sum-with-ray", "what is added is no multiple", add(y, w), scaled(r, x, g),
              _RAY, world=_steps(y=_twice_before, g=2.0, w=5.0)),
    _asserted("product-of-rays", "the square of a step is no multiple of it",
              mul(y, w), scaled(r, x, mul(g, h)), _RAY, scaled(r, w, h),
              world=_steps(y=_twice_before, g=2.0, w=_before, h=1.0)),
    _asserted("quotient-by-ray", "the inverse of a step is no multiple of it", div(w, y),
              scaled(r, x, div(w, g)), _RAY, clear(r, w),
              world=_steps(y=_twice_before, g=2.0, w=5.0)),
    _asserted("sign-of-ray", "the sign is left", neg(y), scaled(r, x, g), _RAY,
              world=_steps(y=_twice_before, g=2.0)),
    _asserted("sum-of-rays-of-two", "the other multiple is of another recurrence",
              add(y, w), scaled(r, x, add(g, h)), _RAY, scaled(q, w, h),
              world=_steps(y=_twice_before, g=2.0, w=_after, h=1.0)),
    _asserted("choice-of-ray", "the other side is not 0", where(m, y, w),
              scaled(r, x, where(m, g, w)), _RAY,
              world=_steps(y=_twice_before, g=2.0, w=5.0, m=along("d", True, False, False))),
    _asserted("factor-of-ray", "the factor is multiplied too", mul(y, w),
              scaled(r, x, g), _RAY, clear(r, w),
              world=_steps(y=_twice_before, g=2.0, w=5.0)),
)  # fmt: skip

_LINES = (
    _asserted("line-swapped", "factor and term change places", add(y, w),
              affine(r, x, add(a, w), g), _LINE, clear(r, w),
              world=_steps(y=_line, g=2.0, a=1.0, w=5.0)),
    _asserted("term-of-negated-line", "the term is negated too", neg(y),
              affine(r, x, neg(g), a), _LINE, world=_steps(y=_line, g=2.0, a=1.0)),
    _asserted("line-from-value", "the line is taken away", sub(w, y),
              affine(r, x, g, sub(w, a)), _LINE, clear(r, w),
              world=_steps(y=_line, g=2.0, a=1.0, w=5.0)),
    _asserted("line-under-mask", "where the mask is false nothing is multiplied",
              where(m, y, w), affine(r, x, g, where(m, a, w)), _LINE, clear(r, w),
              world=_steps(y=_line, g=2.0, a=1.0, w=5.0, m=along("d", True, False, False))),
    _asserted("product-of-line", "the term is multiplied too", mul(y, w),
              affine(r, x, mul(g, w), a), _LINE, clear(r, w),
              world=_steps(y=_line, g=2.0, a=1.0, w=5.0)),
    _asserted("line-of-two-sources", "the term is that of another way to see the line",
              case(c, y, y), affine(r, x, g, b), _LINE, affine(r, y, h, b),
              world=World({"d": 2}, {"d": 3}, {"y": 4.0, "g": 1.0, "a": 2.0, "h": 2.0, "b": 0.0},
                          indices={"i": lambda p: p["d"] - 1}, terms=BEFORE,
                          conditions={"c": lambda p: True}, recurrences={"r": 2.0})),
)  # fmt: skip

_ROWS = World(
    {"d": 0}, {"d": 3}, {"y": LAG, "u": along("d", *([[n] for n in row] for row in LAG))},
    {"s": lambda p: range(3)},
)  # fmt: skip
_MATRICES = (
    _asserted("rows-of-transposed", "rows become columns", tr(y), rows(x, d, s, u),
              rows(y, d, s, u), eq(s, full(d)), world=_ROWS),
    _asserted("rows-of-negated", "the rows are negated too", neg(y), rows(x, d, s, u),
              rows(y, d, s, u), eq(s, full(d)), world=_ROWS),
    _asserted("rows-as-columns", "the rows of a matrix are not its columns", neg(neg(y)),
              columns(x, d, s, u), rows(y, d, s, u), eq(s, full(d)), world=_ROWS),
    _asserted("difference-in-either-order", "the order of a difference matters", sub(y, w),
              either("sub", x, w, y), world=World(tensors={"y": 1.0, "w": 2.0})),
)  # fmt: skip

_SHAPES = (
    _asserted("shape-of-transposed", "rows become columns", tr(y),
              assign(shape(x), h), eq(h, shape(y)),
              world=World(tensors={"y": [[1.0, 2.0]]})),
    _asserted("shape-of-fold", "an axis is gone", red("sum", 1, y),
              assign(shape(x), h), eq(h, shape(y)),
              world=World(tensors={"y": [[1.0, 2.0]]})),
    _asserted("shape-of-product", "the other matrix is wider", mm(y, w),
              assign(shape(x), h), eq(h, shape(y)),
              world=World(tensors={"y": [[1.0, 2.0]], "w": [[1.0], [1.0]]})),
    _asserted("type-of-condition", "the factor has another type than the condition",
              where(m, y, w), factor(e, y), eq(e, dtype(m)),
              world=World(tensors={"m": True, "y": 1.0, "w": 2.0}, texts={"e": "bool"})),
    _asserted("type-of-cast", "the factor has the type before the cast", map1("cast:float64", y),
              factor(e, x), eq(e, dtype(y)),
              world=World(tensors={"y": 1.0}, texts={"e": "float32"})),
    _asserted("value-of-sum", "one and one are two", add(y, y), assign(value(x), 1.0),
              eq(1.0, value(y)), world=World(tensors={"y": 1.0})),
    _asserted("rank-of-fold", "an axis is gone", red("sum", 1, y),
              assign(rank(x), r), eq(r, rank(y)),
              world=World(tensors={"y": [1.0, 2.0]})),
    _asserted("steady", "the value is another one at every step", neg(y),
              assign(dom(x), 0), world=World({"d": 0}, {"d": 3}, {"y": R})),
    _asserted("number-one", "two is not one", add(y, y), unit("float32", x),
              unit("float32", y), world=World(tensors={"y": 1.0})),
    _asserted("number-zero", "one is not nothing", exp(y), zero("float32", x),
              zero("float32", y), world=World(tensors={"y": 0.0})),
    _asserted("nothing-beside", "the value is not all zeros", exp(y), gone(r, x),
              gone(r, y), world=_steps(y=0.0)),
    _asserted("axis-of-one", "the axis has two elements", neg(y),
              axis(x, 1, 1), world=World(tensors={"y": [1.0, 2.0]})),
)  # fmt: skip

_RANGES = (
    _asserted("sum-as-exact-fold", "a sum counts overlaps twice", red("sum", m, y),
              exactly("sum", "add"), world=World(tensors={"y": [1.0]}, numbers={"m": 1})),
    _asserted("suffix-as-prefix", "what comes is not what came", sl(d, s, y), prefix(d, s),
              suffix(d, s),
              world=World({"d": 0}, {"d": 3}, {"y": R}, {"s": lambda p: range(p["d"], 3)})),
    _asserted("any-slice-within", "the slice may leave the box", sl(d, s, y), within(d, s),
              world=World({"d": 2}, {"d": 3}, {"y": R}, {"s": lambda p: range(p["d"] + 2)})),
    _asserted("other-condition", "the truth value is another condition's", case(c, y, w),
              indicator(c, m), indicator(a, m),
              world=World({"d": 0}, {"d": 3},
                          {"y": R, "w": 0.0, "m": along("d", True, False, False)},
                          conditions={"a": lambda p: p["d"] == 0, "c": lambda p: p["d"] > 0})),
    _asserted("pinned-anywhere", "the condition holds at other steps too",
              case(c, at(d, i, y), w), pins(c, d, i),
              world=World({"d": 0}, {"d": 3}, {"y": R, "w": 0.0}, indices={"i": lambda p: 0},
                          conditions={"c": lambda p: True})),
    _asserted("any-count", "the leaf counts another range", leaf(n), counts(n, l),
              counts(n, length(s)), eq(l, length(q)),
              world=World({"d": 0}, {"d": 3}, {"n": [0, 1]},
                          {"s": lambda p: range(2), "q": lambda p: range(3)})),
)  # fmt: skip

_RECURRENCES = (
    _asserted("closed-without-form", "no term gives the recurrence: it would lose its equations",
              rec(r), closed(r), neighbour(r, d, i, b), world=None),
    _asserted("closed-with-body", "the body reads the recurrence, which has no equation then",
              rec(r), closed(r), neighbour(r, d, i, b), body(r, c, s, y), world=None),
    Seeded("closed-another", "the linear form is that of another recurrence", x,
           lin(d, b, g, case(c, s, a)),
           (eq(x, rec(r)), neighbour(r, d, i, b), neighbour(q, d, i, b), body(r, c, s, y),
            affine(r, y, g, a), only(c, d, b), eq(e, shape(x)), not_in(d, sdom(s))),
           None, (closed(q),), "reassociates", "inside the box", shown=False),
    Seeded("defined-by-a-part", "the twin holds all points, a part does not", x, x,
           (define(r, k, x), batch(r, d, q), live(q), within(d, s)),
           World({"d": 0}, {"d": 2}, {"x": along("d", 1.0, 2.0)}, {"s": lambda p: range(1)},
                 numbers={"k": 0},
                 recurrences={"r": along("d", 1.0, 2.0), "q": [1.0, 2.0]}),
           (define(q, k, sl(d, s, x)),)),
    Seeded("defined-by-a-point", "the twin holds all points, not one", x, x,
           (define(r, k, x), batch(r, d, q), live(q)),
           World({"d": 0}, {"d": 2}, {"x": along("d", 1.0, 2.0)}, numbers={"k": 0},
                 recurrences={"r": along("d", 1.0, 2.0), "q": [1.0, 2.0]}),
           (define(q, k, x),)),
    Seeded("defined-in-place-of", "the definition is the twin's, not its own", x, x,
           (define(r, k, x), batch(r, d, q), live(q), eq(s, full(d))),
           World({"d": 0}, {"d": 2}, {"x": along("d", 1.0, 2.0)}, {"s": lambda p: range(2)},
                 numbers={"k": 0},
                 recurrences={"r": along("d", 1.0, 2.0), "q": [1.0, 2.0]}),
           (define(r, k, sl(d, s, x)),)),
    Seeded("defined-in-another-case", "the case has another number", x, x,
           (define(r, k, x), batch(r, d, q), live(q), eq(s, full(d))), None,
           (define(q, k + 1, sl(d, s, x)),), shown=False),
    Seeded("defined-by-itself", "a definition by itself defines nothing", x, x,
           (define(r, k, x), batch(r, d, q), live(q)), None,
           (define(q, k, rec(q)),), shown=False),
)  # fmt: skip

ASSERTED: tuple[Seeded, ...] = (
    *_RAYS,
    *_LINES,
    *_MATRICES,
    *_SHAPES,
    *_RANGES,
    *_RECURRENCES,
)
