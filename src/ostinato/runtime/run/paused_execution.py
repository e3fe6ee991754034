"""Runs of a loop in parts: what it carries is copied between two of them.

The kernels are those of every other run, so that the results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.runtime.build.source_module import load_driver
from ostinato.runtime.run.blocking_pool import Workers
from ostinato.runtime.run.executor import Bound, Executable, Execution
from ostinato.runtime.run.state import Keeper, State

if TYPE_CHECKING:
    from ostinato.runtime.run.artifact import Paused

ALL = 0


@dataclass(frozen=True)
class Pausing:
    """A driver that runs in parts, ready to run; its words are those of `Paused`."""

    entry: Callable[..., None]
    keeper: Keeper
    start: int
    limit: int
    part: int
    before: int
    from_loop: int


def load_pausing(made: Paused) -> Pausing:
    """Compile the driver, or load it from the cache."""
    return Pausing(load_driver(made.units), Keeper(tuple(made.carried)), *made.words)


class PausedExecution(Execution):
    """A run from a state on, which leaves its loop after so many steps."""

    def __init__(self, program: Executable, bound: Bound, state: State, limit: int) -> None:
        """Start it; ``limit`` 0 is for all steps.

        What stands before the loop is run before, as it is not in the state.
        Errors: CheckpointError if the state does not hold what the loop carries.
        """
        program.require_limit(bound)
        self._pausing, self._state, self._limit = program.pausing, state, limit
        super().__init__(program, bound, program.frame(bound.extents))

    def _started(self, is_awaited: bool) -> Workers:
        state, words = self._state, self._pausing
        if not state.step:
            return self._part(ALL, 0, self._limit)
        self.workers = self._part(words.before, 0, 0)
        self.wait()
        self._pausing.keeper.put(self.frame, state.arrays, state.step)
        self._ready()
        return self._part(words.from_loop, state.step, self._limit)

    def is_paused(self, step: int) -> bool:
        """Whether the loop has been left after so many steps, so that memory has their state."""
        if step == self._limit == self.done():
            self.wait()  # the workers are on their way out
        return not self.workers.is_running() and self.done() == step

    def proceed(self, limit: int) -> None:
        """Go on after a pause."""
        step, self._limit = self.done(), limit
        self._ready()
        self.workers = self._part(self._pausing.from_loop, step, limit)

    def state(self, step: int, like: State) -> State:
        """The state in memory, after so many steps, of a run that is ``like`` that of another."""
        arrays = self._pausing.keeper.taken(self.frame, step)
        return State(arrays, like.over, step, like.seed, like.program, like.arguments)

    def _ready(self) -> None:
        """Leave the words of the part before to a worker that is late, and clear them."""
        self.wait()
        if self.workers.is_late():
            self.frame.renew()
        self.frame.clear()

    def _part(self, part: int, start: int, limit: int) -> Workers:
        control, words = self.frame.control, self._pausing
        control[words.part], control[words.start], control[words.limit] = part, start, limit
        control[self._words.done] = start
        return Workers(words.entry, self.count, self._arguments())
