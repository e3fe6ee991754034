"""Matrices whose rows become columns: by squares where they fit, and right everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.node import Dtype

SIZES = st.sampled_from((7, 8, 12, 16, 24, 40, 64))


def program(shape: tuple[int, ...], dtype: Dtype) -> ot.Program:
    """A transposed argument, a computed matrix transposed, and one only at some points."""
    b = ot.dims("b")
    x = ot.input("x", shape, dtype=dtype, over=b)
    return ot.Program(y=x.T, z=(x * 2).T, w=ot.where(b > 1, x.T, 0))


@settings(max_examples=12, deadline=None)
@given(SIZES, SIZES, st.sampled_from(("float32", "float64", "int32")), st.integers(1, 3))
def test_any_matrix_is_transposed(m: int, n: int, dtype: Dtype, threads: int) -> None:
    compiled = program((m, n), dtype).compile(threads=threads)
    x = (10 * np.random.default_rng(m + n).normal(size=(4, m, n))).astype(dtype)
    found, turned = compiled(x=x), x.transpose(0, 2, 1)
    np.testing.assert_array_equal(found["y"], turned)
    np.testing.assert_array_equal(found["z"], 2 * turned)
    np.testing.assert_array_equal(found["w"][2:], turned[2:])
    assert not found["w"][:2].any()
    is_square = m % 8 == n % 8 == 0 and dtype != "int32"
    assert (" transpose_f" in compiled.explain().source) == is_square


@pytest.mark.parametrize("size", [64, 72])
def test_workers_that_share_a_matrix_transpose_whole_squares(size: int) -> None:
    """Of 72 rows an eighth is nine, which are no squares."""
    b, i = ot.dims("b i")
    model = nn.MLP(size, [size] * 3, 1, over=i)
    x, y = ot.input("x", shape=(size,), over=b), ot.input("y", over=b)
    loss = ((model(x)[..., 0] - y) ** 2)[:, i].mean()
    model.update(optim.SGD(0.1), loss)
    learning = ot.Program(loss=loss)
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(5, size)), "y": rng.normal(size=5)}
    values = {name: value.astype(np.float32) for name, value in given.items()}
    compiled = learning.compile(threads=2)
    assert (" transpose_f32" in compiled.explain().source) == (size == 64)
    found = compiled(**values, I=3)["loss"]
    np.testing.assert_allclose(found, learning.interpret(**values, I=3)["loss"], rtol=2e-4)
