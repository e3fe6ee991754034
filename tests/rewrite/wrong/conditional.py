"""Laws that hold where a condition holds, or where an index is something, stated without it."""

from __future__ import annotations

from ostinato.rewrite.terms import *
from tests.rewrite.wrong.record import Seeded, values
from tests.rewrite.wrong.world import Conditions, Indices, Ranges, World, along

a, b, c, d, g, i, m, p, q, r, s, x, y = variables("a b c d g i m p q r s x y")
z = Variable("z")

X = along("d", 1.0, 2.0, 4.0)
Y = along("d", 10.0, 20.0, 40.0)
EVEN: Conditions = {"c": lambda p: p["d"] % 2 == 0}  # the condition c
STEADY = (not_in(d, sdom(x)), not_in(d, sdom(y)))
OF_D = is_in(d, mask(c))


def _chosen(ranges: Ranges | None = None, indices: Indices | None = None) -> World:
    """Two tensors and a condition along three steps, at step 1, where it does not hold."""
    return World({"d": 1}, {"d": 3}, {"x": X, "y": Y}, ranges or {}, indices or {}, EVEN)


CASES = (
    Seeded("case-is-the-first", "the condition does not hold everywhere", case(c, x, y), x,
           world=_chosen()),
    Seeded("case-is-the-second", "the condition holds somewhere", case(c, x, y), y,
           world=World({"d": 0}, {"d": 3}, {"x": X, "y": Y}, conditions=EVEN)),
    Seeded("case-turned-around", "the sides have an order", case(c, x, y), case(c, y, x),
           world=_chosen()),
    Seeded("case-of-case", "the outer condition says nothing of the inner one",
           case(a, case(c, x, y), z), case(a, x, z),
           world=World({"d": 1}, {"d": 3}, {"x": X, "y": Y, "z": X},
                       conditions={**EVEN, "a": lambda p: p["d"] > 0})),
    Seeded("both-is-the-first", "both conditions choose", case(c, x, y), case(a, x, y),
           (both(c, a, b),),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y},
                 conditions={"c": lambda p: False, "a": lambda p: p["d"] == 1,
                             "b": lambda p: p["d"] == 2})),
    Seeded("both-falls-back-twice", "where the second fails the other value is taken",
           case(c, x, y), case(a, case(b, x, y), x), (both(c, a, b),),
           World({"d": 0}, {"d": 3}, {"x": X, "y": Y},
                 conditions={"c": lambda p: p["d"] == 2, "a": lambda p: p["d"] > 0,
                             "b": lambda p: p["d"] == 2})),
    Seeded("both-is-either", "both conditions choose, not one of them",
           case(c, x, y), case(a, x, case(b, x, y)), (both(c, a, b),),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y},
                 conditions={"c": lambda p: p["d"] == 2, "a": lambda p: p["d"] > 0,
                             "b": lambda p: p["d"] == 2})),
    Seeded("read-where-pinned-elsewhere", "the read is chosen where nothing is pinned",
           case(c, y, at(d, i, x)), case(c, y, x), (pins(c, d, i), not_in(d, sdom(x))),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y}, indices={"i": lambda p: 0},
                 conditions={"c": lambda p: p["d"] == 0})),
    Seeded("read-where-chosen", "the condition does not say that this is the step",
           case(c, at(d, i, x), y), case(c, x, y), (not_in(d, sdom(x)),),
           World({"d": 2}, {"d": 3}, {"x": X, "y": Y}, indices={"i": lambda p: 0},
                 conditions=EVEN)),
    Seeded("case-along-slice", "each step has its own condition", sl(d, s, case(c, x, y)),
           case(c, sl(d, s, x), sl(d, s, y)), STEADY,
           _chosen(ranges={"s": lambda p: range(3)})),
    Seeded("case-read-elsewhere", "the condition is asked where the value is read",
           at(d, a, case(c, x, y)), case(c, at(d, a, x), at(d, a, y)), (OF_D,),
           _chosen(indices={"a": lambda p: p["d"] + 1})),
    Seeded("scan-of-case", "each step has its own condition", scan("sum", d, case(c, x, y)),
           case(c, scan("sum", d, x), scan("sum", d, y)), (OF_D,), _chosen(), exact="reassociates"),
    Seeded("back-of-case", "each step has its own condition", back("max", d, case(c, x, y)),
           case(c, back("max", d, x), back("max", d, y)), (OF_D,), _chosen()),
    Seeded("fold-of-case", "each step has its own condition",
           red("sum", 1, sl(d, s, case(c, x, y))),
           case(c, red("sum", 1, sl(d, s, x)), red("sum", 1, sl(d, s, y))),
           (eq(0, rank(x)), eq(0, rank(y))), _chosen(ranges={"s": lambda p: range(3)}),
           exact="reassociates"),
    Seeded("recurrence-of-case", "each step has its own condition", lin(d, 0, x, case(c, x, y)),
           case(c, lin(d, 0, x, x), lin(d, 0, x, y)), (OF_D,), _chosen(), exact="reassociates",
           valid="inside the box"),
    Seeded("factor-of-case", "each step has its own factor", lin(d, 0, case(c, x, y), x),
           case(c, lin(d, 0, x, x), lin(d, 0, y, x)), (OF_D,),
           World({"d": 2}, {"d": 3}, {"x": X, "y": Y}, conditions=EVEN), exact="reassociates",
           valid="inside the box"),
    Seeded("mask-of-other-side", "where the condition holds the first value is taken",
           case(c, x, y), where(m, y, x),
           (indicator(c, m), eq(0, rank(m)), eq(0, rank(x))),
           World({"d": 1}, {"d": 3}, {"x": X, "y": Y, "m": along("d", True, False, True)},
                 conditions=EVEN)),
    Seeded("function-of-swapped-case", "a function does not change what is chosen",
           case(c, map1("tanh", x), map1("tanh", y)), map1("tanh", case(c, y, x)),
           world=_chosen()),
    Seeded("split-turned-around", "the first part holds where the condition does",
           sl(d, s, case(c, x, y)), cat(r + 1, sl(d, p, y), sl(d, q, x)),
           (holds_low(c, d, s, p, q), eq(r, rank(x)), *STEADY),
           World({"d": 0}, {"d": 3}, {"x": X, "y": Y}, conditions={"c": lambda p: p["d"] < 1},
                 ranges={"s": lambda p: range(3), "p": lambda p: range(1),
                         "q": lambda p: range(1, 3)}), valid="inside the box"),
    Seeded("split-without-second", "the second part has its own value",
           sl(d, s, case(c, x, y)), sl(d, s, x), (holds_low(c, d, s, p, q), *STEADY),
           World({"d": 0}, {"d": 3}, {"x": X, "y": Y}, conditions={"c": lambda p: p["d"] < 1},
                 ranges={"s": lambda p: range(3), "p": lambda p: range(1),
                         "q": lambda p: range(1, 3)}), valid="inside the box"),
    Seeded("only-the-start", "after the first step something is added", lin(d, b, g, a),
           lin(d, b, g, case(c, a, z)),
           (only(c, d, b), eq(0.0, value(z)), eq(0, rank(g)), eq(0, rank(a)),
            eq(0, rank(z))),
           World({"d": 2}, {"d": 3}, {"g": 2.0, "a": X, "z": 0.0},
                 conditions={"c": lambda p: p["d"] == 0}, numbers={"b": 0}),
           exact="reassociates", valid="inside the box"),
)  # fmt: skip

CHOICES = (
    Seeded("negated-choice", "a negated condition changes sides", where(map1("not", c), x, y),
           where(c, x, y), world=values(c=True, x=1.0, y=2.0)),
    Seeded("choice-of-choice", "one of two conditions is enough",
           where(a, where(b, x, y), y),
           where(map2("or", a, b), x, y), world=values(a=True, b=False, x=1.0, y=2.0)),
    Seeded("both-conditions", "both conditions are needed", where(map2("and", a, b), x, y),
           where(a, x, where(b, x, y)), world=values(a=True, b=False, x=1.0, y=2.0)),
    Seeded("other-choice-inside", "inside the first side the condition holds",
           where(c, where(c, x, y), z), where(c, y, z),
           world=values(c=True, x=1.0, y=2.0, z=3.0)),
    Seeded("sum-of-choices", "both choices are made by their own condition",
           add(where(a, x, y), where(b, x, y)),
           add(where(a, x, x), where(b, y, y)),
           world=values(a=False, b=False, x=1.0, y=2.0), exact="reassociates"),
    Seeded("sum-under-choice", "the other side is not summed",
           red("sum", 1, where(c, x, y)),
           where(part(1, 0, c), red("sum", 1, x), red("sum", 1, y)),
           (eq("bool", dtype(c)), eq(1, rank(c)), eq(shape(x), shape(c)),
            eq(shape(y), shape(c))),
           values(c=[True, False], x=[1.0, 2.0], y=[3.0, 5.0]), exact="reassociates"),
    Seeded("greatest-under-choice", "each element has its own condition",
           red("max", 1, where(c, x, y)),
           where(red("any", 1, c), red("max", 1, x), red("max", 1, y)),
           (eq("bool", dtype(c)), eq(1, rank(c)), eq(shape(x), shape(c)),
            eq(shape(y), shape(c))),
           values(c=[True, False], x=[1.0, 9.0], y=[3.0, 5.0])),
    Seeded("absorbed-condition", "one of two conditions is not both",
           map2("or", a, map2("and", a, b)), map2("and", a, b), world=values(a=True, b=False)),
    Seeded("negated-both", "where not both hold, one may", map1("not", map2("and", a, b)),
           map2("and", map1("not", a), map1("not", b)), world=values(a=True, b=False)),
)  # fmt: skip

CONDITIONAL: tuple[Seeded, ...] = (*CASES, *CHOICES)
