"""Streams whose loop waits after some steps until their records are read.

Memory then has room for a part of the records only, and the state there can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.runtime.run.executor import Bound, Executable, Execution
from ostinato.runtime.run.paused_execution import PausedExecution
from ostinato.runtime.run.state import State
from ostinato.runtime.run.stream import Stream


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
    ) -> None:
        """Start the run; ``every`` 0 leaves no states, ``records`` None keeps all.

        The state of a run that has no identity is none for users.
        """
        self._left, self._every, self._records = state, every, records
        super().__init__(program, state.over, bound, check_finite, lengths)
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
        goal = self._next_pause()
        return PausedExecution(self._program, self._bound, self._left, goal, self._records)

    def _next_pause(self) -> int:
        """After how many steps the loop waits next: at the end too, and never without states."""
        return min(self._left.step + self._every, self._count) if self._every else 0

    def _await(self, execution: Execution, step: int) -> int:
        assert isinstance(execution, PausedExecution), "a stream of states runs in parts"
        if execution.is_due(step):
            if step == execution.goal and self._left.step != step:
                self._left = execution.state(step, self._left)
            execution.proceed(self._next_pause() if step < self._count else 0)
        return super()._await(execution, step)

    def _leaving(self, execution: Execution) -> None:
        """Keep the state before the memory is given back, if it is that after the last record."""
        assert isinstance(execution, PausedExecution), "a stream of states runs in parts"
        if self._every and self._left.step != self._step and execution.is_paused(self._step):
            self._left = execution.state(self._step, self._left)
