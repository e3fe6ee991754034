"""Padding, rolling, repeating and tiling mean what NumPy's do."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

A = np.arange(12, dtype=np.float32).reshape(3, 4)


def same(tensor: ot.Tensor, expected: npt.NDArray[Any]) -> None:
    found = ot.Program(y=tensor).interpret()["y"]
    assert found.shape == expected.shape and np.array_equal(found, expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("widths", [1, (2, 0), [(0, 1), (3, 2)], [(0, 0), (0, 0)]])
def test_padding(mode: Any, widths: Any) -> None:
    same(ot.pad(ot.constant(A), widths, mode), np.pad(A, widths, mode))


def test_padding_with_a_number_of_the_type() -> None:
    same(ot.pad(ot.constant([1, 2]), 1, value=-7), np.array([-7, 1, 2, -7], np.int32))


@pytest.mark.parametrize("shift", [0, 1, -1, 3, 7, -9])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rolling(shift: int, axis: int) -> None:
    same(ot.roll(ot.constant(A), shift, axis), np.roll(A, shift, axis))


def test_rolling_an_axis_of_symbolic_size() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    found = ot.Program(y=ot.roll(x[:], 2)).interpret(x=np.arange(5.0))["y"]
    assert found.tolist() == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("axis", [0, 1])
def test_repeating(axis: int) -> None:
    same(ot.repeat(ot.constant(A), 3, axis), np.repeat(A, 3, axis))


@pytest.mark.parametrize("times", [2, (2, 3), (2, 1, 2)])
def test_tiling(times: Any) -> None:
    same(ot.tile(ot.constant(A), times), np.tile(A, times))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids(indexing: Any) -> None:
    vectors = [np.arange(n, dtype=np.float32) for n in (2, 3, 4)]
    for count in (1, 2, 3):
        found = ot.meshgrid(*map(ot.constant, vectors[:count]), indexing=indexing)
        for x, expected in zip(
            found, np.meshgrid(*vectors[:count], indexing=indexing), strict=True
        ):
            same(x, expected)


def test_a_repeated_element_collects_its_gradients() -> None:
    x = ot.input("x", (2,))
    weighed = ot.repeat(x, 2) * ot.constant([1.0, 2.0, 3.0, 4.0])
    same(ot.grad(weighed.sum(), x), np.array([3, 7], np.float32))
