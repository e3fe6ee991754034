"""``x[...]``: positions, slices and their order."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.errors import DomainError, EquationError, ShapeError

X = np.arange(24.0).reshape(2, 3, 4)


def run(read: object, **arguments: object) -> npt.NDArray[Any]:
    return ot.Program(y=read).interpret(x=X, **arguments)["y"]


def x_over() -> tuple[ot.Tensor, ot.Dimension, ot.Dimension]:
    b, t = ot.dims("b t")
    return ot.input("x", shape=(4,), over=(b, t)), b, t


def test_a_missing_position_means_at_this_point() -> None:
    x, b, _ = x_over()
    assert np.array_equal(run(x[b]), X)


def test_a_negative_constant_counts_from_the_end() -> None:
    x, b, _ = x_over()
    assert np.array_equal(run(x[b, -1]), X[:, -1])
    assert np.array_equal(run(x[-2, 0]), X[0, 0])


def test_slices_prepend_axes_in_the_order_of_positions() -> None:
    x, b, t = x_over()
    assert np.array_equal(run(x[:, :]), X)
    assert np.array_equal(run(x[b, : t + 1].sum(0)), X.cumsum(1))
    assert np.array_equal(run(x[:, 1:3].sum(0)), X[:, 1:3].sum(0))
    assert np.array_equal(run(x[b, ::2]), X[:, ::2])


def test_another_order_than_that_of_expressions_is_refused() -> None:
    """``(x * 1)[t, b]`` would read something else than ``x[t, b]``."""
    b, t = ot.dims("b t")
    for made in (ot.recurrent, ot.input):
        with pytest.raises(EquationError, match=r"`x` is over \(t, b\)") as caught:
            made("x", over=(t, b))
        assert "over=(b, t)" in str(caught.value)


def test_the_dimensions_of_a_tensor_are_dimensions_to_be_over() -> None:
    x, b, t = x_over()
    y = ot.recurrent("y", (4,), over=x.over)
    y[b, t] = 2.0 * x
    assert np.array_equal(run(y), 2 * X)
    assert ot.random.uniform(over=x.over).over == (b.dim, t.dim)


def test_a_window_may_be_cut_at_the_start() -> None:
    x, b, t = x_over()
    expected = [[X[k, max(s - 1, 0) : s + 1].sum(0) for s in range(3)] for k in range(2)]
    assert np.array_equal(run(x[b, ot.maximum(t - 1, 0) : t + 1].sum(0)), expected)


def test_spatial_positions_come_after_temporal_ones() -> None:
    x, b, t = x_over()
    assert np.array_equal(run(x[b, t, 2]), X[:, :, 2])
    assert np.array_equal(run(x[..., -1]), X[:, :, -1])
    assert np.array_equal(run(x[b, t, 1:3]), X[:, :, 1:3])
    assert np.array_equal(run(x[..., None, :2]), X[:, :, None, :2])
    assert np.array_equal(run(x[b, :, ..., 0]), X[:, :, 0])


def test_a_spatial_axis_takes_the_point_and_integer_tensors() -> None:
    x, b, t = x_over()
    assert np.array_equal(run(x[b, t, ot.minimum(t, 3)]), X[:, [0, 1, 2], [0, 1, 2]])
    assert np.array_equal(run(x[..., ot.constant([3, 0])]), X[:, :, [3, 0]])
    assert np.array_equal(run(x[..., ot.index(t)]), X[:, [0, 1, 2], [0, 1, 2]])


def test_a_constant_slice_of_a_constant_axis_is_cut_as_in_numpy() -> None:
    x, _, _ = x_over()
    assert np.array_equal(run(x[..., :100]), X)
    assert np.array_equal(run(x[..., -2:]), X[..., -2:])


def test_at_reads_by_name() -> None:
    x, _, t = x_over()
    assert np.array_equal(run(x.at(t=t.size - 1 - t)), X[:, ::-1])
    assert np.array_equal(run(x.at(b=slice(None)).sum(0)), X.sum(0))
    with pytest.raises(DomainError, match="has no dimension `i`"):
        x.at(i=0)


def test_too_many_positions_are_refused() -> None:
    x, b, t = x_over()
    with pytest.raises(ShapeError, match="has 1 spatial axes and gets 2"):
        x[b, t, 0, 0]


def test_errors_name_the_users_line() -> None:
    x, b, t = x_over()
    with pytest.raises(ShapeError, match=r"test_indexing.py:\d+"):
        x[b, t, 7]
