"""The reverse of every operator equals central differences."""

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import Cond, at_least, equal, every, negation, some
from ostinato.pdg.functions import FLOATS, FUNCTIONS
from ostinato.pdg.grad.reverse import gradient
from ostinato.pdg.index import Expr, Slice, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Node, Pdg
from tests.pdg.gradients import (
    B,
    T,
    at,
    check,
    f,
    mul,
    n,
    number,
    shifted,
    source,
    t,
    total,
    weighed,
)

x = source("x", 3, 4, over=(T,))
row = source("row", 1, 4, over=(T,))
y, z = source("y", over=(T,)), source("z", over=(T,))
UNARY = [n for n, fn in FUNCTIONS.items() if fn.arity == 1 and fn.accepts == FLOATS or n == "neg"]
BINARY = [n for n, fn in FUNCTIONS.items() if fn.arity == 2 and fn.partials]


@pytest.mark.parametrize("fn", [n for n in UNARY if n != "isfinite"] + ["abs"])
def test_gradient_of_a_unary_function(fn: str) -> None:
    check(weighed(mul(f(fn, y), z)), [y, z], positive=True)


@pytest.mark.parametrize("fn", BINARY)
def test_gradient_of_a_binary_function(fn: str) -> None:
    check(weighed(f(fn, y, z)), [y, z], positive=True)


@pytest.mark.parametrize("fn", ["mul", "div", "maximum", "where"])
def test_broadcast_operands_collect_the_sum(fn: str) -> None:
    args = (f("gt", x, row), x, row) if fn == "where" else (x, row)
    check(weighed(f(fn, *args)), [x, row])


@pytest.mark.parametrize("power", [-1, 0, 0.5, 1, 2, 3])
def test_gradient_of_a_constant_power(power: float) -> None:
    check(weighed(f("pow", y, number(power))), [y], positive=True)


def test_square_has_gradient_zero_at_zero() -> None:
    (g,) = gradient(total(f("pow", y, number(2))), [y], {}).nodes
    zero = {"y": np.zeros(3)}
    assert interpret(Pdg((("g", g),), {}), {"T": 3}, zero)["g"].tolist() == [0, 0, 0]


def test_power_with_zero_base_has_a_finite_gradient() -> None:
    g = gradient(total(f("pow", y, z)), [y, z], {}).nodes
    outputs = Pdg(tuple(zip("gh", g, strict=True)), {})
    got = interpret(outputs, {"T": 2}, {"y": np.zeros(2), "z": np.array([0.0, 2.0])})
    assert got["g"].tolist() == [0, 0] and got["h"].tolist() == [0, 0]


@pytest.mark.parametrize("fn", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("axes", [(-1,), (-2,), (-2, -1)])
def test_gradient_of_a_reduction(fn: str, axes: tuple[int, ...]) -> None:
    check(weighed(build.reduce_node(fn, x, axes)), [x])


def test_gradient_of_a_product_with_one_zero_reaches_the_zero() -> None:
    v = source("v", 3)
    (g,) = gradient(total(build.reduce_node("prod", v, [-1])), [v], {}).nodes
    got = interpret(Pdg((("g", g),), {}), {}, {"v": np.array([2.0, 0.0, 3.0])})
    assert got["g"].tolist() == [0, 6, 0]


def test_ties_of_a_maximum_share_the_gradient() -> None:
    v = source("v", 4)
    (g,) = gradient(build.reduce_node("max", v, [-1]), [v], {}).nodes
    got = interpret(Pdg((("g", g),), {}), {}, {"v": np.array([1.0, 5.0, 5.0, 2.0])})
    assert got["g"].tolist() == [0, 0.5, 0.5, 0]


@pytest.mark.parametrize(
    "view",
    [
        build.reshape(x, (expr(4), expr(3))),
        build.reshape(x, (expr(2), expr(2)), 1),
        build.reshape(x, (expr(3), expr(1), expr(4))),
        build.transpose(x, (-1, -2)),
        build.transpose(build.reshape(x, (expr(3), expr(2), expr(2))), (-2, -1, -3)),
        build.broadcast(row, (expr(3), expr(4))),
        build.concat([x, row, f("exp", x)], -2),
        build.part(x, -1, expr(2)),
        build.part(x, -2, expr(0)),
        build.part(x, -1, Slice(expr(1), expr(3))),
        build.part(x, -1, Slice(expr(1), expr(4), 2)),
    ],
    ids=str,
)
def test_gradient_of_a_view(view: Node) -> None:
    used = [v for v in (x, row) if v in Pdg((("v", view),), {}).nodes()]
    check(weighed(view), used)


@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (3, 1)])
def test_gradient_of_a_gather_adds_up_what_is_taken_twice(shape: tuple[int, ...]) -> None:
    index = build.map_node("cast", [mul(source("i", *shape, over=(B,)), number(2))], "int32")
    check(weighed(build.gather(x, index, -1)), [x])


def test_gradient_of_a_gather_by_argmax_needs_no_clamp() -> None:
    best = build.reshape(build.reduce_node("argmax", x, [-1]), (expr(3), expr(1)))
    found = check(weighed(build.gather(x, best, -1)), [x])
    names = {str(node.op) for node in Pdg((("g", found.nodes[0]),), {}).nodes()}
    assert "Map(fn='minimum')" not in names


@pytest.mark.parametrize("lead", [(), (1,), (2,)])
def test_gradient_of_a_matrix_product(lead: tuple[int, ...]) -> None:
    left, right = source("l", 2, 3, 4, over=(T,)), source("r", *lead, 4, 5, over=(B,))
    check(weighed(build.matmul(left, right)), [left, right])


@pytest.mark.parametrize(
    "cond",
    [
        equal(T, 0),
        negation(equal(T, n - 1)),
        equal(t % 2, 0),
        some(equal(T, 1), at_least(T, 3)),
        negation(every(at_least(T, 1), at_least(2, T))),
    ],
    ids=str,
)
def test_a_case_routes_the_gradient(cond: Cond) -> None:
    weight = source("w")
    chosen = build.case(cond, mul(weight, y), at(y, expr(0)))
    check(weighed(chosen), [y, weight])


def test_a_read_outside_the_box_is_not_demanded_where_its_case_is_not_taken() -> None:
    weight = source("w")
    chosen = build.case(at_least(T, 1), mul(weight, shifted(y, -1)), y)
    check(weighed(chosen), [y, weight])


@pytest.mark.parametrize("index", [t, n - 1 - t, t // 2])
def test_gradient_of_one_row_per_step(index: Expr) -> None:
    table = build.input_node("table", (n, expr(2)), "float64", ())
    check(weighed(build.part(table, -2, index)), [table])


@pytest.mark.parametrize("fn", ["stop_gradient", "floor", "ceil", "round", "sign"])
def test_a_step_function_stops_the_gradient(fn: str) -> None:
    (g,) = gradient(total(mul(f(fn, y), z)), [y], {}).nodes
    assert interpret(Pdg((("g", g),), {}), {}, {})["g"] == 0


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("gain", [source("g", over=(T,)), source("g"), source("g", over=(B, T))])
def test_gradient_of_a_linear_recurrence(gain: Node, reverse: bool) -> None:
    check(weighed(build.linear(gain, y, T, reverse)), [gain, y])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("summand", [y, mul(y, source("w", over=(B,))), source("w")])
def test_gradient_of_a_running_sum(summand: Node, reverse: bool) -> None:
    used = [v for v in Pdg((("v", summand),), {}).nodes() if not v.args]
    check(weighed(build.scan("sum", summand, T, reverse)), used)
