"""Initial values."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.functions import Array

init = nn.init


def drawn(initializer: init.Initializer, shape: Sequence[int] = (64, 32)) -> Array:
    return ot.Program(w=initializer(shape, ())).interpret()["w"]


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [
        (init.lecun_normal, 1 / 64),
        (init.he_normal, 2 / 64),
        (init.he_uniform, 2 / 64),
        (init.glorot_normal, 2 / 96),
        (init.glorot_uniform, 2 / 96),
        (init.fan_in_uniform, 1 / (3 * 64)),
        (init.normal(0.5), 0.25),
        (init.uniform(-1.0, 1.0), 1 / 3),
        (init.scaled(init.normal(), 0.1), 0.01),
    ],
)
def test_draws_have_the_stated_variance(initializer: init.Initializer, variance: float) -> None:
    w = drawn(initializer)
    assert math.isclose(float(w.var()), variance, rel_tol=0.1)
    assert abs(float(w.mean())) < 4 * math.sqrt(variance / w.size)


def test_a_constant_may_be_an_argument() -> None:
    w = nn.parameter("w", (2, 2), init.constant(ot.input("start", (2,))))
    assert ot.Program(w=w).interpret(start=[1.0, 2.0])["w"].tolist() == [[1, 2], [1, 2]]
    assert drawn(init.constant(0.5), (2,)).tolist() == [0.5, 0.5]
    assert drawn(init.ones, (2,)).tolist() == [1, 1]


@pytest.mark.parametrize("shape", [(8, 8), (3, 9), (9, 3), (2, 4, 3), (1, 1)])
def test_an_orthogonal_tensor_has_orthonormal_rows_or_columns(shape: tuple[int, ...]) -> None:
    w = drawn(init.orthogonal(2.0), shape).reshape(-1, shape[-1]) / 2
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=2e-6)


def test_orthogonal_draws_differ_between_points_and_in_sign() -> None:
    s, i = ot.dims("s i")
    w = nn.parameter("w", (1, 1), init.orthogonal(), over=(s, i))
    w[s, i + 1] = w
    out = ot.Program(w=w).interpret(S=20, I=1)["w"].ravel().round(5)
    assert set(out.tolist()) == {-1.0, 1.0}


def test_a_vector_has_no_orthogonal_draw() -> None:
    with pytest.raises(ShapeError, match="Give a shape of at least two axes"):
        init.orthogonal()((3,), ())
