"""A device that is simulated: programs compiled for CUDA run on it as they would on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ostinato.runtime.run.device import Arguments, Bytes, Note, Wait, form
from tests.cuda.simulator import Grid, simulated


class SimulatedMemory:
    """Memory that the host reaches by copies only."""

    def __init__(self, module: SimulatedModule, size_bytes: int) -> None:
        self.module = module
        self.arena = np.full(-(-size_bytes // 8) * 8, 0xFF, np.uint8)  # NaN, and -1
        self.is_idle = True

    @property
    def size_bytes(self) -> int:
        return self.arena.size

    def put(self, first: int, body: Bytes) -> None:
        assert self.is_idle, "a copy would wait for the end of a run"
        self.module.put_bytes += body.size
        self.arena[first : first + body.size] = body

    def take(self, first: int, out: Bytes) -> None:
        assert self.is_idle, "a copy would wait for the end of a run"
        self.module.taken_bytes += out.size
        out[:] = self.arena[first : first + out.size]

    def run(self, given: Arguments) -> Wait:
        """Begin a run, of which nothing is done before somebody waits for it."""
        self.module.parts += 1
        self.is_idle = False
        words = given.control.copy()

        def wait() -> None:
            grid = self.module.grid(self.module.is_cooperative)
            grid.run(self.arena, *given._replace(control=words))
            given.control[:] = words
            self.is_idle = True

        return wait

    def run_apart(self, given: Arguments, note: Note) -> None:
        def noted(name: str, launch: Callable[[], None]) -> None:
            begun = time.perf_counter_ns()
            launch()
            note(name, begun, time.perf_counter_ns())

        self.module.grid(False).run(self.arena, *given, noted)


class SimulatedModule:
    """A module that is run by simulation, and what it was asked for."""

    blocks = 8

    def __init__(self, source: str, can_cooperate: bool, threads: int, order: int) -> None:
        self.source, self.threads, self.order = source, threads, order
        self.grid = cache(self.made)
        scope = simulated(source)
        self.is_cooperative, self.form = form(scope["PHASES"], scope["REPEATS"], can_cooperate)
        self.parts = self.put_bytes = self.taken_bytes = 0

    def made(self, is_cooperative: bool) -> Grid:
        return Grid(self.source, is_cooperative, self.threads, self.order)

    def memory(self, size_bytes: int) -> SimulatedMemory:
        return SimulatedMemory(self, size_bytes)

    def ready_apart(self) -> int:
        return 0


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
