"""Runs of a loop in parts, and streams whose loop waits until their records are read.

What the loop carries is copied between two parts. Memory has room for a part of the records only,
and the state there can be kept. The kernels are those of every other run, so that the results have
the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.runtime.run.execution import Bound, Execution, Running
from ostinato.runtime.run.executor import Executable
from ostinato.runtime.run.state import State
from ostinato.runtime.run.stream import Stream

if TYPE_CHECKING:
    from ostinato.runtime.run.timing import RunLog

ALL = 0
PART_S = 0.1  # how long records should take to come where the loop is left for them


@dataclass
class Pace:
    """How many steps a loop takes at once that must be left for its records to be read."""

    steps: int = 1

    def note(self, taken_s: float) -> None:
        """Take more steps next time where these took little time, fewer where they took much."""
        if 2 * taken_s < PART_S:
            self.steps *= 2
        elif taken_s > PART_S:
            self.steps = max(1, self.steps // 2)


class PausedExecution(Execution):
    """A run from a state on, which leaves its loop after so many steps."""

    def __init__(
        self,
        program: Executable,
        bound: Bound,
        state: State,
        goal: int,
        records: int | None = None,
        pace: Pace | None = None,
        log: RunLog | None = None,
    ) -> None:
        """Start it; ``goal`` 0 is for all steps.

        It leaves its loop before, if memory has room for fewer ``records`` (`Executable.layout`),
        or where a ``pace`` says so.
        What stands before the loop is run before, as it is not in the state.
        Errors: CheckpointError if the state does not hold what the loop carries.
        """
        program.require_limit(bound, records)
        self._pausing, self._state, self.goal, self._pace = program.pausing, state, goal, pace
        self._limit, self._count = 0, bound.extents[state.over.upper()]
        self._begun = 0.0
        super().__init__(program, bound, program.frame(bound.extents, records), log)

    def _started(self, is_awaited: bool) -> Running:
        state, words = self._state, self._pausing
        if not state.step:
            return self._part(ALL, 0)
        self.workers = self._part(words.before, 0)
        self._ready(state.step)
        self._pausing.keeper.put(self.frame, state.arrays, state.step)
        return self._part(words.from_loop, state.step)

    def reach_limit(self) -> None:
        """Wait for the end of a part that is as long as the pace says.

        Errors: those of the run.
        """
        if self._pace is not None and self.workers.is_running():
            self.wait()
            self._pace.note(time.perf_counter() - self._begun)

    def may_go_on(self) -> bool:
        """Whether records that were brought stay when the next part begins, and no state is due."""
        is_left = bool(self._limit) and self.done() == self._limit != self.goal
        return self._pace is not None and is_left and not self.frame.records

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

    def _part(self, part: int, start: int) -> Running:
        """Run a part from a step on, to the goal or to the end of what has room."""
        most = [n for n in (self.frame.records, self._pace.steps if self._pace else 0) if n]
        end = start + min(most, default=self._count)
        self._limit = min([n for n in (self.goal, end) if n]) if end < self._count else self.goal
        control, words = self.frame.control, self._pausing
        control[words.part], control[words.start] = part, start
        control[words.limit] = self._limit
        control[self._words.done] = start
        self._begun = time.perf_counter()
        return self.program.go_on(self)


class PausedStream(Stream):
    """A stream from a state on, of which every ``every``-th step leaves a state.

    The loop waits there until all records before are read, and where so many ``records`` wait as
    memory has room for. The state after another step is computed again from the last one that was
    left.
    """

    def __init__(
        self,
        program: Executable,
        bound: Bound,
        state: State,
        every: int = 0,
        check_finite: bool = False,
        lengths: Mapping[str, str] | None = None,
        records: int | None = None,
        log: RunLog | None = None,
    ) -> None:
        """Start the run; ``every`` 0 leaves no states, ``records`` None keeps all.

        The state of a run that has no identity is none for users.
        """
        self._left, self._every, self._records = state, every, records
        super().__init__(program, state.over, bound, check_finite, lengths, log)
        self._step = self._ready = state.step

    @property
    def state(self) -> State:
        """The state after the last record that was read."""
        if self._left.step == self._step and self._left.program:
            return self._left
        if not self._every:
            return super().state
        running = self._execution
        if isinstance(running, PausedExecution) and running.is_paused(self._step):
            self._left = running.state(self._step, self._left)
        else:
            self._left = self._computed_again(self._step)
        return self._left

    def _computed_again(self, step: int) -> State:
        again = PausedExecution(self._program, self._bound, self._left, step, self._records)
        try:
            again.reach(step)
            return again.state(step, self._left)
        finally:
            again.stop()
            self._program.finish(again)

    def _begun(self) -> Execution:
        goal, program = self._next_pause(), self._program
        pace = Pace() if program.is_left(self._dim) else None
        how = self._records, pace, self._log
        return PausedExecution(program, self._bound, self._left, goal, *how)

    def _next_pause(self) -> int:
        """After how many steps the loop waits next: at the end too, and never without states."""
        return min(self._left.step + self._every, self._count) if self._every else 0

    def _await(self, execution: Execution, step: int) -> int:
        assert isinstance(execution, PausedExecution), "a stream of states runs in parts"
        if execution.is_due(step):
            if step == execution.goal and self._left.step != step:
                self._left = execution.state(step, self._left)
            execution.proceed(self._next_pause() if step < self._count else 0)
        if execution.done() <= step:
            execution.reach_limit()
        return super()._await(execution, step)

    def _brought(self, execution: Execution) -> None:
        """Let a device go on while Python reads records, where it may."""
        assert isinstance(execution, PausedExecution), "a stream of states runs in parts"
        if execution.may_go_on():
            execution.proceed(execution.goal)

    def _leaving(self, execution: Execution) -> None:
        """Keep the state before the memory is given back, if it is that after the last record."""
        assert isinstance(execution, PausedExecution), "a stream of states runs in parts"
        if self._every and self._left.step != self._step and execution.is_paused(self._step):
            self._left = execution.state(self._step, self._left)
