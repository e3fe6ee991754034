"""Tiles are taken apart on the way in and put together on the way out."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.pdg.index import Dim, expr, floordiv
from ostinato.runtime.machine_code.ports import Field
from ostinato.runtime.run.arrays import (
    empty_arena,
    exit_by_steps,
    put,
    sizes,
    stored_view,
    take,
    tile_counts,
)

B, T = Dim("b").extent, Dim("t").extent


TILED = Field(
    "x",
    "x",
    "float32",
    (floordiv(expr(B) + 3, 4), expr(T), expr(2), expr(4)),  # tile, t, feature, place in the tile
    (expr(T), expr(B), expr(2)),
    ((1,), (0, 3), (2,)),
)
EXTENTS = {"B": 6, "T": 3}


def test_a_tiled_result_comes_back_as_it_went_in() -> None:
    value = np.arange(36, dtype=np.float32).reshape(3, 6, 2)
    arena = empty_arena(4096)
    view = stored_view(arena, TILED, 128, EXTENTS)
    assert view.shape == (2, 3, 2, 4)
    put(view, TILED, value, EXTENTS)
    np.testing.assert_array_equal(take(view, TILED, EXTENTS), value)
    np.testing.assert_array_equal(view[1, 2, 0, :2], value[2, 4:, 0])


def test_a_number_is_an_array_without_axes() -> None:
    one = Field("x", "x", "float32", (), (), ())
    found = take(np.array(2.5, np.float32), one, {})
    assert found.shape == () and found == 2.5


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 23, 24, 29, 30])
def test_nested_tiles_are_put_together_without_their_padding(rows: int) -> None:
    nested = Field(
        "x",
        "x",
        "float32",
        (expr(2), expr(5), expr(T), expr(3)),  # 2 x 5 x 3 rows, the second axis among them
        (expr(B), expr(1), expr(T)),
        ((0, 1, 3), (), (2,)),
    )
    stored = np.arange(90, dtype=np.float32).reshape(2, 5, 3, 3)
    whole = stored.transpose(0, 1, 3, 2).reshape(30, 1, 3)
    found = take(stored, nested, {"B": rows, "T": 3})
    np.testing.assert_array_equal(found, whole[:rows])
    assert not np.shares_memory(found, stored) and found.flags.c_contiguous


def test_a_step_is_one_index_of_the_first_axis() -> None:
    value = np.arange(36, dtype=np.float32).reshape(3, 6, 2)
    view = stored_view(empty_arena(4096), TILED, 0, EXTENTS)
    put(view, TILED, value, EXTENTS)
    way = exit_by_steps(view, TILED, EXTENTS)
    for t in range(3):
        np.testing.assert_array_equal(way.take_step(t), value[t])


def test_a_taken_array_does_not_follow_the_arena() -> None:
    plain = Field("x", "x", "int32", (expr(T),), (expr(T),), ((0,),))
    view = stored_view(empty_arena(64), plain, 0, EXTENTS)
    view[:] = 7
    taken = take(view, plain, EXTENTS)
    view[:] = 8
    assert taken.tolist() == [7, 7, 7]


def test_the_arena_starts_at_a_cache_line() -> None:
    for size in (1, 1000, 10**6):
        arena = empty_arena(size)
        assert arena.size == size
        assert arena.ctypes.data % 64 == 0


def test_tiles_of_inner_loops_count_nothing() -> None:
    i = Dim("i")
    assert sizes((floordiv(expr(B), 4), expr(T)), EXTENTS) == (1, 3)
    assert tile_counts((expr(B), expr(i) + 1), EXTENTS) == [6]
