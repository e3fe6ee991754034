"""Laws of ranges that have elements, stated without saying so."""

from __future__ import annotations

import numpy as np

from ostinato.rewrite.terms import *
from tests.rewrite.wrong.record import Seeded
from tests.rewrite.wrong.world import Point, Ranges, World

a, c, d, e, f, g, h, k, m, q, r, s = variables("a c d e f g h k m q r s")
u, x, y, z = variables("u x y z")

X = np.asarray(3.0, "float32")
VARIES = (eq(m, 1 << rank(x)), is_in(d, dom(x)))
LEADING = eq(m, 1 << rank(x))
NOTHING = (eq(e, dtype(LHS)), empty(f, e, u), eq(h, shape(LHS)), eq(r, rank(LHS)),
           ones(r, k))  # fmt: skip


def _values(p: Point) -> float:
    return float(p["d"] + 1)


def _until(p: Point) -> range:
    return range(p["t"] - 1)


def _from(p: Point) -> range:
    return range(p["t"] + 2, 4)


def _so_far(p: Point) -> range:
    return range(p["d"] + 1)


def _to_come(p: Point) -> range:
    return range(p["d"], 4)


def _empty(tensors: dict[str, object]) -> World:
    """A range of d before step t, at the first t: it has no elements."""
    ranges: Ranges = {"s": lambda p: range(p["t"])}
    return World({"t": 0, "d": 0}, {"t": 4, "d": 4}, tensors, ranges, numbers={"m": 1})


def _read(side: str, group: str, fold: str, joined: str) -> World:
    """A range that ends behind, or begins at, an index outside the box."""
    ends = side == "until"
    return World(
        {"t": 0 if ends else 3, "d": 0}, {"t": 4, "d": 4}, {"x": _values},
        {"s": _until if ends else _from, "q": _so_far if ends else _to_come},
        {"a": (lambda p: p["t"] - 2) if ends else (lambda p: p["t"] + 2)},
        {"c": (lambda p: p["t"] >= 2) if ends else (lambda p: p["t"] < 2)},
        texts={"f": fold, "g": joined},
    )  # fmt: skip


_READS = tuple(
    Seeded(f"{side}-without-elements-{group.head}", "a range without elements ends outside the box",
           red(f, m, sl(d, s, x)), at(d, a, running(f, d, x)),
           (moved(d, s, q, a, c), of_all(d, q), group(f, g), *VARIES),
           _read(side, group.head, fold, joined),
           exact="exact" if group == exactly else "reassociates")
    for side, of_all, running in (("until", prefix, scan), ("from", suffix, back))
    for group, fold, joined in ((exactly, "max", "maximum"), (rounded, "sum", "add"))
)  # fmt: skip

_FALLBACKS = (
    Seeded("until-else-value", "the fold of nothing is not the value here",
           red(f, m, sl(d, s, x)), case(c, at(d, a, scan(f, d, x)), x),
           (moved(d, s, q, a, c), prefix(d, q), exactly(f, g), *VARIES, not_in(d, sdom(x))),
           _read("until", "exactly", "max", "maximum")),
    Seeded("until-else-first", "the fold of nothing is not the first value",
           red("sum", m, sl(d, s, x)), case(c, at(d, a, scan("sum", d, x)), at(d, 0, x)),
           (moved(d, s, q, a, c), prefix(d, q), *VARIES, not_in(d, sdom(x))),
           _read("until", "rounded", "sum", "add"), exact="reassociates", shown=False),
    Seeded("until-else-one", "a sum of nothing is 0", red("sum", m, sl(d, s, x)),
           case(c, at(d, a, scan("sum", d, x)), u),
           (moved(d, s, q, a, c), prefix(d, q), *VARIES, eq(0, rank(x)), unit(dtype(x), u)),
           World({"t": 0, "d": 0}, {"t": 4, "d": 4}, {"x": _values, "u": 1.0},
                 {"s": _until, "q": _so_far}, {"a": lambda p: p["t"] - 2},
                 {"c": lambda p: p["t"] >= 2}), exact="reassociates"),
    Seeded("until-else-zero", "a product of nothing is 1", red("prod", m, sl(d, s, x)),
           case(c, at(d, a, scan("prod", d, x)), z),
           (moved(d, s, q, a, c), prefix(d, q), *VARIES, eq(0, rank(x)), zero(dtype(x), z)),
           World({"t": 0, "d": 0}, {"t": 4, "d": 4}, {"x": _values, "z": 0.0},
                 {"s": _until, "q": _so_far}, {"a": lambda p: p["t"] - 2},
                 {"c": lambda p: p["t"] >= 2}), exact="reassociates"),
    Seeded("until-greatest-else-zero", "the greatest of nothing is -inf",
           red("max", m, sl(d, s, x)), case(c, at(d, a, scan("max", d, x)), z),
           (moved(d, s, q, a, c), prefix(d, q), *VARIES, eq(0, rank(x)), zero(dtype(x), z)),
           World({"t": 0, "d": 0}, {"t": 4, "d": 4}, {"x": _values, "z": 0.0},
                 {"s": _until, "q": _so_far}, {"a": lambda p: p["t"] - 2},
                 {"c": lambda p: p["t"] >= 2})),
)  # fmt: skip


def _of_constant(name: str, fold: str, unit: str, value: object) -> Seeded:
    """A value that does not depend on the range, folded over it."""
    return Seeded(f"{name}-of-the-same", f"over nothing it is {unit}",
                  red(fold, m, sl(d, s, x)), x, (LEADING, not_in(d, dom(x))),
                  _empty({"x": value}))  # fmt: skip


def _moved_out(name: str, fold: str, fn: str, inner: object, outer: object) -> Seeded:
    """What is the same for the whole range, joined to the fold instead of each element."""
    joined = map2(fn, x, y)
    return Seeded(f"{name}-moved-out", "over nothing the second operand is not met",
                  red(fold, m, sl(d, s, joined)),
                  map2(fn, red(fold, m, sl(d, s, x)), y),
                  (eq(m, 1), eq(0, rank(x)), eq(0, rank(y)), not_in(d, dom(y))),
                  _empty({"x": inner, "y": outer}))  # fmt: skip


def _monotone(fn: str, value: str) -> Seeded:
    """A function that grows, and the greatest of its values."""
    return Seeded(f"{fn.replace(':', '-')}-of-greatest", f"of -inf it is {value}",
                  map1(fn, red("max", m, sl(d, s, x))), red("max", m, sl(d, s, map1(fn, x))),
                  (LEADING,), _empty({"x": X}))  # fmt: skip


_OF_NOTHING = (
    _of_constant("greatest", "max", "-inf", X),
    _of_constant("least", "min", "inf", X),
    _of_constant("any", "any", "false", True),
    _of_constant("all", "all", "true", False),
    Seeded("product-of-zeros", "a product of nothing is 1", red("prod", m, sl(d, s, x)), x,
           (LEADING, eq(0.0, value(x)), not_in(d, dom(x))), _empty({"x": 0.0})),
    _moved_out("greatest", "max", "maximum", X, 5.0),
    _moved_out("least", "min", "minimum", X, 1.0),
    _moved_out("any", "any", "or", False, True),
    _moved_out("all", "all", "and", True, False),
    _moved_out("sum-of-shifted", "sum", "add", X, 1.0),
    _monotone("exp", "0"),
    _monotone("tanh", "-1"),
    _monotone("sigmoid", "0"),
    Seeded("root-of-greatest", "-inf has no root", map1("sqrt", red("max", m, sl(d, s, x))),
           red("max", m, sl(d, s, map1("sqrt", x))), (LEADING,), _empty({"x": X})),
    Seeded("greatest-integer-as-float", "the least integer is finite",
           map1("cast:float32", red("max", m, sl(d, s, x))),
           red("max", m, sl(d, s, map1("cast:float32", x))), (LEADING,), _empty({"x": 3})),
    Seeded("distance-of-greatest", "the distance of -inf is inf",
           map1("abs", red("max", m, sl(d, s, map1("abs", x)))),
           red("max", m, sl(d, s, map1("abs", x))), (LEADING,), _empty({"x": X})),
    Seeded("first-of-join", "a part without elements has no first one",
           part(1, 0, cat(1, sl(d, s, x), y)), part(1, 0, sl(d, s, x)),
           (eq(0, rank(x)),), _empty({"x": X, "y": [5.0]})),
    Seeded("last-of-join", "a part without elements has no first one",
           part(1, 0, cat(1, y, sl(d, s, x))), part(1, 0, sl(d, s, x)),
           (eq(0, rank(x)),), _empty({"x": X, "y": [5.0]})),
    Seeded("not-any-is-some-not", "where all hold, some hold too",
           map1("not", red("all", m, sl(d, s, x))), red("any", m, sl(d, s, x)), (LEADING,),
           World({"t": 2, "d": 0}, {"t": 4, "d": 4}, {"x": True},
                 {"s": lambda p: range(p["t"])}, numbers={"m": 1})),
    Seeded("all-implies-any", "over nothing all hold and none does",
           map2("and", red("all", m, sl(d, s, x)), red("any", m, sl(d, s, x))),
           red("all", m, sl(d, s, x)), (LEADING,), _empty({"x": True})),
    Seeded("greatest-not-less-than-least", "over nothing the greatest is less",
           map2("maximum", red("max", m, sl(d, s, x)), red("min", m, sl(d, s, x))),
           red("max", m, sl(d, s, x)), (LEADING,), _empty({"x": X})),
)  # fmt: skip

EMPTINESS: tuple[Seeded, ...] = (*_READS, *_FALLBACKS, *_OF_NOTHING)
