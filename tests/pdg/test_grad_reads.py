"""The reverse of every form of dependence equals central differences."""

import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import at_least
from ostinato.pdg.grad.reverse import gradient
from ostinato.pdg.index import Expr, Slice, expr, maximum, minimum
from ostinato.pdg.node import Node, Pdg, Read, Reduce
from tests.pdg.gradients import (
    B,
    T,
    at,
    b,
    check,
    f,
    mul,
    n,
    number,
    rows,
    source,
    t,
    total,
    weighed,
    window,
)

y, z = source("y", over=(T,)), source("z", over=(T,))
POINTS = [
    t, maximum(t - 1, 0), maximum(t - 3, 0), minimum(t + 2, n - 1), n - 1 - t, expr(0), n - 1,
    t // 2, (t + 1) // 2, t % 3, (t * 3) % 4, minimum(t * 2, n - 1), t // 2 + t % 2,
    maximum(minimum(t - 1, n - 3), 1), minimum(t, n - 1 - t),
]  # fmt: skip
SLICES = [
    Slice(expr(0), n), Slice(expr(0), t + 1), Slice(t, n), Slice(maximum(t - 2, 0), t + 1),
    Slice(t, minimum(t + 3, n)), Slice(t, n, 2), Slice(expr(0), t + 1, 2), Slice(expr(0), n, 3),
    Slice(expr(1), n - 1), Slice(n - 1 - t, n), Slice(t // 2, t + 1),
    Slice(minimum(t + 1, n - 1), n), Slice(t // 2 * 2, minimum(t // 2 * 2 + 2, n)),
]  # fmt: skip


@pytest.mark.parametrize("index", POINTS, ids=str)
def test_gradient_through_a_point_read(index: Expr) -> None:
    check(weighed(mul(mul(y, at(y, index)), z)), [y, z])


@pytest.mark.parametrize("steps", SLICES, ids=str)
def test_gradient_of_a_sum_over_a_slice(steps: Slice) -> None:
    check(weighed(build.reduce_node("sum", at(y, steps), [-1])), [y])


@pytest.mark.parametrize("steps", SLICES, ids=str)
def test_gradient_of_a_discounted_sum_over_a_slice(steps: Slice) -> None:
    x = at(y, steps)
    exponent = build.map_node("cast", [build.iota(x.shape[-1])], "float64")
    discounted = mul(f("pow", number(0.9), exponent), f("exp", x))
    check(weighed(build.reduce_node("sum", discounted, [-1])), [y])


@pytest.mark.parametrize("steps", SLICES, ids=str)
def test_gradient_of_a_softmax_over_a_slice(steps: Slice) -> None:
    x = at(y, steps)
    e = f("exp", x)
    share = f("div", e, build.reshape(build.reduce_node("sum", e, [-1]), (expr(1),)))
    check(weighed(build.reduce_node("sum", mul(share, x), [-1])), [y])


def test_gradient_of_attention_over_the_past() -> None:
    q, k, v = (source(name, 2, over=(T,)) for name in "qkv")
    keys, values = window(k, 0, t + 1), window(v, 0, t + 1)
    score = build.matmul(keys, build.reshape(q, (expr(2), expr(1))))
    e = f("exp", build.reshape(score, (expr(1), t + 1)))
    share = f("div", e, build.reshape(build.reduce_node("sum", e, [-1]), (expr(1), expr(1))))
    check(weighed(build.matmul(share, values)), [q, k, v], extents={"T": 4})


def test_gradient_of_a_convolution_sums_along_the_diagonal() -> None:
    w = source("w", over=(B,))
    reached = build.case(at_least(n - 1, t + b), mul(at(y, t + b), w), number(0))
    check(weighed(reached), [y, w])


def test_gradient_of_a_read_over_two_dimensions() -> None:
    x = source("x", over=(B, T))
    both = build.read(x, [(B, Slice(b, rows)), (T, Slice(expr(0), t + 1))])
    check(weighed(build.reduce_node("sum", both, [-2, -1])), [x], extents={"B": 3, "T": 4})


def test_gradient_of_a_read_that_swaps_two_dimensions() -> None:
    x = source("x", over=(B, T))
    swapped = build.read(x, [(T, b), (B, Slice(expr(0), minimum(t + 1, rows)))])
    check(weighed(build.reduce_node("sum", swapped, [-1])), [x])


@pytest.mark.parametrize("extent", [1, 2, 3])
@pytest.mark.parametrize("index", POINTS[:6], ids=str)
def test_gradient_through_a_point_read_of_few_steps(index: Expr, extent: int) -> None:
    check(weighed(mul(y, at(y, index))), [y], extents={"T": extent})


def test_reverse_of_a_prefix_sum_is_a_suffix_sum() -> None:
    prefix = build.reduce_node("sum", window(y, 0, t + 1), [-1])
    (g,) = gradient(total(mul(prefix, z)), [y], {}).nodes
    assert g == build.reduce_node("sum", window(z, t, n), [-1])


def test_reverse_of_an_earlier_step_is_a_later_step() -> None:
    (g,) = gradient(total(mul(at(y, n - 1 - t), z)), [y], {}).nodes
    assert g == at(z, n - 1 - t)


def test_reverse_of_a_vectorised_function_is_for_one_point() -> None:
    wide = window(y, 0, n)
    (g,) = gradient(build.reduce_node("sum", f("exp", wide), [-1]), [y], {}).nodes
    assert g == f("exp", y)


def test_weight_gradient_is_one_sum_of_outer_products() -> None:
    w, x = source("w", 3, 2), source("x", 1, 3, over=(B, T))
    (g,) = gradient(weighed(build.matmul(x, w)), [w], {}).nodes
    assert isinstance(g.op, Reduce) and isinstance(g.args[0].op, Read)
    assert g.args[0].shape == (rows, n, expr(3), expr(2))


@pytest.mark.parametrize("use", [y, mul(y, y)])
def test_mean_over_time_of_a_timeless_parameter_has_the_right_scale(use: Node) -> None:
    w = source("w")
    steps = build.map_node("cast", [build.affine(n)], "float64")
    mean = f("div", total(mul(f("tanh", w), use)), steps)
    check(mean, [w, y])


def test_a_value_without_the_dimension_counts_once_per_step() -> None:
    w = source("w")
    repeated = build.read(f("tanh", w), [(T, Slice(expr(0), n))])
    found = check(build.reduce_node("sum", repeated, [-1]), [w])
    assert not any(isinstance(node.op, Read) for node in Pdg((("g", found.nodes[0]),), {}).nodes())
