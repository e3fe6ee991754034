"""Products with epilogues against NumPy."""

from __future__ import annotations

from pathlib import Path as Directory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.ir.system import Axis, Call, Literal_, Load, Statement
from ostinato.codegen.ir.tree import Contraction, Fill
from ostinato.codegen.planning.plan import Plan
from ostinato.machine.cost_model import Form
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.node import Dtype
from tests.codegen.emit.plans import axis, given, kept, load, loop, mapped, serial, whole
from tests.codegen.emit.run import run

T = Dim("t")
F: Dtype = "float32"
RANDOM = np.random.default_rng(1)


def normal(*shape: int) -> npt.NDArray[Any]:
    return RANDOM.standard_normal(shape).astype(F)


def matmul(
    name: str, dims: tuple[Dim, ...], axes: tuple[Axis, ...], a: Load, b: Load, k: Axis, *more: Dim
) -> Statement:
    over = frozenset((k.index, *more))
    value = ((ALWAYS, Call("mul", (a, b), F)),)
    return Statement(name, "matmul", dims, (*axes, k), value, F, reduced=over, fold="sum")


def layer(m: Axis, is_kept: bool) -> Plan:
    """``h[t] = tanh(x[t] @ w + bias)``; the product itself may have no memory."""
    n, k = axis("n", 24), axis("k", 5)
    x, w = given("x", (T,), (m, k)), given("w", (), (k, n))
    bias = given("bias", (), (n,))
    left, right = load(x, (T,), m.index, k.index), load(w, (), k.index, n.index)
    z = matmul("z", (T,), (m, n), left, right, k)
    total = Call("add", (load(z, (T,), m.index, n.index), load(bias, (), n.index)), F)
    h = mapped("h", (T,), (m, n), Call("tanh", (total,), F))
    places = [kept(x), kept(w), kept(bias), kept(z, "global" if is_kept else "register"), kept(h)]
    leaf = Contraction("z", m, n, k, (), "broadcast", False, ("h",))
    outputs = ["h", "z"] if is_kept else ["h"]
    return whole([x, w, bias, z, h], places, outputs, [serial("k", loop(T, leaf))])


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("rows", [7, "B"])
def test_a_layer_is_one_product(tmp_path: Directory, rows: int | str, is_kept: bool) -> None:
    m = axis("m", rows if isinstance(rows, int) else Dim("b").extent)
    x, w, bias = normal(3, 7, 5), normal(5, 24), normal(24)
    extents = {"T": 3} if isinstance(rows, int) else {"T": 3, "B": 7}
    out = run(layer(m, is_kept), tmp_path, extents, {"x": x, "w": w, "bias": bias})
    np.testing.assert_allclose(out["h"], np.tanh(x @ w + bias), rtol=1e-4, atol=1e-5)
    if is_kept:
        np.testing.assert_allclose(out["z"], x @ w, rtol=1e-4, atol=1e-5)


def test_a_product_adds_to_what_is_stored(tmp_path: Directory) -> None:
    """``g = sum over t of x[t]^T y[t]``: the weight gradient."""
    m, n, k = axis("m", 6), axis("n", 16), axis("k", 4)
    x, y = given("x", (T,), (k, m)), given("y", (T,), (k, n))
    left, right = load(x, (T,), k.index, m.index), load(y, (T,), k.index, n.index)
    g = matmul("g", (T,), (m, n), left, right, k, T)
    leaf = Contraction("g", m, n, k, (), "broadcast", True)
    kernel = serial("k", Fill("g"), loop(T, leaf))
    plan = whole([x, y, g], [kept(x), kept(y), kept(g)], ["g"], [kernel])
    a, b = normal(5, 4, 6), normal(5, 4, 16)
    out = run(plan, tmp_path, {"T": 5}, {"x": a, "y": b})
    np.testing.assert_allclose(out["g"], np.einsum("tkm,tkn->mn", a, b), rtol=1e-4, atol=1e-5)


FORMS: list[tuple[Form, bool]] = [("dots", True), ("plain", True), ("broadcast", False)]


@pytest.mark.parametrize("form, is_transposed", FORMS)
def test_outer_axes_are_loops_around_the_product(
    tmp_path: Directory, form: Form, is_transposed: bool
) -> None:
    o, m, n, k = axis("o", 3), axis("m", 5), axis("n", 8), axis("k", 9)
    x = given("x", (), (o, m, k))
    y = given("y", (), (n, k) if is_transposed else (k, n))
    right = (n.index, k.index) if is_transposed else (k.index, n.index)
    z = matmul("z", (), (o, m, n), load(x, (), o.index, m.index, k.index), load(y, (), *right), k)
    leaf = Contraction("z", m, n, k, (o,), form, False)
    plan = whole([x, y, z], [kept(x), kept(y), kept(z)], ["z"], [serial("k", leaf)])
    a, b = normal(3, 5, 9), normal(9, 8)
    out = run(plan, tmp_path, {}, {"x": a, "y": b.T if is_transposed else b})
    np.testing.assert_allclose(out["z"], a @ b, rtol=1e-4, atol=1e-5)


def test_a_matrix_times_a_vector_has_no_columns(tmp_path: Directory) -> None:
    m, k = axis("m", 7), axis("k", 12)
    x, v = given("x", (), (m, k)), given("v", (), (k,))
    y = matmul("y", (), (m,), load(x, (), m.index, k.index), load(v, (), k.index), k)
    leaf = Contraction("y", m, None, k, (), "dots", False)
    plan = whole([x, v, y], [kept(x), kept(v), kept(y)], ["y"], [serial("k", leaf)])
    a, b = normal(7, 12), normal(12)
    out = run(plan, tmp_path, {}, {"x": a, "v": b})
    np.testing.assert_allclose(out["y"], a @ b, rtol=1e-4, atol=1e-5)


def test_a_history_is_read_as_the_rows_of_a_matrix(tmp_path: Directory) -> None:
    """Rows of the product are the points of a dim: ``z[r] = x[t = r] @ w``."""
    r, n, k = axis("r", T.extent), axis("n", 16), axis("k", 4)
    x, w = given("x", (T,), (k,)), given("w", (), (k, n))
    z = matmul("z", (), (r, n), load(x, (r.index,), k.index), load(w, (), k.index, n.index), k)
    value = Call("mul", (load(z, (), r.index, n.index), Literal_(2.0, F)), F)
    twice = mapped("twice", (), (r, n), value)
    leaf = Contraction("z", r, n, k, (), "broadcast", False, ("twice",))
    places = [kept(x), kept(w), kept(z, "register"), kept(twice)]
    plan = whole([x, w, z, twice], places, ["twice"], [serial("k", leaf)])
    a, b = normal(9, 4), normal(4, 16)
    out = run(plan, tmp_path, {"T": 9}, {"x": a, "w": b})
    np.testing.assert_allclose(out["twice"], 2 * (a @ b), rtol=1e-4, atol=1e-5)
    assert expr(r.size) == expr(T.extent)
