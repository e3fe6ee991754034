"""The first tile of a group begins the sums that the others add to."""

from __future__ import annotations

import numpy as np

import ostinato as ot

WIDTH = 32


def descent() -> ot.Program:
    """A layer in training over rows; the gradient of its weight is a sum of groups of tiles."""
    b, i = ot.dims("b i")
    x = ot.input("x", shape=(WIDTH,), over=b)
    w = ot.recurrent("w", (WIDTH, WIDTH), over=i)
    w[0] = ot.random.normal((WIDTH, WIDTH)) * 0.1
    loss = (ot.tanh(x @ w) ** 2).sum()[:, i].mean()
    w[i + 1] = w - 0.01 * ot.grad(loss, w)
    return ot.Program(loss=loss, last=w[-1])


def test_nobody_writes_zeros_before_a_product_begins_its_sums() -> None:
    compiled = descent().compile()
    source = compiled.executable.artifact.source
    assert source.count("begun='turn'") == 1 and "+ 7) // 8) <= 0:" in source
    for rows in (1, 70, 300):  # one tile; a tile in each of three groups; two tiles in two groups
        x = np.random.default_rng(rows).normal(size=(rows, WIDTH)).astype(np.float32)
        expected, found = (run(x=x, I=3) for run in (descent().interpret, compiled))
        np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
        np.testing.assert_allclose(found["last"], expected["last"], rtol=1e-4, atol=1e-6)
