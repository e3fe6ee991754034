"""What a host copies from a device and to it, and how often a loop there is left."""

import math

import numpy as np

from ostinato.pdg.index import expr
from ostinato.runtime.machine_code.ports import Field
from ostinato.runtime.run.arrays import steps_of
from ostinato.runtime.run.device_executor import stretches
from ostinato.runtime.run.paused_stream import PART_S, Pace

SIZES = (3, 4, 5)


def copied(axes: tuple[tuple[int, ...], ...], first: int, end: int) -> tuple[set[int], int]:
    """The elements that are copied for some steps of a tensor of `SIZES`; in how many stretches."""
    stored = tuple(map(expr, SIZES))
    shape = tuple(expr(math.prod(SIZES[k] for k in group)) for group in axes)
    whole = np.zeros(SIZES, np.float32)
    field = Field("x", "x", "float32", stored, shape, axes)
    found = [*stretches(steps_of(whole, field, first, end), whole.ctypes.data)]
    return {k // 4 for a, b in found for k in range(a, b, 4)}, len(found)


def test_steps_that_lie_one_after_the_other_are_one_stretch() -> None:
    assert copied(((0,), (1,), (2,)), 1, 3) == (set(range(20, 60)), 1)


def test_steps_inside_of_rows_are_a_stretch_of_each_row() -> None:
    places = np.arange(60).reshape(SIZES)
    assert copied(((1,), (0,), (2,)), 1, 3) == ({*places[:, 1:3].ravel().tolist()}, 3)


def test_of_steps_in_tiles_whole_tiles_are_copied() -> None:
    assert copied(((0, 1), (2,)), 2, 6) == (set(range(40)), 1)
    assert copied(((0, 1), (2,)), 4, 8) == (set(range(20, 40)), 1)


def test_no_step_is_no_stretch() -> None:
    assert copied(((0,), (1,), (2,)), 2, 2) == (set(), 0)


def test_the_pace_follows_the_time_that_steps_take() -> None:
    pace, found = Pace(), list[int]()
    for taken in (0.1, 0.4, 0.6, 0.1, 1.5, 1.5, 1.5, 9.0):
        pace.note(taken * PART_S)
        found.append(pace.steps)
    assert found == [2, 4, 4, 8, 4, 2, 1, 1]
