"""Demand equals the points that the interpreter touches, on graphs that hypothesis invents."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, negation
from ostinato.pdg.demand.check import check
from ostinato.pdg.demand.demand import Demand
from ostinato.pdg.errors import DomainError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Expr, Extent, expr, maximum, minimum
from ostinato.pdg.interpret import Interpreter
from ostinato.pdg.node import Dtype, Equation, Node, Pdg
from tests.pdg.programs import T, add, n, program, scalar, series, t, window

LARGEST = 5
POINTS: list[Expr] = [
    *(t + shift for shift in (-2, -1, 1, 2)),
    *(n - 1 - t, t // 2, t % 2, t * 2, expr(0), n - 1),
    *(minimum(t + 1, n - 1), maximum(t - 2, 0), (t + n) // 2),
]
SPANS: list[tuple[Expr, Expr]] = [
    *((expr(0), t + 1), (t, n), (expr(0), n), (maximum(t - 2, 0), t + 1)),
    *((t - 1, t + 1), (t + 1, t + 2), (t // 2, t)),
]
CONDITIONS: list[Cond] = [
    at_least(t, 1),
    at_least(n - 2, t),
    equal(t, 0),
    equal(t % 2, 0),
    negation(equal(t, n - 1)),
    at_least(t, n - 1 - t),
]


def grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def moved(x: Node, at: Expr) -> Node:
        return build.read(x, [(T, at)])

    def summed(x: Node, span: tuple[Expr, Expr]) -> Node:
        return build.reduce_node("sum", window(x, *span), [-1])

    return st.one_of(
        st.builds(add, inner, inner),
        st.builds(moved, inner, st.sampled_from(POINTS)),
        st.builds(summed, inner, st.sampled_from(SPANS)),
        st.builds(build.case, st.sampled_from(CONDITIONS), inner, inner),
    )


LEAVES = st.sampled_from([series("r"), series("q"), scalar(1.0)])
GRAPHS = st.recursive(LEAVES, grown, max_leaves=5)


def touched(graph: Pdg, name: str, size: int) -> set[tuple[int, ...]]:
    """The points of an input that an evaluation of all outputs reads."""
    found: set[tuple[int, ...]] = set()

    def watch(leaf: str, at: tuple[int, ...], shape: tuple[int, ...], dtype: Dtype) -> Array:
        if leaf == name:
            found.add(at)
        return np.ones(shape, dtype)

    run = Interpreter(graph, {"T": size}, {}, extension=watch)
    for _, node in graph.outputs:
        run.everywhere(node)
    return found


def demanded(demand: Demand, node: Node, size: int) -> set[tuple[int, ...]]:
    return set(demand.of(node).fix({Extent("T"): size}).points())


def agreements(graph: Pdg) -> Iterator[tuple[set[tuple[int, ...]], set[tuple[int, ...]]]]:
    demand = Demand(graph, {})
    for leaf in (series("r"), series("q")):
        for size in range(1, LARGEST + 1):
            yield demanded(demand, leaf, size), touched(graph, str(leaf), size)


@given(GRAPHS)
@settings(max_examples=120)
def test_demand_is_what_the_interpreter_touches(output: Node) -> None:
    for expected, found in agreements(program(y=output)):
        assert expected == found


@given(GRAPHS)
@settings(max_examples=60)
def test_the_demand_of_a_recurrence_is_what_the_interpreter_touches(step: Node) -> None:
    y = build.rec("y", (), "float32", (T,))
    cases = ((equal(t, 0), scalar(0.0)), (ALWAYS, add(step, build.read(y, [(T, t - 1)]))))
    graph = program(Equation(y, cases), y=y)
    for expected, found in agreements(graph):
        assert expected == found


@given(GRAPHS)
@settings(max_examples=120)
def test_a_read_outside_the_domain_is_found_exactly_if_there_is_one(output: Node) -> None:
    graph = program(y=output)
    bad = any(
        not 0 <= at < size
        for leaf in "rq"
        for size in range(1, LARGEST + 1)
        for (at,) in touched(graph, leaf, size)
    )
    if bad:
        with pytest.raises(DomainError, match="outside its domain 0 <= t < T"):
            check(graph)
    else:
        check(graph)
