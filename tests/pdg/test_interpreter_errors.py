"""The interpreter's errors, by their whole text: place, names, fact and remedy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least, equal
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Equation, Node, Pdg
from tests.pdg.programs import B, T, add, mul, program, scalar, shifted, t

PLANE = np.zeros((1, 2), "float32")


def text(graph: Pdg, extents: Mapping[str, int], inputs: Mapping[str, Array]) -> str:
    with pytest.raises(OstinatoError) as caught:
        interpret(graph, extents, inputs)
    return str(caught.value)


def plane() -> Node:
    return build.input_node("x", (), "float32", (B, T), "train.py:7")


def recurrence(name: str, line: int, later: Node, rec: Node) -> Equation:
    places = (f"train.py:{line}", f"train.py:{line + 1}")
    return Equation(rec, ((equal(T, 0), scalar(1.0)), (at_least(T, 1), later)), places)


def test_a_missing_input_says_where_it_is_declared_and_what_to_pass() -> None:
    found = text(program(y=plane()), {"B": 1, "T": 2}, {})
    assert found == "train.py:7: input `x` is missing\n  Pass `x=...`."


def test_a_missing_extent_says_what_to_pass() -> None:
    found = text(program(y=plane()), {"B": 1}, {"x": PLANE})
    assert found == "the extent `T` is missing\n  Pass `T=...`."


def test_a_read_outside_shows_the_point_and_the_whole_domain() -> None:
    found = text(program(y=shifted(plane(), -1)), {"B": 1, "T": 2}, {"x": PLANE})
    assert found == (
        "train.py:7: `x` is read at b = 0, t = -1, outside its domain 0 <= b < B and 0 <= t < T\n"
        "  Read inside the domain, or add a case for this point."
    )


def test_a_part_outside_its_axis_names_index_axis_and_size() -> None:
    v = build.input_node("v", (expr(3),), "float32", (), "train.py:3")
    values = {"v": np.arange(3, dtype="float32")}
    part = build.part(v, -1, expr(T), "train.py:4")
    assert interpret(program(y=part), {"T": 3}, values)["y"].tolist() == [0, 1, 2]
    assert text(program(y=part), {"T": 4}, values) == (
        "train.py:4: index t of axis -1 of `v` leaves its size 3\n  Use an index inside the axis."
    )


def test_a_value_that_needs_itself_is_placed_at_the_equation_of_its_point() -> None:
    r = build.rec("r", (), "float32", (T,), "train.py:1")
    found = text(program(recurrence("r", 4, shifted(r, 0), r), y=r), {"T": 3}, {})
    assert found == (
        "train.py:5: `r` at t = 1 (train.py:5) needs itself\n"
        "  Read an earlier step of `r`, so that some order computes it."
    )


def test_a_cycle_of_two_tells_the_whole_way_round() -> None:
    a, b = (build.rec(name, (), "float32", (T,), "train.py:1") for name in "ab")
    one = recurrence("a", 4, add(b, scalar(1.0)), a)
    two = recurrence("b", 6, mul(a, scalar(2.0)), b)
    assert text(program(one, two, y=a), {"T": 3}, {}) == (
        "train.py:5: `a` at t = 1 (train.py:5) needs `b` at t = 1 (train.py:7), "
        "which needs `a` at t = 1\n"
        "  Read an earlier step of `a`, so that some order computes it."
    )


def test_a_value_without_point_and_place_is_named_alone() -> None:
    c = build.rec("c", (), "float32", ())
    equation = Equation(c, ((ALWAYS, add(c, scalar(1.0))),))
    assert text(program(equation, y=c), {}, {}) == (
        "`c` needs itself\n  Read an earlier step of `c`, so that some order computes it."
    )


def test_an_uncovered_point_names_the_tensor_and_the_remedy() -> None:
    y = build.rec("y", (), "float32", (B, T), "train.py:2")
    equation = Equation(y, ((at_least(t, 1), scalar(1.0)),), ("train.py:3",))
    assert text(program(equation, y=y), {"B": 1, "T": 2}, {}) == (
        "train.py:2: no equation of `y` covers the point b = 0, t = 0\n"
        "  Add a case to `y` for this point."
    )


def test_a_cycle_of_two_without_places_tells_the_whole_way_round() -> None:
    a, b = (build.rec(name, (), "float32", (T,)) for name in ("odd", "even"))
    one = Equation(a, ((ALWAYS, add(b, scalar(1.0))),))
    two = Equation(b, ((ALWAYS, mul(a, scalar(2.0))),))
    assert text(program(one, two, y=a), {"T": 3}, {}) == (
        "`odd` at t = 0 needs `even` at t = 0, which needs `odd` at t = 0\n"
        "  Read an earlier step of `odd`, so that some order computes it."
    )


def test_a_cycle_of_three_names_each_once_and_returns_to_the_first() -> None:
    a, b, c = (build.rec(name, (), "float32", ()) for name in ("a (1)", "next", "last"))
    equations = [
        Equation(x, ((ALWAYS, add(y, scalar(1.0))),), ("train.py:2",))
        for x, y in ((a, b), (b, c), (c, a))
    ]
    assert text(program(*equations, y=a), {}, {}) == (
        "train.py:2: `a (1)` (train.py:2) needs `next` (train.py:2), "
        "which needs `last` (train.py:2), which needs `a (1)`\n"
        "  Read an earlier step of `a (1)`, so that some order computes it."
    )
