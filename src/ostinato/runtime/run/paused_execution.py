"""Runs of a loop in parts: what it carries is copied between two of them.

The kernels are those of every other run, so that the results have the same bits.
"""

from __future__ import annotations

from ostinato.runtime.run.blocking_pool import Workers
from ostinato.runtime.run.executor import Bound, Executable, Execution
from ostinato.runtime.run.state import State

ALL = 0


class PausedExecution(Execution):
    """A run from a state on, which leaves its loop after so many steps."""

    def __init__(
        self,
        program: Executable,
        bound: Bound,
        state: State,
        goal: int,
        records: int | None = None,
    ) -> None:
        """Start it; ``goal`` 0 is for all steps.

        It leaves its loop before, if memory has room for fewer ``records`` (`Executable.layout`).
        What stands before the loop is run before, as it is not in the state.
        Errors: CheckpointError if the state does not hold what the loop carries.
        """
        program.require_limit(bound, records)
        self._pausing, self._state, self.goal = program.pausing, state, goal
        self._limit, self._count = 0, bound.extents[state.over.upper()]
        super().__init__(program, bound, program.frame(bound.extents, records))

    def _started(self, is_awaited: bool) -> Workers:
        state, words = self._state, self._pausing
        if not state.step:
            return self._part(ALL, 0)
        self.workers = self._part(words.before, 0)
        self._ready(state.step)
        self._pausing.keeper.put(self.frame, state.arrays, state.step)
        return self._part(words.from_loop, state.step)

    def is_paused(self, step: int) -> bool:
        """Whether the loop has been left after so many steps, so that memory has their state."""
        if self._limit and step == self._limit == self.done():
            self.wait()  # the workers are on their way out
        return not self.workers.is_running() and self.done() == step

    def is_due(self, step: int) -> bool:
        """Whether the loop waits after so many steps for what a reader does."""
        return bool(self._limit) and step == self._limit and self.is_paused(step)

    def proceed(self, goal: int) -> None:
        """Go on after a pause; all records before it have been read."""
        step, self.goal = self.done(), goal
        self.wait()
        self.frame.forward(step)
        self._ready(step)
        self.workers = self._part(self._pausing.from_loop, step)

    def reach(self, step: int) -> None:
        """Run to the pause after so many steps, of whose records none is read.

        Errors: those of the run.
        """
        while True:
            self.wait()
            if self.done() >= step:
                return
            self.proceed(step)

    def state(self, step: int, like: State) -> State:
        """The state in memory, after so many steps, of a run that is ``like`` that of another."""
        arrays = self._pausing.keeper.taken(self.frame, step)
        return State(arrays, like.over, step, like.seed, like.program, like.arguments)

    def _ready(self, step: int) -> None:
        """Leave the words of the part before to a worker that is late, and clear them."""
        self.wait()
        if self.workers.is_late():
            self.frame.renew()
        self.frame.clear(step)

    def _part(self, part: int, start: int) -> Workers:
        """Run a part from a step on, to the goal or to the end of what has room."""
        end = start + self.frame.records if self.frame.records else self._count
        self._limit = min([n for n in (self.goal, end) if n]) if end < self._count else self.goal
        control, words = self.frame.control, self._pausing
        control[words.part], control[words.start] = part, start
        control[words.limit] = self._limit
        control[self._words.done] = start
        return Workers(words.entry, self.count, self._arguments())
