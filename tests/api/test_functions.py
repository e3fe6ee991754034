"""Functions mean what NumPy's do."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.errors import ShapeError

A = np.array([[1.5, -2.0, 3.0], [0.25, 4.0, -1.0]], np.float32)


def value(tensor: object) -> npt.NDArray[Any]:
    return ot.Program(y=tensor).interpret()["y"]


def same(tensor: ot.Tensor, expected: Any) -> None:
    found = value(tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    "exp log1p expm1 sqrt square sin cos tan tanh abs sign floor ceil round isfinite".split(),
)
def test_unary_functions_mean_what_numpys_do(name: str) -> None:
    x = np.abs(A) if name in ("sqrt", "log1p") else A
    same(getattr(ot, name)(ot.constant(x)), getattr(np, name)(x))


def test_activations() -> None:
    same(ot.sigmoid(ot.constant(A)), 1 / (1 + np.exp(-A)))
    same(ot.relu(ot.constant(A)), np.maximum(A, 0))
    same(ot.silu(ot.constant(A)), A / (1 + np.exp(-A)))
    same(ot.softplus(ot.constant(100 * A)), np.logaddexp(100 * A, 0))
    cubic = np.sqrt(2 / np.pi) * (A + 0.044715 * A**3)
    same(ot.gelu(ot.constant(A)), 0.5 * A * (1 + np.tanh(cubic)))


def test_a_clipped_value_lies_between_its_bounds() -> None:
    same(ot.clip(ot.constant(A), -1.5, ot.constant(2.0)), np.clip(A, -1.5, 2.0))


def test_relu_has_no_slope_at_zero_and_keeps_nan() -> None:
    x = ot.constant([0.0, -1.0, 2.0])
    same(ot.grad(ot.relu(x).sum(), x), [0.0, 0.0, 1.0])
    same(ot.relu(ot.constant([np.nan])), [np.nan])


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", "sum mean max min prod var std".split())
def test_reductions(name: str, axis: int | None, keepdims: bool) -> None:
    found = getattr(ot.constant(A), name)(axis, keepdims)
    same(found, getattr(A, name)(axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_positions_of_extremes(axis: int | None) -> None:
    same(ot.constant(A).argmax(axis), np.argmax(A, axis))
    same(ot.constant(A).argmin(axis), np.argmin(A, axis))


def test_booleans_are_counted() -> None:
    same((ot.constant(A) > 0).sum(), 4)
    same((ot.constant(A) > 0).mean(0), (A > 0).mean(0))
    same((ot.constant(A) > 0).any(1), (A > 0).any(1))
    same((ot.constant(A) > 0).all(), False)


def test_softmax_is_stable() -> None:
    x = np.array([1000.0, 999.0, -1000.0], np.float32)
    p = np.exp(x - 1000) / np.exp(x - 1000).sum()
    same(ot.softmax(ot.constant(x)), p)
    same(ot.log_softmax(ot.constant(x))[:2], np.log(p[:2]))
    same(ot.logsumexp(ot.constant(x)), 1000 + np.log1p(np.exp(-1.0)))


def test_logsumexp_of_nothing_is_minus_infinity() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    found = ot.Program(y=ot.logsumexp(x[:t])).interpret(x=[0.0, 0.0, 0.0])["y"]
    np.testing.assert_allclose(found, [-np.inf, 0, np.log(2)], rtol=1e-6)


def test_movement() -> None:
    x = ot.constant(A)
    same(x.reshape(3, -1), A.reshape(3, -1))
    same(x.T, A.T)
    same(ot.transpose(x[:, None], (2, 0, 1)), A[:, None].transpose(2, 0, 1))
    same(ot.swapaxes(x, 0, 1), A.swapaxes(0, 1))
    same(ot.squeeze(x[None], 0), A)
    same(ot.broadcast_to(x, (2, 2, 3)), np.broadcast_to(A, (2, 2, 3)))
    same(ot.flip(x, 1), A[:, ::-1])
    same(ot.concatenate([x, x[:1] * 2]), np.concatenate([A, A[:1] * 2]))
    same(ot.stack([x, x + 1], -1), np.stack([A, A + 1], -1))


def test_reshape_by_extents() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", shape=(2,), over=(b, t))
    flat = ot.Program(y=x[:, :].reshape(-1, 2)).interpret(x=np.arange(12.0).reshape(2, 3, 2))
    assert flat["y"].shape == (6, 2)
    with pytest.raises(ShapeError, match="number of elements"):
        x.reshape(3)


def test_taking() -> None:
    x = ot.constant(A)
    same(ot.take(x, [2, 0], 1), np.take(A, [2, 0], 1))
    same(x.take(ot.constant([[1, 0], [0, 0]]), 0), A[[[1, 0], [0, 0]]])
    same(ot.take_along_axis(x, [[2], [0]], 1), np.take_along_axis(A, np.array([[2], [0]]), 1))
    same(ot.one_hot(ot.constant([2, 0]), 3), np.eye(3)[[2, 0]])
    assert len(ot.unstack(x, 1)) == 3


@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_sums(axis: int) -> None:
    same(ot.cumsum(ot.constant(A), axis), A.cumsum(axis))


def test_a_discounted_sum_starts_at_power_zero() -> None:
    same(ot.discounted_sum(ot.constant([[1.0], [2.0], [4.0]]), 0.5), [3.0])
    same(ot.discounted_sum(ot.constant([1.0, 2.0]), ot.constant(0.0)), 1.0)


def test_a_long_discounted_sum_stays_finite() -> None:
    x = ot.ones(20000)
    same(ot.discounted_sum(x, 0.99) / 100, 1.0)


def test_where_on_a_condition_does_not_evaluate_the_other_side() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    y = ot.where(t == 0, 0.0, x[t - 1])
    assert ot.Program(y=y).interpret(x=[1.0, 2.0])["y"].tolist() == [0.0, 1.0]


def test_where_on_a_tensor_chooses_by_element() -> None:
    x = ot.constant(A)
    same(ot.where(x > 0, x, 0), np.where(A > 0, A, 0))


def test_extremes_of_several_operands() -> None:
    t = ot.dims("t")
    x = ot.constant(A)
    same(ot.maximum(x, 0, 2), np.maximum(A, 2))
    assert ot.Program(y=ot.minimum(t, 0.5)).interpret(T=2)["y"].tolist() == [0.0, 0.5]  # type: ignore[call-overload]
