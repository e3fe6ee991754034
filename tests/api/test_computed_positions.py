"""``x.at(t=index, within=(lo, hi))``: steps that are computed."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

X = np.arange(24.0).reshape(2, 3, 4)


def run(read: object, **arguments: object) -> npt.NDArray[Any]:
    return ot.Program(y=read).interpret(x=X, **arguments)["y"]


def x_over() -> tuple[ot.Tensor, ot.Dimension, ot.Dimension]:
    b, t = ot.dims("b t")
    return ot.input("x", shape=(4,), over=(b, t)), b, t


def test_a_computed_step_is_read_at_each_point() -> None:
    x, b, t = x_over()
    index = ot.input("index", dtype="int32", over=(b, t))
    steps = np.array([[0, 2, 1], [2, 2, 0]])
    expected = np.take_along_axis(X, steps[:, :, None], 1)
    assert np.array_equal(run(x.at(t=index), index=steps), expected)
    assert np.array_equal(run(x[b, index], index=steps), expected)


def test_the_axes_of_the_index_come_before_those_of_the_tensor() -> None:
    x, b, _ = x_over()
    steps = np.array([[0, 1], [2, 2], [1, 0]])
    assert np.array_equal(run(x.at(t=ot.constant(steps))), X[:, steps])
    assert np.array_equal(run(x[b, ot.constant(steps), 1:3]), X[:, steps, 1:3])


def test_the_axes_of_slices_come_first() -> None:
    x, _, _ = x_over()
    steps = np.array([2, 0])
    assert np.array_equal(run(x[:, ot.constant(steps)]), X[:, steps])
    assert np.array_equal(run(x.at(b=ot.constant([1, 0, 1]), t=slice(1, None))),
                          X[[1, 0, 1]][:, 1:].swapaxes(0, 1))  # fmt: skip


def test_several_computed_positions_broadcast_together() -> None:
    x, _, _ = x_over()
    rows, steps = np.array([[1], [0]]), np.array([0, 2, 1])
    read = x.at(b=ot.constant(rows), t=ot.constant(steps))
    assert np.array_equal(run(read), X[rows, steps])


def test_computed_and_plain_positions_mix() -> None:
    x, b, t = x_over()
    index = ot.input("index", dtype="int32", over=b)
    read = x.at(b=b.size - 1 - b, t=index, within={"t": (1, t.size)})
    assert np.array_equal(run(read, index=[1, 2]), np.stack([X[1, 1], X[0, 2]]))


def test_a_window_may_follow_the_point() -> None:
    t = ot.dims("t")
    x, back = ot.input("x", over=t), ot.input("back", dtype="int64", over=t)
    before = x.at(t=ot.index(t).cast("int64") - back, within=(ot.maximum(t - 2, 0), t))
    read = ot.where(t > 0, before, -1.0)
    found = ot.Program(y=read).interpret(x=[5, 6, 7, 8, 9], back=[9, 1, 2, 1, 2])["y"]
    assert found.tolist() == [-1, 5, 5, 7, 7]


def test_unsigned_steps_count_from_the_window() -> None:
    t = ot.dims("t")
    x, index = ot.input("x", over=t), ot.input("index", (2,), "uint32")
    read = x.at(t=index, within=(2, t.size))
    found = ot.Program(y=read).interpret(x=[5, 6, 7, 8], index=np.array([3, 2], "uint32"))["y"]
    assert found.tolist() == [8, 7]


def test_a_sequence_of_integers_is_a_computed_position() -> None:
    x, b, _ = x_over()
    assert np.array_equal(run(x.at(t=[2, 0])), X[:, [2, 0]])
    assert np.array_equal(run(x.at(t=np.array([2, 0]))), X[:, [2, 0]])
    assert np.array_equal(run(x.at(b=b, t=np.array(1))), X[:, 1])


def test_a_recurrence_reads_its_own_past() -> None:
    t = ot.dims("t")
    x, link = ot.recurrent("x", over=t), ot.input("link", dtype="int32", over=t)
    x[0] = 1.0
    x[t] = x.at(t=link, within=(0, t)) + 1.0
    found = ot.Program(x=x).interpret(link=[0, 0, 0, 1, 3, 2])["x"]
    assert found.tolist() == [1, 2, 2, 3, 4, 3]


def test_a_pointer_is_chased() -> None:
    t, s = ot.dims("t s")
    y, x = ot.input("y", dtype="int32", over=s), ot.recurrent("x", dtype="int32", over=t)
    x[0] = 0
    x[t + 1] = y.at(s=x)
    found = ot.Program(x=x).interpret(y=[3, 0, 1, 2], T=6)["x"]
    assert found.tolist() == [0, 3, 2, 1, 0, 3]


@pytest.mark.parametrize(("down", "right"), [(1, 0), (-1, 1), (0, -1), (2, 1)])
def test_positions_go_round(down: int, right: int) -> None:
    i, j = ot.dims("i j")
    x = ot.input("x", over=(i, j))
    program = ot.Program(y=x[(i + down) % i.size, (j + right) % j.size])
    for grid in (np.arange(12.0).reshape(4, 3), np.arange(2.0).reshape(2, 1)):
        expected = np.roll(grid, (-down, -right), (0, 1))
        assert np.array_equal(program.interpret(x=grid)["y"], expected)
        assert np.array_equal(program.compile()(x=grid)["y"], expected)


def test_a_step_that_goes_round_at_most_once_is_a_choice_of_known_ones() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    assert "mod" not in str(ot.Program(y=x[(t + 1) % t.size] + x[(t - 1) % t.size]))
    assert "mod" in str(ot.Program(y=x[(t + 2) % t.size]))
