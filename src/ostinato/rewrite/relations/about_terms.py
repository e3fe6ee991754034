"""Relations of terms: what they depend on, their ranks, types, shapes and numbers."""

from __future__ import annotations

from ostinato.rewrite.relations.meanings import (
    Among,
    Clear,
    Depends,
    Equal,
    Filled,
    Known,
    Listed,
    Repeats,
    Said,
    Typed,
    Unwrapped,
)  # fmt: skip
from ostinato.rewrite.relations.relation import Kind, Relation

_MASK: dict[str, Kind] = {"m": "mask"}
_JOINS: dict[str, Kind] = {"f": "fold", "g": "function"}


_LINES: dict[str, Kind] = {"x": "term", "d": "dimension", "s": "slice", "y": "term"}
_BY_ROWS = ("sl", "d", "s", ("part", 1, 0, "y"))
MATRICES = (
    Relation(
        "rows", _LINES, "the row of {x} at every point of {d}, of which {s} are all, is {y}",
        (Equal("x", _BY_ROWS),), topic="matrices of weights", gate=True,
    ),
    Relation(
        "columns", _LINES, "the column of {x} at every point of {d}, of which {s} are all, is {y}",
        (Equal("x", ("tr", _BY_ROWS)),), topic="matrices of weights", gate=True,
    ),
)  # fmt: skip


_LAGS: dict[str, Kind] = {
    "x": "term", "d": "dimension", "s": "slice", "g": "term", "u": "term",
}  # fmt: skip


def _counted(name: str, words: str, term: str) -> Relation:
    """Integers that rise evenly with the lag: the points since a step entered a range."""
    says = Equal("x", (term, "d", "s", "g", "u")), Unwrapped(("g", "u"))
    return Relation(name, _LAGS, words, says, topic="lags in ranges", gate=True)


def _progression(name: str, words: str, joined: str) -> Relation:
    """How what a range holds changes with the lag."""
    return Relation(
        name, _LAGS, words, (Equal("x", (name, "d", "s", "g", "u")),), topic="lags in ranges",
        made="rules", gate=True, opened_by="enters", keyed=3, joined=joined, merge="old",
    )  # fmt: skip


WEIGHTS = (
    _counted(
        "lagged", "over {s}, {x} is {u} where a step of {d} enters, and {g} more with every lag",
        "ramp",
    ),
    _counted(
        "lagged_in",
        "{x} is so over all of {d}: in {s} {u} where a step enters, and {g} more with every lag",
        "ramp_of_all",
    ),
    _progression(
        "ramp", "over {s}, {x} is {u} where a step of {d} enters, and {g} more with every lag",
        "slope",
    ),
    _progression(
        "decay", "over {s}, {x} is {u} where a step of {d} enters, then {g} times that before",
        "rate",
    ),
)  # fmt: skip
NUMBERS = (
    Relation(
        "centre", {"d": "dimension", "s": "slice", "x": "term", "n": "term", "y": "term"},
        "{n} is the number of steps of {s}, and {y} the mean of {x} over them",
        (Equal("n", ("map1", '"cast:real"', ("steps", "s"))), Equal("y", ("mean", "d", "s", "x"))),
        topic="means of ranges", made="rules",
    ),
    Relation(
        "value", {"x": "term"}, "{x} is filled with {v}", (), {"v": "real"}, merge="old",
        topic="values of constants",
    ),
    Relation(
        "unit", {"e": "type", "x": "term"}, "{x} is the number 1 of type {e}",
        (Filled("x", 1), Said("scalar", "x"), Clear(("x",))), topic="values of constants",
    ),
    Relation(
        "zero", {"e": "type", "x": "term"}, "{x} is the number 0 of type {e}",
        (Filled("x", 0), Said("scalar", "x"), Clear(("x",))), topic="values of constants",
    ),
    Relation(
        "empty", {"f": "fold", "e": "type", "x": "term"},
        "{x} is what the fold {f} of nothing gives in type {e}",
        (Known("x", "unit of", ("f",)), Said("scalar", "x"), Clear(("x",))), topic="folds",
    ),
    Relation(
        "bounded", {"x": "term"}, "{x} has neither infinities nor NaN", (Said("finite", "x"),),
        topic="values of constants",
    ),
    Relation(
        "positive", {"x": "term"}, "{x} is above 0", (Said("above zero", "x"),),
        topic="values of constants",
    ),
    Relation(
        "gentle", {"x": "term"}, "{x} is between 1/100 and 100",
        (Said("above zero", "x"), Said("moderate", "x")), topic="values of constants",
    ),
    Relation(
        "moderate", {"x": "term"}, "{x} is between -8 and 8", (Said("moderate", "x"),),
        topic="values of constants", made="analysis",
    ),
    Relation(
        "scales", {"f": "function"}, "{f} multiplies or divides", (Among("f", ("mul", "div")),),
        topic="functions",
    ),
    Relation(
        "multiplies", {"f": "function"}, "{f} multiplies, divides, or is a power",
        (Among("f", ("mul", "div", "pow")),), topic="functions",
    ),
    Relation(
        "involution", {"f": "function"}, "{f} twice changes nothing", (Among("f", ("neg", "not")),),
        topic="functions",
    ),
    Relation(
        "turned", {"f": "function", "g": "function"}, "{f} of x and -y is {g} of x and y",
        (Listed(("f", "g"), (("add", "sub"), ("sub", "add"))),), topic="functions",
    ),
    Relation(
        "adds", {"f": "function"}, "{f} adds or subtracts", (Among("f", ("add", "sub")),),
        topic="functions",
    ),
    Relation(
        "bound", {"x": "term"}, "{x} is between -{m} and {m}", (), {"m": "real"}, merge="old",
        made="analysis",
    ),
    Relation("repeats", _JOINS, "the fold {f} repeats {g}", (Repeats("f", "g"),), topic="folds"),
    Relation(
        "places", {"f": "fold", "g": "fold", "b": "function", "a": "function"},
        "{f} is where {g} is: an element is not beyond it if {b}, and as far if {a}",
        (Listed(("f", "g", "b", "a"),
                (("argmax", "max", "le", "ge"), ("argmin", "min", "ge", "le"))),), topic="folds",
    ),
    Relation(
        "exactly", _JOINS, "the fold {f} repeats {g}, which does not round",
        (Repeats("f", "g", rounds=False),), topic="folds",
    ),
    Relation(
        "rounded", _JOINS, "the fold {f} repeats {g}, which rounds",
        (Repeats("f", "g", rounds=True),), topic="folds",
    ),
    Relation(
        "either", {"f": "function", "z": "term", "x": "term", "y": "term"},
        "{z} is {f} of {x} and {y}, in either order where that is the same",
        (Equal("z", ("map2", "f", "x", "y")),),
        topic="orders of operands", made="analysis",
    ),
    Relation(
        "eased", {"x": "term"}, "{x} is over a range that follows the point, or under a mask",
        topic="ranges", made="analysis",
    ),
    Relation(
        "real_cast", {"f": "function"}, "{f} casts to floats",
        (Said("cast", "f"),), topic="types",
    ),
    Relation(
        "arithmetic", {"f": "function"}, "{f} keeps the type of its operands",
        (Said("keeps type", "f"),),
    ),
    Relation("keeps_type", {"f": "function"}, "{f} gives the type of its operands", topic="types"),
    Relation(
        "makes", {"f": "function", "e": "type"}, "{f} gives values of type {e}", topic="types",
    ),
    Relation(
        "dtype", {"x": "term"}, "{x} is of type {e}", (Typed("x", "e"),), {"e": "type"},
        topic="types",
    ),
)  # fmt: skip
DEPENDENCE = (
    Relation(
        "mask", {"a": "index"}, "{a} depends on {m}", (Depends("index"),), _MASK,
        topic="dependence",
    ),
    Relation(
        "dom", {"x": "term"}, "{x} depends on {m}", (Depends("value"),), _MASK,
        merge="(& old new)", topic="dependence", made="analysis",
    ),
    Relation(
        "sdom", {"x": "term"}, "the shape of {x} depends on {m}", (Depends("shape"),), _MASK,
        merge="(& old new)", topic="dependence", made="analysis",
    ),
    Relation(
        "hmask", {"h": "shape"}, "{h} depends on {m}", (Depends("sizes"),), _MASK,
        merge="(& old new)", topic="dependence", made="analysis",
    ),
    Relation(
        "zmask", {"z": "size"}, "{z} depends on {m}", (Depends("size"),), _MASK,
        merge="(& old new)", topic="dependence", made="analysis",
    ),
    Relation(
        "free", {"x": "term"}, "all points of {x} along {m} exist before any recurrence runs",
        (Depends("nothing"),), _MASK, merge="(& old new)", topic="dependence",
    ),
    Relation(
        "gap", {"x": "term"}, "{x} is not defined everywhere along {m}",
        (Depends("nothing"),), _MASK, merge="(& old new)",
    ),
)  # fmt: skip


SHAPES = (
    Relation(
        "rank", {"x": "term"}, "{x} has {k} axes",
        (Said("measured"),), {"k": "number"}, topic="ranks", made="analysis",
    ),
    Relation(
        "hlen", {"h": "shape"}, "{h} has {k} sizes",
        (Said("measured"),), {"k": "number"}, topic="ranks", made="analysis",
    ),
    Relation(
        "shape", {"x": "term"}, "{x} has the shape {h}",
        (Said("measured"),), {"h": "shape"}, merge="old", topic="shapes", made="analysis",
    ),
    Relation(
        "axis", {"x": "term", "k": "axis", "z": "size"}, "axis -{k} of {x} has size {z}",
        (Said("measured"),), topic="shapes", made="analysis",
    ),
    Relation(
        "ones", {"k": "number", "h": "shape"}, "{h} is {k} sizes of 1", (Said("measured"),),
        topic="shapes",
    ),
    Relation(
        "filled", {"z": "size"}, "{z} is at least 1 at all points of the box",
        (Said("positive", "z"),), topic="shapes", made="analysis", inside=True,
    ),
    Relation("raw_filled", {"n": "index"}, "the size {n} is at least 1 at all points of the box"),
    Relation(
        "inner", {"d": "dimension", "s": "slice", "y": "term"},
        "{x} is the one value whose range {y} is over {s}", (), {"x": "term"}, merge="old",
        made="analysis", apart=True,
    ),
)  # fmt: skip
