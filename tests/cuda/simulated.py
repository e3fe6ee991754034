"""A device that is simulated: programs compiled for CUDA run on it as they would on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ostinato.runtime.run.device import Copied, form
from tests.cuda.simulator import Grid, simulated


class SimulatedModule:
    """A module that is run by simulation."""

    blocks = 8

    def __init__(self, source: str, can_cooperate: bool, threads: int, order: int) -> None:
        self.source, self.threads, self.order = source, threads, order
        scope = simulated(source)
        self.is_cooperative, self.form = form(scope["PHASES"], scope["REPEATS"], can_cooperate)

    def run(
        self,
        arena: npt.NDArray[np.uint8],
        there: Sequence[Copied],
        back: Sequence[Copied],
        table: npt.NDArray[np.int64],
        control: npt.NDArray[np.int64],
        stride: int,
        seed: int,
        blocks: int,
        extents: Mapping[str, int],
    ) -> None:
        own = np.full(-(-arena.size // 8) * 8, 0xFF, np.uint8)  # NaN, and -1
        for first, end in there:
            own[first:end] = arena[first:end]
        grid = Grid(self.source, self.is_cooperative, self.threads, self.order)
        grid.run(own, table, control, stride, seed, blocks, extents)
        for first, end in back:
            arena[first:end] = own[first:end]


@dataclass
class SimulatedDevice:
    """Blocks of few threads, since each of them is run by Python."""

    can_cooperate: bool = True
    threads: int = 4
    order: int = 0
    name: str = "simulated"
    memory_bytes: int = 1 << 30

    def load(self, source: str, directory: Path | None) -> SimulatedModule:
        return SimulatedModule(source, self.can_cooperate, self.threads, self.order)
