"""Products that share an operand become one where that fills vectors, and only where it may."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import ostinato as ot
from ostinato import optim
from ostinato.nn import parameter
from ostinato.nn.init import lecun_normal
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Matmul, Pdg
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import every_rule
from tests.rewrite import programs

HINTS = {"B": 1024, "T": 64, "I": 4}


def heads(*columns: int, inputs: int = 64) -> ot.Program:
    """Products of one batch of rows with several matrices."""
    b = ot.dims("b")
    x = ot.input("x", (inputs,), over=b)
    weights = (ot.input(f"w{k}", (inputs, n)) for k, n in enumerate(columns))
    return ot.Program(**{f"y{k}": x @ w for k, w in enumerate(weights)})


def trained() -> ot.Program:
    """Scores and a value of one trunk, whose matrices learn from losses of their own."""
    b, i = ot.dims("b i")
    x = ot.input("x", (64,), over=b)
    weights = [parameter(f"w{k}", (64, n), lecun_normal, over=i) for k, n in enumerate((6, 1))]
    losses = [((x @ w) ** 2).sum()[:, i].mean() for w in weights]
    optim.SGD(0.01).minimize(losses[0] + losses[1], weights)
    return ot.Program(first=losses[0], last=losses[1])


def twins(following: bool = False) -> ot.Program:
    """Two recurrences with one matrix; the second may follow from the first."""
    t = ot.dims("t")
    w, x = ot.input("w", (64, 64)), ot.input("x", (64,), over=t)
    g, h = (ot.recurrent(name, (64,), over=t) for name in "gh")
    g[0], h[0] = 0.0, 0.0
    g[t + 1] = ot.tanh(g @ w + x)
    h[t + 1] = ot.tanh(h @ w - g if following else h @ w - x)
    return ot.Program(g=g[t.size - 1], h=h[t.size - 1])


def products(pdg: Pdg, hints: Mapping[str, int] = HINTS) -> int:
    """How many products are left, in a program with the same results."""
    found = optimize(pdg, RewriteOptions(hints=hints)).pdg
    extents = {name: 3 for name in ("B", "T", "I")}
    values = programs.arguments(pdg, extents, np.random.default_rng(0))
    expected = interpret(pdg, extents, values, exact=True)
    for name, value in interpret(found, extents, values, exact=True).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-12)
    return sum(isinstance(node.op, Matmul) for node in found.nodes())


def test_heads_of_one_trunk_are_one_product() -> None:
    assert products(heads(6, 1).pdg) == 1
    assert products(heads(1, 2, 3, 4, 5).pdg) == 1


def test_as_many_products_are_joined_as_fill_a_vector() -> None:
    assert products(heads(8, 8, 8, 8).pdg) == 2


def test_products_that_fill_vectors_stay_apart() -> None:
    assert products(heads(16, 16).pdg) == 2
    loaded = load(heads(64, 64).pdg)
    assert "halves" not in loaded.rows, "no rule is declared for them"


def test_matrices_that_learn_apart_are_joined() -> None:
    hints = {**HINTS, "B": 64}
    assert products(trained().pdg, hints) < products_apart(trained().pdg, hints)


def products_apart(pdg: Pdg, hints: Mapping[str, int]) -> int:
    options = RewriteOptions(rules=every_rule().without("fuse"), hints=hints)
    return sum(isinstance(node.op, Matmul) for node in optimize(pdg, options).pdg.nodes())


def test_recurrences_with_one_matrix_are_rows_of_one_product() -> None:
    assert products(twins().pdg) == 1
    assert products(twins(following=True).pdg) == 1


def test_a_product_that_the_other_operand_waits_for_stays_apart() -> None:
    t = ot.dims("t")
    w = ot.input("w", (16, 16))
    g, r = (ot.recurrent(name, (16,), over=t) for name in "gr")
    r[t] = g @ w
    g[0] = 1.0
    g[t + 1] = ot.tanh(ot.tanh(r) @ w)
    pdg = ot.Program(r=r).pdg
    assert "halves" not in load(pdg).rows
    assert products(pdg) == 2


def test_what_is_not_asked_for_is_not_called() -> None:
    x, v, w = ot.input("x", (2, 16)), ot.input("v", (16, 6)), ot.input("w", (16, 1))
    made = ot.host(np.negative, w, shape=(16, 1))
    assert isinstance(made, ot.Tensor)
    pdg = ot.Program(y=x @ v, z=x @ made).pdg
    assert "halves" not in load(pdg).rows


def test_joins_grow_with_the_number_of_products() -> None:
    few, many = (optimize(heads(*(1,) * n, inputs=16).pdg).report.enodes for n in (5, 10))
    assert many < 2.2 * few
