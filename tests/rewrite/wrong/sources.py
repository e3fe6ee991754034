"""Laws whose facts come from two sources: one of another range, dimension, value or recurrence."""

from __future__ import annotations

import numpy as np

from ostinato.rewrite.terms import *
from tests.rewrite.wrong.record import Seeded
from tests.rewrite.wrong.world import Conditions, Point, World, along

a, b, c, d, e, f, g, h, i, j, k, m, n = variables("a b c d e f g h i j k m n")
p, q, r, s, t, u, v, w, x, y, z = variables("p q r s t u v w x y z")

X = along("d", 1.0, 2.0, 4.0)
Y = along("d", 10.0, 20.0, 40.0)
VARIES = is_in(d, dom(x))
LEADING = (eq(m, 1 << rank(x)), VARIES)
HALF = red(f, m, sl(d, p, x))
NUMBERS = (eq(0, rank(x)), eq(0, rank(y)))
STEADY = (not_in(d, sdom(x)), not_in(d, sdom(y)))
EVEN: Conditions = {"c": lambda p: p["d"] % 2 == 0}  # the condition c


def _by_d(p: Point) -> float:
    return float(p["d"] + 1)


def _by_both(p: Point) -> float:
    return 10.0 * p["d"] + p["e"]


def _row(p: Point) -> list[float]:
    return [10.0 * p["d"], 10.0 * p["d"] + 1.0]


def _before(p: Point) -> int:
    return p["d"] - 1


_CONSTANTS = (
    Seeded("unit-of-another-type", "the one has the type of the operand",
           map1("cast:int32", x), u,
           (eq(1.0, value(x)), eq(0, rank(x)), unit(dtype(x), u)),
           World(tensors={"x": 1.0, "u": 1.0}), shown=False),
    Seeded("zero-of-another-type", "the zero has the type of the operand",
           map1("cast:float32", x), z,
           (eq(0.0, value(x)), eq(0, rank(x)), zero(dtype(x), z)),
           World(tensors={"x": 0, "z": 0}), shown=False),
    Seeded("nothing-of-another-type", "the fold of nothing has a type of its own",
           red(f, m, sl(d, s, x)), case(c, at(d, a, scan(f, d, x)), u),
           (moved(d, s, q, a, c), prefix(d, q), exactly(f, g), *LEADING, empty(f, e, u),
            eq(0, rank(x))),
           World({"t": 0, "d": 0}, {"t": 4, "d": 4},
                 {"x": _by_d, "u": np.asarray(-np.inf, "float64")},
                 {"s": lambda p: range(p["t"]), "q": lambda p: range(p["d"] + 1)},
                 {"a": lambda p: p["t"] - 1}, {"c": lambda p: p["t"] >= 1},
                 texts={"f": "max", "g": "maximum", "e": "float64"})),
    Seeded("nothing-of-another-fold", "the fold of nothing is that of another fold",
           red(f, m, sl(d, s, x)), case(c, at(d, a, scan(f, d, x)), u),
           (moved(d, s, q, a, c), prefix(d, q), exactly(f, g), *LEADING, eq(e, dtype(LHS)),
            empty(h, e, u), eq(0, rank(x))),
           World({"t": 0, "d": 0}, {"t": 4, "d": 4}, {"x": _by_d, "u": np.inf},
                 {"s": lambda p: range(p["t"]), "q": lambda p: range(p["d"] + 1)},
                 {"a": lambda p: p["t"] - 1}, {"c": lambda p: p["t"] >= 1},
                 texts={"f": "max", "g": "maximum", "e": "float32", "h": "min"})),
    Seeded("joined-as-another-fold", "the greatest is not joined by the least",
           red(f, m, sl(d, s, x)), case(c, map2(k, HALF, at(d, a, HALF)), HALF),
           (overlapping(d, s, p, a, c), exactly(f, g), exactly(h, k), *LEADING),
           World({"d": 3}, {"d": 4}, {"x": along("d", 1.0, 2.0, 4.0, 8.0)},
                 {"s": lambda p: range(max(p["d"] - 2, 0), p["d"] + 1),
                  "p": lambda p: range(max(p["d"] - 1, 0), p["d"] + 1)},
                 {"a": _before}, {"c": lambda p: p["d"] >= 1},
                 texts={"f": "max", "g": "maximum", "h": "min", "k": "minimum"})),
    Seeded("shape-of-the-one", "the other operand has the shape of the result", mul(x, y),
           x, (eq(1.0, value(y)), eq(shape(y), shape(LHS))),
           World(tensors={"x": [2.0], "y": [1.0, 1.0, 1.0]})),
    Seeded("axis-of-the-other", "the factor that is repeated is the other one",
           red("sum", m, mul(x, y)), mul(red("sum", m, x), part(k, 0, y)),
           (axis(x, k, 1), eq(m, 1 << (k - 1))),
           World(tensors={"x": [3.0], "y": [1.0, 2.0]}, numbers={"k": 1}), exact="reassociates"),
)  # fmt: skip

_RANGES = (
    Seeded("shift-of-another-part", "the slice that is shifted is another one",
           sl(d, s, at(d, a, x)), sl(d, q, x), (eq(q, shifted(d, p, a)), VARIES),
           World({"d": 0}, {"d": 3}, {"x": X}, {"s": lambda p: range(2), "p": lambda p: range(1),
                                               "q": lambda p: range(1, 2)},
                 {"a": lambda p: p["d"] + 1})),
    Seeded("shift-by-another-index", "the slice is shifted by another read",
           sl(d, s, at(d, a, x)), sl(d, q, x), (eq(q, shifted(d, s, b)), VARIES),
           World({"d": 0}, {"d": 3}, {"x": X},
                 {"s": lambda p: range(1), "q": lambda p: range(2, 3)},
                 {"a": lambda p: p["d"] + 1, "b": lambda p: p["d"] + 2})),
    Seeded("whole-of-another-dimension", "a whole dimension is a part of another one",
           red("sum", m, sl(d, s, x)), red("sum", m, sl(d, q, x)),
           (eq(s, full(e)), eq(q, full(d)), ne(d, e), *LEADING),
           World({"d": 0, "e": 0}, {"d": 3, "e": 2}, {"x": _by_d},
                 {"s": lambda p: range(2), "q": lambda p: range(3)}), exact="reassociates"),
    Seeded("here-of-another-dimension", "the index is another dimension's", at(d, a, x), x,
           (eq(a, self(e)), ne(d, e), VARIES),
           World({"d": 0, "e": 1}, {"d": 3, "e": 3}, {"x": _by_d},
                 indices={"a": lambda p: p["e"]})),
    Seeded("prefix-of-another-dimension", "the range follows another dimension",
           red("max", m, sl(d, s, x)), scan("max", d, x),
           (prefix(e, s), ne(d, e), *LEADING),
           World({"d": 2, "e": 0}, {"d": 3, "e": 3}, {"x": _by_d},
                 {"s": lambda p: range(p["e"] + 1)})),
    Seeded("prefix-and-other-range", "the range that is folded is another one",
           red("max", m, sl(d, q, x)), scan("max", d, x),
           (prefix(d, s), within(d, q), *LEADING),
           World({"d": 0}, {"d": 3}, {"x": X},
                 {"s": lambda p: range(p["d"] + 1), "q": lambda p: range(3)})),
    Seeded("length-of-another-range", "the axis is as long as another range",
           sl(d, s, part(k, a, x)), x,
           (eq(a, self(d)), start(d, s), axis(x, k, size(n)), eq(n, length(q)),
            not_in(d, dom(x)), eq(k, rank(x))),
           World({"d": 0}, {"d": 3}, {"x": [1.0, 2.0, 3.0]},
                 {"s": lambda p: range(2), "q": lambda p: range(3)}, {"a": lambda p: p["d"]},
                 numbers={"k": 1})),
    Seeded("steady-other-operand", "only one of the operands is the same at every step",
           at(d, a, map2('sub', x, y)), sub(x, y), (not_in(d, dom(y)),),
           World({"d": 2}, {"d": 3}, {"x": X, "y": 1.0}, indices={"a": _before})),
    Seeded("product-with-unsteady", "the matrix is another one at each step",
           mm(at(d, a, x), w), at(d, a, mm(x, w)), (is_in(d, dom(x)),),
           World({"d": 1}, {"d": 2}, {"x": along("d", [[1.0]], [[2.0]]),
                                      "w": along("d", [[3.0]], [[5.0]])}, indices={"a": _before})),
)  # fmt: skip

_CONDITIONS = (
    Seeded("mask-of-another-condition", "the truth value is another condition's", case(c, x, y),
           where(m, x, y), (indicator(a, m), eq(0, rank(m)), *NUMBERS),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y, "m": along("d", False, True, True)},
                 conditions={**EVEN, "a": lambda p: p["d"] > 0})),
    Seeded("pinned-to-another-index", "the condition knows another index",
           case(c, at(d, i, x), y), case(c, x, y), (pins(c, d, j), not_in(d, sdom(x))),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y},
                 indices={"i": lambda p: 0, "j": lambda p: 1},
                 conditions={"c": lambda p: p["d"] == 1})),
    Seeded("pinned-along-another-dimension", "the condition knows another dimension's index",
           case(c, at(d, i, x), y), case(c, x, y),
           (pins(c, e, i), ne(d, e), not_in(d, sdom(x))),
           World({"d": 1, "e": 0}, {"d": 3, "e": 3}, {"x": X, "y": Y}, indices={"i": lambda p: 0},
                 conditions={"c": lambda p: p["e"] == 0})),
    Seeded("part-of-another-conjunction", "the condition is one of two, not both of them",
           case(c, x, y), case(a, case(b, x, y), y), (both(a, c, b),),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y},
                 conditions={"a": lambda p: p["d"] == 2, "b": lambda p: p["d"] != 1,
                             "c": lambda p: p["d"] > 0})),
    Seeded("cut-by-another-condition", "another condition changes there", sl(d, s, case(c, x, y)),
           cat(r + 1, sl(d, p, x), sl(d, q, y)),
           (holds_low(b, d, s, p, q), eq(r, rank(x)), *STEADY),
           World({"d": 0}, {"d": 3}, {"x": X, "y": Y},
                 conditions={"b": lambda p: p["d"] < 1, "c": lambda p: p["d"] < 2},
                 ranges={"s": lambda p: range(3), "p": lambda p: range(1),
                         "q": lambda p: range(1, 3)}), valid="inside the box"),
    Seeded("cut-of-another-part", "another slice is cut there", sl(d, s, case(c, x, y)),
           cat(r + 1, sl(d, p, x), sl(d, q, y)),
           (holds_low(c, d, t, p, q), eq(r, rank(x)), *STEADY),
           World({"d": 0}, {"d": 3}, {"x": X, "y": Y}, conditions={"c": lambda p: p["d"] < 1},
                 ranges={"s": lambda p: range(3), "t": lambda p: range(2), "p": lambda p: range(1),
                         "q": lambda p: range(1, 2)}), valid="inside the box"),
)  # fmt: skip

_IS_FIRST: Conditions = {"c": lambda p: p["d"] == 0}
_LINE = (eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), only(c, d, b),
         eq(0, rank(s)), eq(0, rank(a)), eq(0, rank(g)))  # fmt: skip
_RECURRENCES = (
    Seeded("body-of-another-recurrence", "the definition is another recurrence's", x,
           case(c, s, y), (eq(x, rec(r)), neighbour(r, d, i, b), neighbour(q, d, i, b),
                            body(q, c, s, y), only(c, d, b)),
           World({"d": 1}, {"d": 3}, {"s": 1.0, "y": 2.0}, indices={"i": _before},
                 conditions=_IS_FIRST, numbers={"b": 0},
                 recurrences={"r": Y, "q": along("d", 1.0, 2.0, 2.0)}), shown=False),
    Seeded("body-without-start", "at the first step a recurrence is its start", x, y,
           (eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), only(c, d, b)),
           World({"d": 0}, {"d": 3}, {"s": 1.0, "y": 2.0}, indices={"i": _before},
                 conditions=_IS_FIRST, numbers={"b": 0},
                 recurrences={"r": along("d", 1.0, 2.0, 2.0)}), valid="inside the box",
           shown=False),
    Seeded("start-as-body", "later a recurrence is no longer its start", x, s,
           (eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), only(c, d, b)),
           World({"d": 1}, {"d": 3}, {"s": 1.0, "y": 2.0}, indices={"i": _before},
                 conditions=_IS_FIRST, numbers={"b": 0},
                 recurrences={"r": along("d", 1.0, 2.0, 2.0)}), valid="inside the box",
           shown=False),
    Seeded("own-step-before", "a recurrence is not what it was", x, at(d, i, x),
           (eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), only(c, d, b)),
           World({"d": 1}, {"d": 3}, {"s": 1.0, "y": 2.0}, indices={"i": _before},
                 conditions=_IS_FIRST, numbers={"b": 0},
                 recurrences={"r": along("d", 1.0, 2.0, 2.0)}), valid="inside the box",
           shown=False),
    Seeded("line-of-another-recurrence", "the step reads another recurrence", x,
           lin(d, b, g, case(c, s, a)), (*_LINE, neighbour(q, d, i, b), affine(q, y, g, a)),
           World({"d": 2}, {"d": 3}, {"s": 1.0, "g": 1.0, "a": 3.0,
                                      "y": 4.0}, indices={"i": _before},
                 conditions=_IS_FIRST, numbers={"b": 0},
                 terms={"q'": ("at", "d", "i", ("rec", "q"))},
                 recurrences={"r": along("d", 1.0, 4.0, 4.0), "q": 1.0}),
           exact="reassociates", valid="inside the box", shown=False),
    Seeded("line-of-two-lines", "factor and term are those of two ways to see the step", x,
           lin(d, b, g, case(c, s, h)), (*_LINE, affine(r, y, g, a), affine(r, y, h, h)),
           World({"d": 2}, {"d": 3}, {"s": 2.0, "g": 1.0, "a": 0.0, "h": 2.0 / 3.0, "y": 2.0},
                 indices={"i": _before}, conditions=_IS_FIRST, numbers={"b": 0},
                 terms={"r'": ("at", "d", "i", ("rec", "r"))}, recurrences={"r": 2.0}),
           exact="reassociates", valid="inside the box"),
    Seeded("line-with-start-in-factor", "the start is no factor", x,
           lin(d, b, case(c, s, g), a), (*_LINE, affine(r, y, g, a)),
           World({"d": 2}, {"d": 3}, {"s": 5.0, "g": 1.0, "a": 1.0,
                                      "y": along("d", 8.0, 6.0, 7.0)}, indices={"i": _before},
                 conditions=_IS_FIRST, numbers={"b": 0},
                 terms={"r'": ("at", "d", "i", ("rec", "r"))},
                 recurrences={"r": along("d", 5.0, 6.0, 7.0)}),
           exact="reassociates", valid="inside the box"),
    Seeded("twin-along-another-dimension", "the axis of the twin is another dimension",
           sl(d, s, rec(r)), rec(q), (eq(s, full(d)), batch(r, e, q), ne(d, e)),
           World({"d": 0, "e": 0}, {"d": 2, "e": 2}, ranges={"s": lambda p: range(2)},
                 recurrences={"r": _by_both,
                              "q": _row})),
    Seeded("twin-of-another-recurrence", "the twin is another recurrence's", sl(d, s, rec(r)),
           rec(q), (eq(s, full(d)), batch(n, d, q)),
           World({"d": 0}, {"d": 2}, ranges={"s": lambda p: range(2)},
                 recurrences={"r": along("d", 1.0, 2.0), "n": along("d", 3.0, 4.0),
                              "q": [3.0, 4.0]})),
    Seeded("twin-of-a-part", "a part is not the whole twin", sl(d, s, rec(r)), rec(q),
           (batch(r, d, q), within(d, s)),
           World({"d": 0}, {"d": 2}, ranges={"s": lambda p: range(1)},
                 recurrences={"r": along("d", 1.0, 2.0), "q": [1.0, 2.0]})),
)  # fmt: skip

_EXCLUDED = (
    Seeded("sum-of-excluded-cases", "the two conditions do not exclude each other",
           add(case(a, x, y), case(b, y, x)), add(x, y), NUMBERS,
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y},
                 conditions={"a": lambda p: p["d"] > 0, "b": lambda p: p["d"] > 1}),
           exact="reassociates"),
    Seeded("join-of-excluded-cases", "where the condition fails the parts change places",
           cat(1, case(c, x, y), case(c, y, x)), cat(1, x, y), (eq(1, rank(x)), eq(1, rank(y))),
           World({"d": 1}, {"d": 3}, {"x": along("d", [1.0], [2.0], [3.0]), "y": [7.0]},
                 conditions=EVEN)),
    Seeded("difference-of-excluded-cases", "where the condition fails the sign changes",
           sub(case(c, x, y), case(c, y, x)), sub(x, y), NUMBERS,
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y}, conditions=EVEN)),
    Seeded("product-of-excluded-choices", "only one of the factors is chosen",
           mul(where(c, x, u), where(c, u, y)), mul(x, y),
           (*NUMBERS, unit(dtype(x), u), eq(0, rank(c))),
           World(tensors={"c": True, "x": 2.0, "y": 3.0, "u": 1.0}), exact="reassociates"),
    Seeded("swapped-second-choice", "both values of one choice belong together",
           add(where(c, x, y), where(c, v, w)),
           where(c, add(x, w), add(y, v)),
           world=World(tensors={"c": True, "x": 1.0, "y": 2.0, "v": 3.0, "w": 5.0})),
)  # fmt: skip

SOURCES: tuple[Seeded, ...] = (*_CONSTANTS, *_RANGES, *_CONDITIONS, *_RECURRENCES)
EXCLUDED: tuple[Seeded, ...] = _EXCLUDED
