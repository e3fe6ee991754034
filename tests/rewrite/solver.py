"""The only test module that touches SciPy: integer programs by HiGHS, circles of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

GAP = 1e-4  # relative; the solver stops there
Vector = npt.NDArray[Any]
_OPTIMIZE: Any = import_module("scipy.optimize")  # it has no types
_SPARSE: Any = import_module("scipy.sparse")
_GRAPHS: Any = import_module("scipy.sparse.csgraph")


class Program:
    """A linear program over variables between 0 and 1."""

    def __init__(self) -> None:
        self.price: list[float] = []
        self._cells: list[tuple[int, int, float]] = []
        self._low: list[float] = []

    def variable(self, price: float = 0.0) -> int:
        self.price.append(price)
        return len(self.price) - 1

    def at_least(self, low: float, *terms: tuple[int, float]) -> None:
        """``sum of factor * variable >= low``."""
        self._cells += [(len(self._low), v, factor) for v, factor in terms]
        self._low.append(low)

    def solve(self, whole: Sequence[int], seconds: float) -> tuple[float, Vector | None]:
        """A lower bound, and values of the variables if some were found; ``whole`` are integers."""
        rows, columns, values = (np.array(c) for c in zip(*self._cells, strict=True))
        matrix = _SPARSE.coo_array((values, (rows, columns)), (len(self._low), len(self.price)))
        integral = np.zeros(len(self.price))
        integral[list(whole)] = 1
        scale = max(self.price)
        done = _OPTIMIZE.milp(
            np.array(self.price) / scale,
            integrality=integral,
            bounds=_OPTIMIZE.Bounds(0, 1),
            constraints=_OPTIMIZE.LinearConstraint(matrix.tocsr(), np.array(self._low), np.inf),
            options={"time_limit": seconds, "mip_rel_gap": GAP},
        )
        least = done.mip_dual_bound if whole else done.fun
        return 0.0 if least is None else float(least) * scale, done.x


def components(count: int, edges: Sequence[tuple[int, int]]) -> Vector:
    """For each of ``count`` places the number of its strongly connected component."""
    rows, columns = zip(*edges, strict=True) if edges else ((), ())
    matrix = _SPARSE.coo_array((np.ones(len(rows)), (rows, columns)), (count, count))
    found: Vector = _GRAPHS.connected_components(matrix, directed=True, connection="strong")[1]
    return found
