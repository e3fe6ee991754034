"""Nests of maps and folds against NumPy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as Directory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.ir.system import Axis, Call, Choice, Literal_, Position, Statement
from ostinato.codegen.ir.tree import Fill, Nest
from ostinato.codegen.memory.storage import Slot
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, at_least, equal, negation
from ostinato.pdg.functions import FOLDS
from ostinato.pdg.index import Dim, expr, floordiv
from ostinato.pdg.node import Dtype
from tests.codegen.emit.plans import axis, backwards, given, kept, load, loop, mapped, serial, whole
from tests.codegen.emit.run import run

T, B = Dim("t"), Dim("b")
F: Dtype = "float32"
RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> npt.NDArray[Any]:
    return RANDOM.standard_normal(shape).astype(F)


def test_a_map_runs_over_dims_and_axes(tmp_path: Directory) -> None:
    j = axis("j", 8)
    x = given("x", (T,), (j,))
    y = mapped("y", (T,), (j,), Call("tanh", (load(x, (T,), j.index),), F))
    plan = whole([x, y], [kept(x), kept(y)], ["y"], [serial("k", loop(T, Nest(("y",), (j,))))])
    given_x = normal(5, 8)
    out = run(plan, tmp_path, {"T": 5}, {"x": given_x})
    np.testing.assert_allclose(out["y"], np.tanh(given_x), rtol=1e-6)


def running_sum(is_circular: bool) -> Plan:
    """``s[0] = x[0]; s[t] = s[t - 1] + x[t]``, read by ``y[t] = s[t]``."""
    x = given("x", (T,), ())
    s = mapped("s", (T,), (), load(x, (T,)))
    first, later = equal(T, 0), at_least(T, 1)
    total = Call("add", (load(s, (expr(T) - 1,)), load(x, (T,))), F)
    s = Statement("s", "map", (T,), (), ((first, load(x, (T,))), (later, total)), "float32")
    y = mapped("y", (T,), (), load(s, (T,)))
    nests = (Nest(("s",), (), (first, later)), Nest(("y",), ()))
    slot = Slot(T, "circular", expr(2)) if is_circular else Slot(T, "full", expr(T.extent))
    places = [kept(x), kept(s, t=slot), kept(y)]
    return whole([x, s, y], places, ["y"], [serial("k", loop(T, *nests))])


@pytest.mark.parametrize("is_circular", [False, True])
def test_a_recurrence_selects_its_case_by_the_point(tmp_path: Directory, is_circular: bool) -> None:
    x = normal(9)
    out = run(running_sum(is_circular), tmp_path, {"T": 9}, {"x": x})
    np.testing.assert_allclose(out["y"], np.cumsum(x), rtol=1e-5)


def test_a_backward_recurrence_runs_from_the_last_point(tmp_path: Directory) -> None:
    x = given("x", (T,), ())
    last = equal(T, expr(T.extent) - 1)
    g = mapped("g", (T,), (), load(x, (T,)))
    decayed = Call("mul", (Literal_(0.5, F), load(g, (expr(T) + 1,))), F)
    more = Call("add", (load(x, (T,)), decayed), F)
    clauses = ((last, load(x, (T,))), (negation(last), more))
    g = Statement("g", "map", (T,), (), clauses, "float32")
    nest = Nest(("g",), (), (last, negation(last)))
    plan = whole([x, g], [kept(x), kept(g)], ["g"], [serial("k", backwards(T, nest))])
    given_x = normal(6)
    expected = [sum(0.5**k * given_x[t + k] for k in range(6 - t)) for t in range(6)]
    out = run(plan, tmp_path, {"T": 6}, {"x": given_x})
    np.testing.assert_allclose(out["g"], expected, rtol=1e-5)


def folded(fn: str, axes: tuple[Axis, ...], loops: tuple[Axis, ...], dtype: Dtype) -> Plan:
    """A fold of ``x`` over its last axis, inside a nest over ``loops``."""
    x = given("x", (), axes, dtype)
    value = load(x, (), *(a.index for a in axes))
    result: Dtype = "int32" if fn.startswith("arg") else dtype
    clauses = ((ALWAYS, value),)
    reduced = frozenset((axes[-1].index,))
    y = Statement("y", "fold", (), axes, clauses, result, reduced=reduced, fold=fn)
    return whole([x, y], [kept(x), kept(y)], ["y"], [serial("k", Nest(("y",), loops))])


@pytest.mark.parametrize("fn", FOLDS)
@pytest.mark.parametrize("is_tiny", [False, True])
def test_a_fold_combines_an_axis(tmp_path: Directory, fn: str, is_tiny: bool) -> None:
    dtype: Dtype = "bool" if fn in ("any", "all") else F
    a, c = axis("a", 6), axis("c", 3 if is_tiny else 7)
    plan = folded(fn, (a, c), (a,) if is_tiny else (a, c), dtype)
    x = normal(6, c.size.as_int())
    x = x > 0.5 if dtype == "bool" else x
    out = run(plan, tmp_path, {}, {"x": x})
    np.testing.assert_allclose(out["y"], getattr(np, fn)(x, axis=1), rtol=1e-5)


def test_the_first_nan_wins_an_argmax(tmp_path: Directory) -> None:
    a, c = axis("a", 2), axis("c", 8)
    x = np.array([[0, 1, np.nan, 5, np.nan, 9, 0, 0], [-np.inf] * 8], F)
    out = run(folded("argmax", (a, c), (a, c), F), tmp_path, {}, {"x": x})
    assert out["y"].tolist() == np.argmax(x, axis=1).tolist() == [2, 0]


def test_a_fold_over_a_loop_accumulates_in_memory(tmp_path: Directory) -> None:
    j = axis("j", 8)
    x = given("x", (T,), (j,))
    clauses = ((ALWAYS, load(x, (T,), j.index)),)
    y = Statement("y", "fold", (T,), (j,), clauses, "float32", reduced=frozenset((T,)), fold="max")
    nest = Nest(("y",), (j,), memory=frozenset(("y",)))
    kernel = serial("k", Fill("y"), loop(T, nest))
    given_x = normal(5, 8)
    plan = whole([x, y], [kept(x), kept(y)], ["y"], [kernel])
    out = run(plan, tmp_path, {"T": 5}, {"x": given_x})
    np.testing.assert_array_equal(out["y"], given_x.max(0))


def test_values_of_one_nest_stay_in_variables(tmp_path: Directory) -> None:
    """Softmax over two classes: max, exponentials and sum are unrolled registers."""
    b, c = axis("r", 8), axis("c", 2)
    x = given("x", (), (b, c))
    at = (b.index, c.index)
    clauses = ((ALWAYS, load(x, (), *at)),)
    red = frozenset((c.index,))
    top = Statement("top", "fold", (), (b, c), clauses, "float32", reduced=red, fold="max")
    low = Call("sub", (load(x, (), *at), load(top, (), b.index)), F)
    e = mapped("e", (), (b, c), Call("exp", (low,), F))
    sums = ((ALWAYS, load(e, (), *at)),)
    z = Statement("z", "fold", (), (b, c), sums, "float32", reduced=red, fold="sum")
    share = Call("div", (load(e, (), *at), load(z, (), b.index)), F)
    p = mapped("p", (), (b, c), share)
    places = [kept(x), kept(top, "register"), kept(e, "register"), kept(z, "register"), kept(p)]
    kernel = serial("k", Nest(("top", "e", "z", "p"), (b,)))
    given_x = normal(8, 2)
    out = run(whole([x, top, e, z, p], places, ["p"], [kernel]), tmp_path, {}, {"x": given_x})
    expected = np.exp(given_x) / np.exp(given_x).sum(1, keepdims=True)
    np.testing.assert_allclose(out["p"], expected, rtol=1e-5)


def test_a_choice_on_an_axis_takes_its_side_only(tmp_path: Directory) -> None:
    """Concatenation: the side that is not chosen would read outside its tensor."""
    j, left, right = axis("j", 12), axis("l", 5), axis("r", 7)
    x, y = given("x", (), (left,)), given("y", (), (right,))
    other = load(y, (), expr(j.index) - 5)
    z = mapped("z", (), (j,), Choice(at_least(4, j.index), load(x, (), j.index), other, F))
    kernel = serial("k", Nest(("z",), (j,)))
    plan = whole([x, y, z], [kept(x), kept(y), kept(z)], ["z"], [kernel])
    a, b = normal(5), normal(7)
    out = run(plan, tmp_path, {}, {"x": a, "y": b})
    np.testing.assert_array_equal(out["z"], np.concatenate([a, b]))


def test_a_computed_index_is_clamped_to_its_axis(tmp_path: Directory) -> None:
    j, n = axis("j", 6), axis("n", 4)
    x, at = given("x", (), (n,)), given("at", (), (j,), "int32")
    y = mapped("y", (), (j,), load(x, (), load(at, (), j.index)))
    kernel = serial("k", Nest(("y",), (j,)))
    plan = whole([x, at, y], [kept(x), kept(at), kept(y)], ["y"], [kernel])
    values, index = normal(4), np.array([0, 3, -7, 9, 1, 2], np.int32)
    out = run(plan, tmp_path, {}, {"x": values, "at": index})
    np.testing.assert_array_equal(out["y"], values[index.clip(0, 3)])


def test_a_clamped_read_stays_inside_the_tensor(tmp_path: Directory) -> None:
    x = given("x", (T,), ())
    read = load(x, (expr(T) + 3,))
    y = mapped("y", (T,), (), replace(read, clamp="dims"))
    plan = whole([x, y], [kept(x), kept(y)], ["y"], [serial("k", loop(T, Nest(("y",), ())))])
    values = normal(5)
    out = run(plan, tmp_path, {"T": 5}, {"x": values})
    np.testing.assert_array_equal(out["y"], values[[3, 4, 4, 4, 4]])


def test_index_expressions_are_int32_values(tmp_path: Directory) -> None:
    of = floordiv(T, 2) + 10 * (expr(T) % 3) - expr(T.extent)
    y = mapped("y", (T,), (), Position(of))
    plan = whole([y], [kept(y)], ["y"], [serial("k", loop(T, Nest(("y",), ())))])
    out = run(plan, tmp_path, {"T": 7})
    assert out["y"].dtype == np.int32
    assert out["y"].tolist() == [t // 2 + 10 * (t % 3) - 7 for t in range(7)]
