"""Life, heat and Gray-Scott on a torus, the grid as dimensions or as axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np

import ostinato as ot
from bench.harness.timing import rates

Neighbour = Callable[[ot.Tensor, int, int], ot.Tensor]
Start = Callable[[str, str], tuple[ot.Tensor, ot.Recurrent]]
BESIDE = ((1, 0), (-1, 0), (0, 1), (0, -1))
AROUND = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)


def _dims(names: str, dtype: str, step: Callable[..., tuple[ot.Tensor, ...]]) -> ot.Program:
    """Every cell is a point; its neighbours are reads at other points."""
    t, i, j = ot.dims("t i j")
    starts = [ot.input(f"{n}0", dtype=dtype, over=(i, j)) for n in names]
    grids = [ot.recurrent(n, dtype=dtype, over=(t, i, j)) for n in names]

    def near(grid: ot.Recurrent, down: int, right: int) -> ot.Tensor:
        return grid[t, (i + down) % i.size, (j + right) % j.size]

    for grid, start, later in zip(grids, starts, step(near, *grids), strict=True):
        grid[0, i, j] = start
        grid[t + 1, i, j] = later
    return ot.Program(**{n: grid[t.size - 1, i, j] for n, grid in zip(names, grids, strict=True)})


def _axes(
    names: str, dtype: str, step: Callable[..., tuple[ot.Tensor, ...]], size: int
) -> ot.Program:
    """The grid is a matrix; its neighbours are the matrix rolled along its axes."""
    t, shape = ot.dims("t"), (size, size)
    starts = [ot.input(f"{n}0", shape, dtype=dtype) for n in names]
    grids = [ot.recurrent(n, shape, dtype=dtype, over=(t,)) for n in names]

    def near(grid: ot.Tensor, down: int, right: int) -> ot.Tensor:
        rolled = ot.roll(grid, -down, 0) if down else grid
        return ot.roll(rolled, -right, 1) if right else rolled

    for grid, start, later in zip(grids, starts, step(near, *grids), strict=True):
        grid[0] = start
        grid[t + 1] = later
    return ot.Program(**{n: grid[t.size - 1] for n, grid in zip(names, grids, strict=True)})


def _summed(near: Neighbour, grid: ot.Tensor, places: tuple[tuple[int, int], ...]) -> ot.Tensor:
    return reduce(add, (near(grid, *place) for place in places))


def _life(near: Neighbour, cells: ot.Tensor) -> tuple[ot.Tensor, ...]:
    alive = _summed(near, cells, AROUND)
    return (((alive == 3) | ((alive == 2) & (cells == 1))).cast("int32"),)


def _heat(near: Neighbour, x: ot.Tensor) -> tuple[ot.Tensor, ...]:
    return (x + 0.1 * (_summed(near, x, BESIDE) - 4 * x),)


def _gray_scott(near: Neighbour, u: ot.Tensor, v: ot.Tensor) -> tuple[ot.Tensor, ...]:
    made = u * v * v
    spread_u = _summed(near, u, BESIDE) - 4 * u
    spread_v = _summed(near, v, BESIDE) - 4 * v
    return u + 0.16 * spread_u - made + 0.06 * (1 - u), v + 0.08 * spread_v + made - 0.122 * v


Step = Callable[..., tuple[ot.Tensor, ...]]
STEPS: dict[str, tuple[str, str, Step]] = {
    "life": ("c", "int32", _life), "heat": ("x", "float32", _heat),
         "gray_scott": ("uv", "float32", _gray_scott)}  # fmt: skip


def sampler(rule: str, grid: str, size: int, steps: int) -> Callable[[], float]:
    """Cells per second of a rule; ``grid`` is "dims" or "axes"."""
    names, dtype, step = STEPS[rule]
    program = _dims(names, dtype, step) if grid == "dims" else _axes(names, dtype, step, size)
    compiled = program.compile()
    rng = np.random.default_rng(0)
    drawn = {f"{n}0": rng.random((size, size)).astype(np.float32) for n in names}
    given = {n: (x < 0.3).astype(dtype) if dtype == "int32" else x for n, x in drawn.items()}

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(**given, T=steps)

    return rates(run, size * size * (steps - 1))
