"""The interpreter gives what the definitions say, for every operator and every kind of read."""

import numpy as np
import pytest

from ostinato.pdg import build, philox
from ostinato.pdg.condition import ALWAYS, at_least, equal
from ostinato.pdg.errors import ArgumentError, CoverageError, CycleError, DomainError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Expr, ExprLike, Point, Slice, evaluate, expr, maximum, minimum
from ostinato.pdg.interpret import Interpreter, interpret, junk
from ostinato.pdg.node import Equation, Node, Random
from tests.pdg.programs import (
    B,
    T,
    add,
    mul,
    n,
    program,
    running_sum,
    scalar,
    series,
    shifted,
    t,
    window,
)

STEPS = 7
R = np.linspace(-1, 2, STEPS).astype("float32")


def value(node: Node, **inputs: Array) -> Array:
    return interpret(program(y=node), {"B": 2, "T": STEPS}, {"r": R, **inputs})["y"]


def total(x: Node) -> Node:
    return build.reduce_node("sum", x, [-1])


def test_a_recurrence_runs_step_by_step() -> None:
    s, equation = running_sum()
    init = np.array([10, 20], "float32")
    out = interpret(program(equation, s=s), {"B": 2, "T": STEPS}, {"r": R, "init": init})["s"]
    steps = np.cumsum(np.concatenate([[0], R[1:]]))
    np.testing.assert_allclose(out, init[:, None] + steps, rtol=1e-6)
    assert out.dtype == np.float32


@pytest.mark.parametrize(
    "at",
    [t, n - 1 - t, t // 2, t % 3, minimum(t + 2, n - 1), maximum(t - 2, 0), expr(3)],
    ids=str,
)
def test_a_read_is_the_value_at_the_other_point(at: Expr) -> None:
    from ostinato.pdg.index import evaluate

    points = [evaluate(at, {T: k, T.symbol: STEPS}) for k in range(STEPS)]
    expected = R[points] if at != expr(3) else R[3]
    np.testing.assert_array_equal(value(build.read(series(), [(T, at)])), expected)


def test_prefix_suffix_and_window_sums_are_sums_of_slices() -> None:
    spans = {"prefix": (expr(0), t + 1), "suffix": (t, n), "window": (maximum(t - 3, 0), t + 1)}
    sums = {name: total(window(series(), *span)) for name, span in spans.items()}
    out = interpret(program(**sums), {"T": STEPS}, {"r": R})
    np.testing.assert_allclose(out["prefix"], np.cumsum(R), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out["suffix"], np.cumsum(R[::-1])[::-1], rtol=1e-5)
    expected = [R[max(k - 3, 0) : k + 1].sum() for k in range(STEPS)]
    np.testing.assert_allclose(out["window"], expected, rtol=1e-5, atol=1e-6)


def test_a_slice_prepends_axes_and_repeats_what_does_not_depend_on_it() -> None:
    s, equation = running_sum()
    whole = build.read(s, [(B, Slice(expr(0), expr(2))), (T, Slice(expr(0), n, 2))])
    repeated = build.read(series(), [(B, Slice(expr(0), expr(3)))])
    inputs = {"r": R, "init": np.array([1, 2], "float32")}
    out = interpret(program(equation, s=s, y=whole, z=repeated), {"B": 2, "T": STEPS}, inputs)
    np.testing.assert_array_equal(out["y"], out["s"][:, ::2])
    np.testing.assert_array_equal(out["z"], np.stack([R] * 3, axis=1))


def test_an_empty_slice_sums_to_zero() -> None:
    np.testing.assert_array_equal(value(total(window(series(), t, t))), np.zeros(STEPS))


def test_an_output_whose_shape_depends_on_the_point_is_padded_with_zeros() -> None:
    out = value(window(series(), t, n))
    assert out.shape == (STEPS, STEPS)
    np.testing.assert_array_equal(out[2], [*R[2:], 0, 0])


def test_a_case_evaluates_only_the_branch_it_takes() -> None:
    out = value(build.case(at_least(T, 1), shifted(series(), -1), scalar(5.0)))
    np.testing.assert_array_equal(out, [5, *R[:-1]])


@pytest.mark.parametrize("fn", ["sum", "max", "min", "prod"])
def test_a_scan_folds_up_to_the_point_and_is_the_unit_before(fn: str) -> None:
    scan = build.scan(fn, series(), T)
    fold = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}[fn]
    np.testing.assert_allclose(value(scan), fold.accumulate(R), rtol=1e-6)
    unit = {"sum": 0, "max": -np.inf, "min": np.inf, "prod": 1}[fn]
    assert value(shifted(scan, -1))[0] == unit


@pytest.mark.parametrize("fn", ["sum", "max", "min", "prod"])
def test_a_scan_in_reverse_folds_from_the_point_on_and_is_the_unit_behind(fn: str) -> None:
    scan = build.scan(fn, series(), T, reverse=True)
    fold = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}[fn]
    np.testing.assert_allclose(value(scan), fold.accumulate(R[::-1])[::-1], rtol=1e-6)
    unit = {"sum": 0, "max": -np.inf, "min": np.inf, "prod": 1}[fn]
    assert value(shifted(scan, 1))[STEPS - 1] == unit


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_of_truth_values_knows_whether_any_and_whether_all_hold(reverse: bool) -> None:
    holds = build.map_node("gt", [series(), scalar(float(np.median(R)))])
    order = slice(None, None, -1 if reverse else 1)
    for fn, fold in (("any", np.logical_or), ("all", np.logical_and)):
        expected = fold.accumulate((np.median(R) < R)[order])[order]
        np.testing.assert_array_equal(value(build.scan(fn, holds, T, reverse)), expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_linear_recurrence_discounts_and_is_zero_outside_the_box(reverse: bool) -> None:
    y = build.linear(scalar(0.5), series(), T, reverse)
    expected, carry = np.zeros(STEPS), 0.0
    for k in reversed(range(STEPS)) if reverse else range(STEPS):
        expected[k] = carry = float(R[k]) + 0.5 * carry
    np.testing.assert_allclose(value(y), expected, rtol=1e-6)
    assert value(shifted(y, 1 if reverse else -1))[STEPS - 1 if reverse else 0] == 0


def test_a_recurrence_of_twenty_thousand_steps_needs_no_stack() -> None:
    y = build.rec("y", (), "float32", (T,))
    cases = ((equal(t, 0), scalar(1.0)), (ALWAYS, mul(scalar(0.999), shifted(y, -1))))
    last = build.read(y, [(T, n - 1)])
    out = interpret(program(Equation(y, cases), last=last), {"T": 20_000}, {}, exact=True)
    np.testing.assert_allclose(out["last"], 0.999**19_999, rtol=1e-9)


def test_a_long_suffix_sum_is_read_from_the_known_history() -> None:
    size = 3000
    out = interpret(
        program(y=total(window(series(), t, n))), {"T": size}, {"r": np.ones(size, "f4")}
    )
    np.testing.assert_array_equal(out["y"], np.arange(size, 0, -1))


def test_draws_are_keyed_by_seed_stream_and_point() -> None:
    draw = build.random_node(Random("uniform", 3), (expr(4),), "float32", (B, T))
    out = interpret(program(u=draw), {"B": 2, "T": 3}, {}, seed=11)["u"]
    np.testing.assert_array_equal(out[1, 2], philox.draw_uniform(11, 3, (1, 2), (4,), "float32"))


def test_exact_evaluation_computes_in_float64_from_the_same_draws() -> None:
    draw = build.random_node(Random("normal", 0), (), "float32", (T,))
    graph = program(y=build.map_node("exp", (draw,)), u=draw)
    exact = interpret(graph, {"T": 4}, {}, exact=True)
    assert exact["y"].dtype == np.float64
    np.testing.assert_array_equal(exact["u"], interpret(graph, {"T": 4}, {})["u"])
    np.testing.assert_array_equal(exact["y"], np.exp(exact["u"]))


def test_values_outside_the_box_come_from_the_extension_only_if_there_is_one() -> None:
    y = shifted(series(), -1, "train.py:6")
    with pytest.raises(DomainError, match="`r` is read at t = -1, outside its domain 0 <= t < T"):
        interpret(program(y=y), {"T": 2}, {"r": R[:2]})
    a, b = (
        Interpreter(program(y=y), {"T": 2}, {"r": R[:2]}, extension=junk(salt)).everywhere(y)
        for salt in (1, 2)
    )
    assert a[0] != b[0] and a[1] == b[1] == R[0]


def test_a_free_recurrence_takes_its_values_from_the_extension() -> None:
    y = build.rec("y", (), "float32", (T,))
    run = Interpreter(program(y=add(y, y)), {"T": 2}, {}, extension=junk(7))
    assert run.everywhere(add(y, y))[1] == 2 * junk(7)("y", (1,), (), "float32")


def test_a_value_that_needs_itself_is_a_cycle_in_the_users_names() -> None:
    x, y = (build.rec(name, (), "float32", (T,), f"train.py:{k}") for k, name in enumerate("xy"))
    first = Equation(x, ((ALWAYS, add(y, scalar(1.0))),))
    second = Equation(y, ((ALWAYS, mul(x, scalar(2.0))),))
    with pytest.raises(CycleError) as caught:
        interpret(program(first, second, x=x), {"T": 2}, {})
    chain = "`x` at t = 0 (train.py:0) needs `y` at t = 0 (train.py:1), which needs `x` at t = 0"
    assert chain in str(caught.value)


def test_an_uncovered_point_is_reported_when_it_is_reached() -> None:
    y = build.rec("y", (), "float32", (T,))
    equation = Equation(y, ((at_least(t, 1), scalar(1.0)),))
    with pytest.raises(CoverageError, match="no equation of `y` covers the point t = 0"):
        interpret(program(equation, y=y), {"T": 2}, {})


def test_missing_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="the extent `T` is missing"):
        interpret(program(y=series()), {}, {"r": R})
    with pytest.raises(ArgumentError, match="input `r` is missing"):
        interpret(program(y=series()), {"T": 2}, {})


def test_an_index_outside_an_axis_is_no_wrap_around() -> None:
    x = build.input_node("x", (n,), "float32", ())
    with pytest.raises(DomainError, match="index t-1 of axis -1 of `x` leaves its size 3"):
        interpret(program(y=build.part(x, -1, t - 1)), {"T": 3}, {"x": R[:3]})


def test_what_extents_decide_is_evaluated_once_for_all_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, found = list[int](), list[object]()

    def counted(value: ExprLike, point: Point) -> int:
        found.append(value)
        return evaluate(value, point)

    monkeypatch.setattr("ostinato.pdg.interpret.evaluate", counted)
    for steps in (7, 70):
        found.clear()
        r = np.ones(steps, "float32")
        interpret(program(y=mul(series(), series())), {"T": steps}, {"r": r})
        counts.append(len(found))
    assert counts[0] == counts[1] > 0


def test_a_ragged_value_has_the_shape_of_its_own_point() -> None:
    past = build.read(series(), [(T, Slice(expr(0), t + 1))])
    run = Interpreter(program(y=past), {"T": 4}, {"r": R[:4]})
    assert [run.value(past, (k,)).shape for k in (3, 0, 2)] == [(4,), (1,), (3,)]
