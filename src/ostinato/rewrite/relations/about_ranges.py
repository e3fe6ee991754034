"""Relations of ranges: their tiles, the windows that they are made of, where they begin and end."""

from __future__ import annotations

from ostinato.rewrite.relations.meanings import (
    BEHIND,
    EXTENT,
    HERE,
    LAST,
    START,
    AsMany,
    Beside,
    Elsewhere,
    Equal,
    Joined,
    Keeps,
    Known,
    Moves,
    Nearby,
    Ordered,
    Said,
    Steady,
    SteadyIf,
    Steps,
)  # fmt: skip
from ostinato.rewrite.relations.relation import Kind, Relation

_MOST_AXES = 64
_RANGE: dict[str, Kind] = {"d": "dimension", "s": "slice"}
_RANGE_AT: dict[str, Kind] = {"y": "term", **_RANGE, "p": "axis"}
_COND: dict[str, Kind] = {"c": "condition"}
_WINDOW: dict[str, Kind] = {**_RANGE, "p": "slice", "a": "index", **_COND}
_ORDER: dict[str, Kind] = {"o": "order", "p": "axis", "q": "axis"}

TILES = (
    Relation(
        "tiled", {"n": "index", "p": "slice", "d": "dimension"},
        "the tiles {p}, one for each step of {d}, make up {n} positions",
        (Said("tiles"),), gate=True, inside=True,
    ),
    Relation(
        "section", {"n": "index", "p": "slice"}, "{p} is a part of {n} positions",
        (Said("section"),), gate=True,
    ),
    Relation(
        "greatest_at", {"f": "function", "n": "index", "i": "index"},
        "of {n} positions, of at least 1, {f} has that of the greatest element at {i}",
        (Ordered(), Said("positive", "n")), topic="ranges", gate=True, inside=True,
    ),
    Relation(
        "alone", {"p": "slice", "i": "index"}, "{p} has the index {i} alone",
        (Known("p", "alone", ("i",)),), topic="ranges", gate=True,
    ),
    Relation(
        "step", {"s": "slice", "i": "index", "a": "index"}, "{a} is the step of {s} at place {i}",
        (Known("a", "element", ("s", "i")),), topic="ranges",
    ),
)  # fmt: skip
WINDOWS = (
    Relation(
        "halved", {**_WINDOW, "b": "index", "e": "condition"},
        "the window {s} is {p} here and at {d} = {a}, where {c}, and the step {b}, unless {e}",
        (Joined("halved"),), topic="ranges", gate=True, inside=True,
    ),
    Relation(
        "overlapping", _WINDOW,
        "the window {s} is {p} here and at {d} = {a}, where {c}; both may share steps",
        (Joined("overlapping"),), topic="ranges", gate=True, inside=True,
    ),
    Relation(
        "moved", _WINDOW, "the range {s} is {p} at {d} = {a}, where {c}, and else empty",
        (Elsewhere(),), topic="ranges", gate=True, inside=True,
    ),
    Relation(
        "tally", {"s": "slice", "x": "term"}, "{x} is the number of steps of {s}",
        (Equal("x", ("steps", "s")),), topic="ranges", gate=True,
    ),
    Relation(
        "counter", {"s": "slice", "x": "term"}, "{x} counts the steps of {s} from 0",
        (Equal("x", ("count", "s")),), topic="ranges", gate=True,
    ),
    Relation(
        "begins", _RANGE, "{s} begins at {d}, and ends before the dimension does",
        (Said("begins"),), topic="ranges", gate=True,
    ),
    Relation(
        "before", {"d": "dimension", "a": "index", **_COND},
        "{a} is the step before {d}, which there is where {c}", (Beside(-1),), topic="ranges",
        gate=True, inside=True,
    ),
    Relation(
        "after", {"d": "dimension", "a": "index", **_COND},
        "{a} is the step after {d}, which there is where {c}", (Beside(1),), topic="ranges",
        gate=True, inside=True,
    ),
    Relation(
        "nearby", {**_RANGE, "f": "flag", "a": "index", **_COND},
        "{s} is 0 : {d} + 1, or {d} : the end if {f}; {a} is the next step inside, where {c}",
        (Nearby(),), topic="ranges", gate=True, inside=True,
    ),
    Relation(
        "shortened", _RANGE, "{s} is {d} : the end of {d}, less 1", (Steps(HERE, LAST),),
        topic="ranges", gate=True,
    ),
    Relation(
        "but_last", _RANGE, "{s} is 0 : the end of {d}, less 1", (Steps(START, LAST),),
        topic="ranges", gate=True,
    ),
    Relation(
        "rest", _RANGE, "{s} is {d} + 1 : the end of {d}", (Steps(BEHIND, EXTENT),),
        topic="ranges", gate=True,
    ),
)  # fmt: skip
_KEPT: dict[str, Kind] = {"c": "term", "k": "axis", "s": "slice"}
KEPT = (
    Relation(
        "keeps", _KEPT, "{c} holds exactly at the positions {s} of axis -{k}", (Keeps(("s",)),),
        topic="ranges of masks", gate=True, inside=True,
    ),
    Relation(
        "keeps_both", {**_KEPT, "q": "slice"},
        "{c} holds exactly at the positions {s}, and behind these {q}, of axis -{k}",
        (Keeps(("s", "q")),), topic="ranges of masks", gate=True, inside=True,
    ),
    Relation(
        "long", {"n": "index"}, "{n} is the length of a range that follows the point, or is cut",
        topic="ranges", made="analysis",
    ),
    Relation("kept", {"s": "slice"}, "{s} is what a mask keeps", topic="ranges of masks"),
    Relation(
        "opposite", {"x": "term", "y": "term"}, "{y} holds where {x} does not",
        (Equal("y", ("map1", '"not"', "x")),), topic="ranges of masks",
    ),
)  # fmt: skip
ORDERS = (
    Relation(
        "around", {**_ORDER, "b": "order"},
        "{o} takes axis -{p} to -{q}, and the other axes as {b} does",
        (Moves(range(3, _MOST_AXES)),), topic="permutations", gate=True,
    ),
    Relation(
        "around_pair", _ORDER,
        "{o} takes axis -{p} to -{q}, and exchanges the last two of the others",
        (Moves(range(2, 3)),), topic="permutations", gate=True,
    ),
    Relation(
        "around_alone", _ORDER, "{o} takes axis -{p} to -{q}, and leaves the others in order",
        (Moves(range(1)),), topic="permutations", gate=True,
    ),
)  # fmt: skip
FOLLOWING = (
    Relation(
        "from_zero", _RANGE, "{s} begins at 0 and follows {d}", (Known("s", "start", ("d",)),),
        topic="ranges", gate=True,
    ),
    Relation(
        "starts", {**_RANGE, "a": "leaf"}, "{s} follows {d}, and the leaf {a} is where it begins",
        (Known("a", "first of", ("s",)), Known("s", "starts", ("d",))), topic="ranges", gate=True,
    ),
    Relation("follows", _RANGE, "an end of {s} follows {d}", topic="ranges", gate=True),
    Relation(
        "prefix", _RANGE, "{s} is 0 : {d} + 1", (Steps(START, BEHIND),), topic="ranges", gate=True,
    ),
    Relation(
        "suffix", _RANGE, "{s} is {d} : the end of {d}", (Steps(HERE, EXTENT),), topic="ranges",
        gate=True,
    ),
    Relation(
        "earlier", _RANGE, "{s} is 0 : {d}", (Steps(START, HERE),), topic="ranges", gate=True,
    ),
    Relation(
        "enters", {**_RANGE, "a": "index", "f": "flag"},
        "{s} follows {d}, whose step {a} enters it (runs backwards if {f}); all others stay",
        (Said("entering"),), topic="ranges", gate=True,
    ),
    Relation(
        "as_many", {**_RANGE, "q": "slice"},
        "{s} is {d}, or {d} + 1, : the end of {d}, and {q} as many steps from {d} on",
        (AsMany(),), topic="ranges", gate=True,
    ),
    Relation(
        "some_where", {"s": "slice", **_COND, "q": "condition"},
        "{s} has elements where {c}, and where {q} at the step before, if there is one",
        (Said("somewhere"),), topic="ranges", gate=True, inside=True,
    ),
    Relation(
        "growing", {"s": "slice"}, "an end of {s} follows the point", topic="ranges", gate=True,
    ),
)  # fmt: skip
HELD = (
    Relation(
        "ranged",
        {**_RANGE_AT, "f": "flag", "x": "term"},
        "along axis -{p}, {y} has {x} at all points of {d} in {s}, or one element for all if {f}",
        (Equal("y", ("ranged", "d", "s", "p", "f", "x")), SteadyIf("x", "d", "f")),
        topic="ranges", made="rules", gate=True, opened_by="growing", keyed=4, joined="element",
        merge="old", apart=True,
    ),
    Relation(
        "pieces",
        {"x": "term", "k": "axis", "p": "slice", "n": "index", "f": "flag", "y": "term"},
        "{y} is the part {p} of {x}, which has size {n} along axis -{k}, or {x}, if {f}: size 1",
        (Equal("y", ("piece_of", "x", "k", "p", "n", "f")), Said("fits")),
        topic="ranges", made="rules", gate=True, opened_by="section", keyed=4, joined="share",
        merge="old", apart=True,
    ),
    Relation(
        "sought", {"x": "term", "k": "axis", "p": "slice"},
        "the part {p} along axis -{k} is sought of what is computed from {x}", (Said("wish"),),
        made="analysis",
    ),
    Relation(
        "operands", {"x": "term", "y": "term"}, "one operator has {x} and {y} as operands",
        (Said("wish"),), made="analysis",
    ),
)  # fmt: skip
COUNTED = (
    Relation(
        "here", {"a": "leaf", "d": "dimension"}, "the leaf {a} is the index of {d}",
        (Known("a", "index of", ("d",)),), topic="index expressions", gate=True,
    ),
    Relation(
        "counts", {"a": "leaf", "n": "length"}, "the leaf {a} is 0, 1, ... {n} - 1",
        (Known("a", "count of", ("n",)),), topic="ranges", gate=True,
    ),
)  # fmt: skip
HALVES = (
    Relation(
        "halves", {"n": "index", "m": "index", "t": "index", "s": "slice", "q": "slice"},
        "{s} is the first {n} and {q} the last {m} of {t} steps",
        (Known("s", "first part", ("n",)), Known("q", "last part", ("n", "m"))), topic="ranges",
        gate=True,
    ),
    Relation(
        "lies_in", {"y": "term", "k": "axis", "s": "slice", "x": "term"},
        "{y} is the part {s} of {x} along axis -{k}", (Equal("y", ("cut", "k", "s", "x")),),
        topic="ranges", made="rules", gate=True, opened_by="halves",
    ),
)  # fmt: skip
PARTS = (
    Relation(
        "piece", {"s": "slice", "p": "slice", "q": "slice"},
        "{q} is the part of {s} that the tile {p} has", (Known("q", "piece", ("s", "p")),),
    ),
    Relation(
        "final", {"d": "dimension", "a": "index"}, "{a} is the last step of {d}",
        (Known("a", "last", ("d",)),),
    ),
    Relation("within", _RANGE, "{s} is a proper part of {d}"),
    Relation("box", _RANGE, "{s} lies inside {d}"),
    Relation(
        "start", _RANGE, "{s} is the first steps of {d}, as many at every point",
        (Known("s", "start", ("d",)), Steady("s")),
    ),
    Relation(
        "full", {"d": "dimension"}, "{s} is all of {d}", (Steps(START, EXTENT),), {"s": "slice"},
        topic="index expressions",
    ),
    Relation(
        "self", {"d": "dimension"}, "{a} is {d} itself", (Known("a", "self", ("d",)),),
        {"a": "index"}, topic="index expressions",
    ),
    Relation(
        "length", {"s": "slice"}, "{n} is the number of steps of {s}",
        (Known("n", "length", ("s",)),), {"n": "index"}, topic="index expressions",
    ),
    Relation(
        "shifted", {"d": "dimension", "s": "slice", "a": "index"},
        "{q} is {s} read at {d} = {a}, a constant further",
        (Known("a", "moved", ("d",)), Known("q", "shifted", ("s", "a"))), {"q": "slice"},
        topic="index expressions",
    ),
)  # fmt: skip
