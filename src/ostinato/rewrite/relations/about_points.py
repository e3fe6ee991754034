"""Relations of conditions on the point, and of recurrences and their steps."""

from __future__ import annotations

from ostinato.rewrite.relations.meanings import (
    Apart,
    Clear,
    Cut,
    Defined,
    Equal,
    Filled,
    Known,
    Said,
    Steady,
    Typed,
)  # fmt: skip
from ostinato.rewrite.relations.relation import Kind, Relation

_CUT: dict[str, Kind] = {
    "c": "condition", "d": "dimension", "s": "slice", "p": "slice", "q": "slice",
}  # fmt: skip
_ABOUT: dict[str, Kind] = {"r": "recurrence", "x": "term"}
_MULTIPLE = ("map2", '"mul"', "g", "r'")  # of the recurrence one step before

CONDITIONS = (
    Relation(
        "everywhere", {"c": "condition"}, "{c} holds at all points", (Known("c", "always"),),
        topic="conditions", gate=True,
    ),
    Relation(
        "known", {"x": "term", "c": "condition", "d": "dimension", "s": "slice"},
        "{x} is chosen where {c}, which is on the first steps {s} of {d}",
        (Known("s", "start", ("d",)), Steady("s")), gate=True,
    ),
    Relation(
        "indicator", {"c": "condition", "x": "term"}, "{x} says whether {c}",
        (Known("x", "truth of", ("c",)), Clear(("x",))), gate=True,
    ),
    Relation(
        "both", {"c": "condition", "a": "condition", "b": "condition"}, "{c} is {a} and {b}",
        (Known("c", "both", ("a", "b")),), topic="conditions", gate=True,
    ),
    Relation(
        "pins", {"c": "condition", "d": "dimension", "a": "index"}, "{c} holds at {d} = {a} only",
        (Known("c", "pins", ("d", "a")), Steady("a", "d")), topic="conditions", gate=True,
    ),
)  # fmt: skip
CUTS = (
    Relation(
        "holds_low", _CUT, "{s} is {p} and {q} along {d}, and {c} holds on {p}", (Cut("below"),),
        topic="conditions", inside=True,
    ),
    Relation(
        "holds_high", _CUT, "{s} is {p} and {q} along {d}, and {c} holds on {q}", (Cut("above"),),
        topic="conditions", inside=True,
    ),
)  # fmt: skip
STEPS = (
    Relation(
        "only", {"c": "condition", "d": "dimension", "f": "flag"},
        "{c} holds at the first step of {d} only, or at the last if {f}",
        (Known("c", "only", ("d",)),), topic="steps of recurrences", gate=True,
    ),
    Relation(
        "neighbour", {"r": "recurrence", "d": "dimension", "a": "index", "f": "flag"},
        "{r} reads itself at {d} = {a}, the step before, or after if {f}", (Said("neighbour"),),
        topic="recurrences", gate=True,
    ),
    Relation(
        "body", {"r": "recurrence", "c": "condition", "s": "term", "x": "term"},
        "{r} is {s} where {c}, and else {x}",
        (Said("first step"), Defined("r", ("case", "c", "s", "x")), Clear(("s",), "r")),
        topic="recurrences", gate=True, inside=True,
    ),
    Relation(
        "batch", {"r": "recurrence", "d": "dimension", "q": "recurrence"},
        "{q} is {r} with {d} as its first axis", (Known("q", "batch", ("r", "d")),),
        topic="recurrences", gate=True,
    ),
)  # fmt: skip
RECURRENCES = (
    Relation(
        "define", {"r": "recurrence", "k": "number", "x": "term"}, "case {k} of {r} is {x}",
        (Said("definition"),), topic="recurrences",
    ),
    Relation("live", {"r": "recurrence"}, "{r} is asked for", (Said("wish"),), made="rules"),
    Relation(
        "closed", {"r": "recurrence"}, "{r} equals a term that does not read it", (Said("closed"),),
        made="rules",
    ),
    Relation("clear", _ABOUT, "{x} does not read {r}", (Clear(("x",), "r"),)),
    Relation(
        "some", _ABOUT, "{x} does not read {r}, and may be other than 0", (Clear(("x",), "r"),),
    ),
    Relation(
        "gone", _ABOUT, "{x} is 0, and does not read {r}", (Filled("x", 0), Clear(("x",), "r")),
        topic="values of constants",
    ),
    Relation(
        "scaled", {**_ABOUT, "g": "term"}, "{x} is {g} times {r} one step before",
        (Equal("x", _MULTIPLE), Clear(("g",), "r")), keyed=2, merge="old",
        topic="steps of recurrences", made="rules",
    ),
    Relation(
        "affine", {**_ABOUT, "g": "term", "a": "term"},
        "{x} is {a} plus {g} times {r} one step before",
        (Equal("x", ("map2", '"add"', "a", _MULTIPLE)), Clear(("g", "a"), "r")), keyed=2,
        joined="line", merge="old", topic="steps of recurrences", made="rules",
    ),
    Relation(
        "factor", {"e": "type", "x": "term"}, "{x} is of type {e}", (Typed("x", "e"),),
        made="rules",
    ),
    Relation(
        "inside", {"d": "dimension", "e": "dimension"}, "{d} nests inside {e}", (Apart("d", "e"),),
    ),
    Relation(
        "joint", {"d": "dimension"}, "points of {d} have something in common",
        (Said("wish"),),
    ),
    Relation("want", {"x": "term", "m": "mask"}, "{x} should have the axes {m}", (Said("wish"),)),
    Relation("innermost", {"m": "mask"}, "{d} is the innermost of {m}", (), {"d": "dimension"}),
)  # fmt: skip
