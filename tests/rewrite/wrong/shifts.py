"""Laws whose sides read steps that are one off, run the other way, or change their order."""

from __future__ import annotations

from ostinato.rewrite.terms import *
from tests.rewrite.wrong.record import Seeded
from tests.rewrite.wrong.world import Conditions, Indices, Point, Ranges, World, along

a, b, c, d, e, i, j, k, m = variables("a b c d e i j k m")
p, q, r, s, x, y = variables("p q r s x y")
z = Variable("z")

X = along("d", 1.0, 2.0, 4.0, 8.0)
Y = along("d", 3.0, 5.0, 7.0, 9.0)
VARIES = is_in(d, dom(x))
LAST = 3
LEADING = (eq(m, 1 << rank(x)), VARIES)
FOLD, HALF = red("sum", m, sl(d, s, x)), red("sum", m, sl(d, p, x))
GREATEST = red("max", m, sl(d, s, x))


def _world(
    here: int,
    ranges: Ranges | None = None,
    indices: Indices | None = None,
    conditions: Conditions | None = None,
) -> World:
    """Two tensors along four steps, of which one is the point."""
    tensors = {"x": X, "y": Y}
    return World({"d": here}, {"d": 4}, tensors, ranges or {}, indices or {}, conditions or {})


def _prefix(p: Point) -> range:
    return range(p["d"] + 1)


def _suffix(p: Point) -> range:
    return range(p["d"], 4)


def _by_both(p: Point) -> float:
    return 10.0 * p["d"] + p["e"]


def _before(p: Point) -> int:
    return p["d"] - 1


def _after(p: Point) -> int:
    return p["d"] + 1


_READS = (
    Seeded("slice-of-shifted", "the slice moves with the read", sl(d, s, at(d, a, x)), sl(d, s, x),
           (eq(q, shifted(d, s, a)), VARIES),
           _world(0, ranges={"s": lambda p: range(2), "q": lambda p: range(1, 3)},
                  indices={"a": _after})),
    Seeded("slice-shifted-twice", "the read moves the slice once", sl(d, s, at(d, a, x)),
           sl(d, q, at(d, a, x)), (eq(q, shifted(d, s, a)), VARIES),
           _world(0, ranges={"s": lambda p: range(2), "q": lambda p: range(1, 3)},
                  indices={"a": _after})),
    Seeded("slice-shifted-back", "the slice moves the way of the read", sl(d, q, at(d, a, x)),
           sl(d, s, x), (eq(q, shifted(d, s, a)), VARIES),
           _world(0, ranges={"s": lambda p: range(2), "q": lambda p: range(1, 3)},
                  indices={"a": _after})),
    Seeded("reads-in-the-other-order", "the outer read moves the index of the inner one",
           at(d, a, at(d, b, x)), at(d, b, at(d, a, x)), (VARIES,),
           _world(0, indices={"a": _after, "b": lambda p: 2 * p["d"]})),
    Seeded("read-twice", "a step back twice is two steps", at(d, a, at(d, a, x)), at(d, a, x),
           (VARIES,), _world(2, indices={"a": _before})),
    Seeded("read-here", "an index that is not the point's", at(d, a, x), x, (VARIES,),
           _world(2, indices={"a": _before})),
    Seeded("element-of-part", "a part begins where it begins", part(k, a, sl(d, s, x)),
           at(d, a, x), (eq(k, 1 + rank(x)), VARIES, within(d, s)),
           _world(0, ranges={"s": lambda p: range(1, 4)}, indices={"a": lambda p: 1})),
    Seeded("slice-nesting", "the nesting of axes shows", sl(d, s, sl(e, q, x)),
           sl(e, q, sl(d, s, x)), (inside(d, e), eq(r, rank(x))),
           None),
    Seeded("moved-read-of-shorter", "another dimension's index moves too",
           sl(d, s, at(e, a, x)), at(e, a, sl(d, s, x)), (ne(d, e), not_in(e, mask(s))),
           World({"d": 0, "e": 0}, {"d": 2, "e": 2}, {"x": _by_both},
                 {"s": lambda p: range(2)}, {"a": lambda p: p["d"]})),
    Seeded("read-of-slice-that-moves", "the slice is that of the other point",
           at(d, a, sl(e, s, x)), sl(e, s, at(d, a, x)), (ne(d, e), not_in(e, mask(a))),
           World({"d": 1, "e": 0}, {"d": 2, "e": 3}, {"x": _by_both},
                 {"s": lambda p: range(p["d"], p["d"] + 2)}, {"a": lambda p: p["d"] - 1})),
)  # fmt: skip

_FOLDS = (
    Seeded("prefix-sum-of-the-future", "what came before is not what comes", FOLD,
           back("sum", d, x), (prefix(d, s), *LEADING), _world(1, ranges={"s": _prefix}),
           exact="reassociates", valid="inside the box"),
    Seeded("suffix-sum-of-the-past", "what comes is not what came before", FOLD,
           scan("sum", d, x), (suffix(d, s), *LEADING), _world(1, ranges={"s": _suffix}),
           exact="reassociates", valid="inside the box"),
    Seeded("suffix-greatest-of-the-past", "what comes is not what came before", GREATEST,
           scan("max", d, x), (suffix(d, s), *LEADING), _world(1, ranges={"s": _suffix}),
           valid="inside the box"),
    Seeded("prefix-of-the-step-before", "the range ends at the point", FOLD,
           case(k, at(d, b, scan("sum", d, x)), x),
           (prefix(d, s), before(d, b, k), *LEADING, eq(0, rank(x))),
           _world(2, ranges={"s": _prefix}, indices={"b": _before},
                  conditions={"k": lambda p: p["d"] >= 1}),
           exact="reassociates", valid="inside the box"),
    Seeded("prefix-greatest-before", "the range ends at the point", GREATEST,
           case(k, at(d, b, scan("max", d, x)), x),
           (prefix(d, s), before(d, b, k), *LEADING, eq(0, rank(x))),
           _world(2, ranges={"s": _prefix}, indices={"b": _before},
                  conditions={"k": lambda p: p["d"] >= 1}), valid="inside the box"),
    Seeded("rest-with-this-step", "the range begins behind the point", FOLD, back("sum", d, x),
           (rest(d, s), *LEADING), _world(1, ranges={"s": lambda p: range(p["d"] + 1, 4)}),
           exact="reassociates", valid="inside the box"),
    Seeded("shortened-with-last", "the range ends before the last step", FOLD, back("sum", d, x),
           (shortened(d, s), *LEADING), _world(1, ranges={"s": lambda p: range(p["d"], 3)}),
           exact="reassociates", valid="inside the box"),
    Seeded("but-last-with-last", "the last step is not in the range", GREATEST,
           red("max", m, sl(d, q, x)), (but_last(d, s), eq(q, full(d)), *LEADING),
           _world(0, ranges={"s": lambda p: range(3), "q": lambda p: range(4)})),
    Seeded("prefix-as-whole", "later steps are not in the range", FOLD, red("sum", m, sl(d, q, x)),
           (prefix(d, s), eq(q, full(d)), *LEADING),
           _world(1, ranges={"s": _prefix, "q": lambda p: range(4)}), exact="reassociates"),
    Seeded("until-this-step", "the range ends where it ends", GREATEST, scan("max", d, x),
           (moved(d, s, q, a, c), prefix(d, q), *LEADING),
           _world(2, ranges={"s": lambda p: range(2), "q": _prefix}, indices={"a": lambda p: 1},
                  conditions={"c": lambda p: True})),
    Seeded("from-this-step", "the range begins where it begins", red("min", m, sl(d, s, x)),
           back("min", d, x),
           (moved(d, s, q, a, c), suffix(d, q), *LEADING),
           _world(2, ranges={"s": lambda p: range(1, 4), "q": lambda p: range(p["d"], 4)},
                  indices={"a": lambda p: 1}, conditions={"c": lambda p: True})),
    Seeded("double-window-here", "the other half lies at another point", FOLD,
           case(c, add(HALF, HALF), HALF), (halved(d, s, p, a, c, i, j), *LEADING),
           _world(3, ranges={"s": lambda p: range(max(p["d"] - 3, 0), p["d"] + 1),
                             "p": lambda p: range(max(p["d"] - 1, 0), p["d"] + 1)},
                  indices=dict.fromkeys("ai", lambda p: p["d"] - 2),
                  conditions={"c": lambda p: p["d"] >= 2, "j": lambda p: True}),
           exact="reassociates"),
    Seeded("overlap-counted-twice", "a sum counts what two windows share twice", FOLD,
           case(c, add(HALF, at(d, a, HALF)), HALF), (overlapping(d, s, p, a, c), *LEADING),
           _world(3, ranges={"s": lambda p: range(max(p["d"] - 2, 0), p["d"] + 1),
                             "p": lambda p: range(max(p["d"] - 1, 0), p["d"] + 1)},
                  indices={"a": _before}, conditions={"c": lambda p: p["d"] >= 1}),
           exact="reassociates"),
    Seeded("window-beside-here", "a window beside the point is at another one", GREATEST,
           case(c, red("max", m, sl(d, q, x)), x),
           (moved(d, s, q, a, c), *LEADING, eq(0, rank(x))),
           _world(3, ranges={"s": lambda p: range(max(p["d"] - 3, 0), max(p["d"] - 1, 0)),
                             "q": lambda p: range(max(p["d"] - 1, 0), p["d"] + 1)},
                  indices={"a": lambda p: p["d"] - 2}, conditions={"c": lambda p: p["d"] >= 2}),
           shown=False),
)  # fmt: skip

_STEPS = (
    Seeded("recurrence-backwards", "a recurrence has a direction", lin(d, 0, y, x),
           lin(d, 1, y, x), (VARIES,), _world(2), exact="reassociates", valid="inside the box"),
    Seeded("scans-change-places", "sums of sums to come are not sums of sums so far",
           scan("sum", d, back("sum", d, x)), back("sum", d, scan("sum", d, x)), (VARIES,),
           _world(1), exact="reassociates", valid="inside the box"),
    Seeded("scan-of-shifted", "a running fold of what comes begins one step later",
           scan("sum", d, at(d, a, x)), at(d, a, scan("sum", d, x)),
           (eq(q, shifted(d, s, a)), VARIES),
           _world(1, ranges={"s": lambda p: range(2), "q": lambda p: range(1, 3)},
                  indices={"a": _after}), exact="reassociates"),
    Seeded("factor-of-the-next-step", "a step has its own factor", lin(d, 1, y, x),
           add(x, case(k, mul(at(d, b, y), at(d, b, lin(d, 1, y, x))), z)),
           (after(d, b, k), eq(0, rank(x)), eq(0, rank(y)), eq(0, rank(z)),
            eq(0.0, value(z))),
           World({"d": 1}, {"d": 4}, {"x": X, "y": Y, "z": 0.0}, indices={"b": _after},
                 conditions={"k": lambda p: p["d"] < LAST}),
           exact="reassociates", valid="inside the box", shown=False),
    Seeded("factor-and-term-swapped", "the factor multiplies the step before", lin(d, 0, y, x),
           lin(d, 0, x, y), world=_world(1), exact="reassociates", valid="inside the box"),
    Seeded("scan-of-product", "a running product is no product of sums",
           scan("sum", d, mul(x, y)),
           mul(scan("sum", d, x), scan("sum", d, y)), (VARIES,), _world(2),
           exact="reassociates"),
    Seeded("scan-of-scan", "a running fold of a running sum counts the first more often",
           scan("sum", d, scan("sum", d, x)), scan("sum", d, x), (VARIES,), _world(2),
           exact="reassociates"),
    Seeded("both-directions", "the step itself is in both folds",
           add(scan("sum", d, x), back("sum", d, x)), red("sum", m, sl(d, s, x)),
           (eq(s, full(d)), *LEADING), _world(1, ranges={"s": lambda p: range(4)}),
           exact="reassociates", valid="inside the box"),
    Seeded("sum-of-differences", "the first value stays",
           scan("sum", d, sub(x, at(d, b, x))), x, (before(d, b, k), VARIES),
           _world(2, indices={"b": _before}, conditions={"k": lambda p: p["d"] >= 1}),
           exact="reassociates"),
)  # fmt: skip

SHIFTS: tuple[Seeded, ...] = (*_READS, *_FOLDS, *_STEPS)
