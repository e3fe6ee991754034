"""Rules beside the wrong ones that hold: with the condition, the type or the order they need."""

from __future__ import annotations

import numpy as np

from ostinato.rewrite.terms import *
from tests.rewrite.wrong.record import Seeded, values
from tests.rewrite.wrong.world import Conditions, World, along

a, b, c, d, e, f, g, h, i, k, m, p, q = variables("a b c d e f g h i k m p q")
r, s, u, x, y, z = variables("r s u x y z")

X = along("d", 1.0, 2.0, 4.0, 8.0)
Y = along("d", 3.0, 5.0, 7.0, 9.0)
SAME = eq(shape(x), shape(LHS))
VARIES = (eq(m, 1 << rank(x)), is_in(d, dom(x)))
EVEN: Conditions = {"c": lambda p: p["d"] % 2 == 0}  # the condition c
PAIR = [[1.0, 2.0], [3.0, 4.0]]

_ANYWHERE = (
    Seeded("times-one", "every bit stays", mul(x, y), x, (eq(1.0, value(y)), SAME),
           values(x=-0.0, y=1.0)),
    Seeded("plus-nothing-but-signs", "a zero may lose its sign", add(x, y), x,
           (eq(0.0, value(y)), SAME), values(x=-0.0, y=0.0), exact="zero signs"),
    Seeded("regrouped-reals", "sums of reals have no order", add(add(x, y), z),
           add(x, add(y, z)), world=values(x=1.0, y=0.1, z=0.2),
           exact="reassociates"),
    Seeded("negated-difference-but-signs", "a zero may lose its sign",
           neg(sub(x, y)), sub(y, x), world=values(x=1.0, y=1.0),
           exact="zero signs"),
    Seeded("distance-of-negative", "a distance has no sign, but numbers without one wrap",
           map1("abs", neg(x)), map1("abs", x), (eq("int32", dtype(x)),),
           world=values(x=-3)),
    Seeded("twice-negated", "the sign comes back", neg(neg(x)), x,
           world=values(x=-(2**31))),
    Seeded("greatest-of-itself", "nothing is greater", map2("maximum", x, x), x,
           world=values(x=np.nan)),
    Seeded("negated-choice-turned", "a negated condition changes sides",
           where(map1("not", c), x, y), where(c, y, x),
           world=values(c=True, x=1.0, y=2.0)),
    Seeded("same-choice", "both sides are the same", where(c, x, x), x, (SAME,),
           values(c=False, x=1.0)),
    Seeded("truth-as-integer-as-fraction", "0 and 1 are numbers of every type",
           map1("cast:float32", map1("cast:int32", b)), map1("cast:float32", b),
           (eq("bool", dtype(b)),), values(b=True)),
    Seeded("transposed-product", "the factors change places", tr(mm(x, y)), mm(tr(y), tr(x)),
           world=values(x=PAIR, y=PAIR)),
    Seeded("transposed-twice", "rows are rows again", tr(tr(x)), x, world=values(x=PAIR)),
    Seeded("move-there-and-back", "of two axes the exchange is its own inverse",
           mv(k, p, mv(k, p, x)), x, (eq(p, k + 1),),
           World(tensors={"x": PAIR}, numbers={"k": 1, "p": 2})),
    Seeded("joined-by-functions", "a function of a join is the join of its values",
           neg(cat(1, x, y)), cat(1, neg(x), neg(y)),
           world=values(x=[1.0], y=[2.0])),
)  # fmt: skip

_IN_TIME = (
    Seeded("prefix-greatest", "the range ends at the point", red("max", m, sl(d, s, x)),
           scan("max", d, x), (prefix(d, s), *VARIES),
           World({"d": 2}, {"d": 4}, {"x": X}, {"s": lambda p: range(p["d"] + 1)}),
           valid="inside the box"),
    Seeded("suffix-sum-to-come", "the range begins at the point", red("sum", m, sl(d, s, x)),
           back("sum", d, x), (suffix(d, s), *VARIES),
           World({"d": 2}, {"d": 4}, {"x": X}, {"s": lambda p: range(p["d"], 4)}),
           exact="reassociates", valid="inside the box"),
    Seeded("until-or-nothing", "without elements it is the fold of nothing",
           red(f, m, sl(d, s, x)),
           case(c, at(d, a, red(f, m, sl(d, q, x))), bcast(h, reshape(0, k, u))),
           (moved(d, s, q, a, c), exactly(f, g), *VARIES,
            eq(e, dtype(LHS)), empty(f, e, u), eq(h, shape(LHS)), eq(r, rank(LHS)), ones(r, k)),
           World({"t": 0, "d": 0}, {"t": 4, "d": 4}, {"x": X, "u": -np.inf},
                 {"s": lambda p: range(p["t"]), "q": lambda p: range(p["d"] + 1)},
                 {"a": lambda p: p["t"] - 1},
                 {"c": lambda p: p["t"] >= 1},
                 texts={"f": "max", "g": "maximum", "e": "float32"}), valid="inside the box"),
    Seeded("slice-of-shifted-part", "the slice moves with the read", sl(d, s, at(d, a, x)),
           sl(d, q, x), (eq(q, shifted(d, s, a)), is_in(d, dom(x))),
           World({"d": 0}, {"d": 4}, {"x": X},
                 {"s": lambda p: range(2), "q": lambda p: range(1, 3)},
                 {"a": lambda p: p["d"] + 1})),
    Seeded("steady-condition-read", "the condition is the same at every step",
           at(d, a, case(c, x, y)), case(c, at(d, a, x), at(d, a, y)),
           (not_in(d, mask(c)),),
           World({"d": 1, "e": 1}, {"d": 4, "e": 2}, {"x": X, "y": Y},
                 indices={"a": lambda p: p["d"] - 1}, conditions={"c": lambda p: p["e"] == 1})),
    Seeded("both-in-turn", "where one fails the other value is taken", case(c, x, y),
           case(a, case(b, x, y), y), (both(c, a, b),),
           World({"d": 1}, {"d": 4}, {"x": X, "y": Y},
                 conditions={"c": lambda p: p["d"] == 2, "a": lambda p: p["d"] > 0,
                             "b": lambda p: p["d"] == 2})),
    Seeded("read-where-pinned", "the value is read at the only step where it is asked for",
           case(c, at(d, i, x), y), case(c, x, y), (pins(c, d, i), not_in(d, sdom(x))),
           World({"d": 1}, {"d": 4}, {"x": X, "y": Y}, indices={"i": lambda p: 1},
                 conditions={"c": lambda p: p["d"] == 1})),
    Seeded("line-with-its-start", "the start is added where nothing came before", x,
           lin(d, b, g, case(c, s, a)),
           (eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), only(c, d, b),
            affine(r, y, g, a), eq(0, rank(s)), eq(0, rank(a)), eq(0, rank(g))),
           World({"d": 2}, {"d": 3}, {"s": 5.0, "g": 1.0, "a": 1.0,
                                      "y": along("d", 8.0, 6.0, 7.0)},
                 indices={"i": lambda p: p["d"] - 1}, conditions={"c": lambda p: p["d"] == 0},
                 numbers={"b": 0}, terms={"r'": ("at", "d", "i", ("rec", "r"))},
                 recurrences={"r": along("d", 5.0, 6.0, 7.0)}),
           exact="reassociates", valid="inside the box"),
    Seeded("element-of-whole", "a whole slice begins at 0", part(k, a, sl(d, s, x)), at(d, a, x),
           (eq(k, 1 + rank(x)), eq(s, full(d))),
           World({"d": 0}, {"d": 4}, {"x": X}, {"s": lambda p: range(4)},
                 {"a": lambda p: 2})),
    Seeded("excluded-cases", "one condition, and both its sides",
           add(case(c, x, y), case(c, y, x)), add(x, y),
           (eq(0, rank(x)), eq(0, rank(y))),
           World({"d": 1}, {"d": 4}, {"x": X, "y": Y}, conditions=EVEN), exact="reassociates"),
    Seeded("greatest-of-excluded-cases", "one condition, and both its sides",
           map2("maximum", case(c, x, y), case(c, y, x)), map2("maximum", x, y),
           (eq(0, rank(x)), eq(0, rank(y))),
           World({"d": 1}, {"d": 4}, {"x": X, "y": Y}, conditions=EVEN), exact="zero signs"),
    Seeded("twin", "a recurrence at all points is its twin", sl(d, s, rec(r)), rec(q),
           (eq(s, full(d)), batch(r, d, q)),
           World({"d": 0}, {"d": 2}, ranges={"s": lambda p: range(2)},
                 recurrences={"r": along("d", 1.0, 2.0), "q": [1.0, 2.0]}), also=(live(q),)),
)  # fmt: skip

RIGHT: tuple[Seeded, ...] = (*_ANYWHERE, *_IN_TIME)
