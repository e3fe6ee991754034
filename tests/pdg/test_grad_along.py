"""The reverse of every function of a whole axis equals central differences."""

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.functions import Array
from ostinato.pdg.grad.axis_adjoints import flip, is_flip
from ostinato.pdg.grad.reverse import gradient
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Along, Node, Pdg
from tests.pdg.gradients import B, T, check, f, mul, n, number, source, t, total, weighed, window

x = source("x", 3, 4, over=(T,))
gate = source("g", 1, 4, over=(B,))
CUMULATIVE = ["sum", "prod", "max", "min", "logsumexp"]


def positions(*shape: int) -> Node:
    return build.map_node("cast", [mul(source("i", *shape, over=(B,)), number(2))], "int32")


def at_zero(loss: Node, wrt: Node, **values: Array) -> Array:
    (g,) = gradient(loss, [wrt], {}).nodes
    return interpret(Pdg((("g", g),), {}), {}, values)["g"]


@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize("fn", CUMULATIVE)
def test_gradient_of_a_cumulative_function(fn: str, axis: int) -> None:
    check(weighed(build.along(fn, [x], axis)), [x])


@pytest.mark.parametrize("axis", [-1, -2])
def test_gradient_of_a_linear_recurrence_along_an_axis(axis: int) -> None:
    gates = build.broadcast(gate, (expr(3), expr(4))) if axis == -2 else gate
    check(weighed(build.along("linear", [gates, x], axis)), [gate, x])


@pytest.mark.parametrize("shape", [(3, 4), (1, 4)])
def test_gradient_of_a_scatter(shape: tuple[int, ...]) -> None:
    check(weighed(build.along("scatter", [x, positions(*shape)], -1, expr(3))), [x])


def test_gradient_of_a_scatter_into_other_rows() -> None:
    updates = source("u", 1, 4, over=(T,))
    check(weighed(build.along("scatter", [updates, positions(3, 4)], -1, expr(5))), [updates])


@pytest.mark.parametrize("fn", [*CUMULATIVE, "linear", "scatter"])
def test_second_derivatives_of_functions_of_an_axis(fn: str) -> None:
    v, size = source("v", 4), None
    args = [v]
    if fn == "linear":
        args = [f("sin", v), v]
    elif fn == "scatter":
        args, size = [v, build.const([2, 0, 2, 7], "int32", (expr(4),))], expr(3)
    (g,) = gradient(total(f("sin", build.along(fn, args, -1, size))), [v], {}).nodes
    check(weighed(g), [v])


def test_gradient_along_an_axis_that_grows_with_the_point() -> None:
    y = source("y", over=(T,))
    check(
        weighed(build.reduce_node("sum", build.along("prod", [window(y, 0, t + 1)], -1), [-1])), [y]
    )


def test_a_cumulative_product_with_zeros_has_an_exact_gradient() -> None:
    v = source("v", 4)
    got = at_zero(total(build.along("prod", [v], -1)), v, v=np.array([2.0, 0.0, 3.0, 0.0]))
    assert got.tolist() == [1, 2 + 6, 0, 0]


@pytest.mark.parametrize("fn", ["max", "min"])
def test_ties_of_a_running_extreme_share_as_those_of_two_values(fn: str) -> None:
    v = source("v", 3)
    last = build.part(build.along(fn, [v], -1), -1, expr(2))
    assert at_zero(last, v, v=np.array([1.0, 1.0, 1.0])).tolist() == [0.25, 0.25, 0.5]


def test_a_running_log_of_sums_has_a_gradient_beside_minus_infinity() -> None:
    v = source("v", 3)
    last = build.part(build.along("logsumexp", [v], -1), -1, expr(2))
    assert at_zero(last, v, v=np.array([-np.inf, 0.0, 0.0])).tolist() == [0, 0.5, 0.5]


def test_the_order_of_values_has_no_gradient() -> None:
    v = source("v", 3)
    order = build.map_node("cast", [build.along("argsort", [v], -1)], "float64")
    assert at_zero(total(order), v, v=np.arange(3.0)).tolist() == [0, 0, 0]


def test_gradient_of_values_in_order() -> None:
    v = source("v", 5)
    ordered = build.gather(v, build.along("argsort", [v], -1), -1)
    found = check(weighed(ordered), [v])
    kinds = {str(node.op) for node in Pdg((("g", found.nodes[0]),), {}).nodes()}
    assert str(Along("scatter", -1, expr(5))) in kinds


def kinds(nodes: tuple[Node, ...]) -> set[type[object]]:
    return {type(node.op) for node in Pdg((("g", nodes[0]),), {}).nodes()}


@pytest.mark.parametrize("over", [(T,), (B, T)])
def test_rows_that_steps_read_from_a_table_are_added_at_their_positions(
    over: tuple[Dim, ...],
) -> None:
    table, step = source("table", 20, 3), source("i", over=over)
    row = build.map_node("cast", [f("abs", mul(step, number(9)))], "int32")
    picked = build.gather(table, build.reshape(row, (expr(1), expr(1))), -2)
    found = check(weighed(mul(picked, source("w", over=(B,)))), [table])
    assert Along in kinds(found.nodes)


def test_steps_that_are_not_summed_add_nothing() -> None:
    table, row = source("table", 20), build.map_node("cast", [source("i", over=(T,))], "int32")
    picked = build.gather(table, build.reshape(row, (expr(1),)), -1)
    later = window(picked, 1, n - 1)
    found = check(total(f("sin", later)), [table], extents={"B": 1, "T": 4})
    assert Along in kinds(found.nodes)


def test_a_table_of_few_rows_is_compared_whole() -> None:
    table, row = source("table", 16), build.map_node("cast", [source("i", over=(T,))], "int32")
    picked = build.gather(table, build.reshape(row, (expr(1),)), -1)
    assert Along not in kinds(check(weighed(picked), [table]).nodes)


def test_the_reverse_of_a_flip_is_a_flip() -> None:
    found = check(weighed(flip(x, -2)), [x])
    kinds = [node.op for node in Pdg((("g", found.nodes[0]),), {}).nodes()]
    assert not any(isinstance(op, Along) for op in kinds)


def test_one_position_from_the_end_in_each_row_is_no_flip() -> None:
    square, size = source("s", 3, 3), expr(3)
    backwards = build.map_node("sub", [build.affine(2), build.iota(size)])
    index = build.reshape(backwards, (size, expr(1)))
    picked = build.gather(square, index, -1)
    assert not is_flip(picked) and is_flip(flip(square, -1))
    check(weighed(picked), [square])


def test_a_thin_adjoint_is_repeated_along_the_axis() -> None:
    v = source("v", 3)
    assert at_zero(total(build.along("sum", [v], -1)), v, v=np.ones(3)).tolist() == [3, 2, 1]
