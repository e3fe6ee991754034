"""Live records: Python reads finished steps while the compiled loop runs without the GIL."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any

from ostinato.pdg.errors import ArgumentError, MissingError
from ostinato.runtime.run.execution import Bound, Execution
from ostinato.runtime.run.executor import Executable, fields_over, require_finite

if TYPE_CHECKING:
    from ostinato.runtime.run.state import State
    from ostinato.runtime.run.timing import RunLog

SHORTEST_WAIT_S, LONGEST_WAIT_S = 2e-5, 5e-3


class Record(SimpleNamespace):
    """One finished step: ``index``, the streamed dim by name, and every output at that step.

    ``lengths`` are those of its ragged outputs, by name.
    """

    index: int

    def __getattr__(self, name: str) -> Any:
        remedy = f"It has: {', '.join(vars(self))}."
        raise MissingError(f"the record has no `{name}`", remedy)


class Stream:
    """An iterator over the steps of the outermost dim of one run.

    `close` ends the run after the iteration it is in; so does an error or an interrupt while a
    record is awaited.
    """

    def __init__(
        self,
        program: Executable,
        dim: str,
        bound: Bound,
        check_finite: bool = False,
        lengths: Mapping[str, str] | None = None,
        log: RunLog | None = None,
    ) -> None:
        """Start the run; its first record may be ready before the first ``next``."""
        self._program, self._dim, self._check = program, dim, check_finite
        self._bound, self._lengths = bound, lengths or {}
        self._fields = fields_over(program.artifact, dim)
        self._read = fields_over(program.artifact, dim, unseen=True)
        self._count = bound.extents[dim.upper()]
        self._is_live = program.is_live(dim)
        self._log = log
        self._step = self._ready = 0
        self._process = os.getpid()
        self._execution: Execution | None = self._begun()

    def _begun(self) -> Execution:
        return self._program.start(self._bound, self._log)

    def _leaving(self, execution: Execution) -> None:
        """What is done after the end of a run, before its memory is given back."""

    def _brought(self, execution: Execution) -> None:
        """What is done when the arena holds all records of finished steps."""

    @property
    def late_note(self) -> str:
        """A sentence if the records come after the run only, else ""."""
        if self._is_live:
            return ""
        return (
            f"the outputs over `{self._dim}` are not all computed in one outermost loop over it: "
            "their records come after the run has ended"
        )

    @property
    def state(self) -> State:
        """The state after the last record that was read, of a stream that leaves states.

        Errors: ArgumentError for one that leaves none.
        """
        fact = "the state of a stream that leaves none was asked for"
        raise ArgumentError(fact, "Open it with every=100, or another number of steps.")

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        execution, step = self._execution, self._step
        if execution is None:
            raise StopIteration
        if self._is_elsewhere():
            fact = "the stream belongs to the process that this one was forked from"
            raise ArgumentError(fact, "Read it there, or open another one here.")
        try:
            if step >= self._ready:
                self._ready = self._await(execution, step)
                execution.offload(self._read, step, self._ready)
                self._brought(execution)
            if step >= self._ready:
                raise StopIteration
            self._step += 1
            return self._record(execution, step)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_execution"):
            self.close()

    def close(self) -> None:
        """End the run at the next iteration boundary; records already taken stay valid."""
        execution, self._execution = self._execution, None
        if execution is not None and not self._is_elsewhere():
            execution.stop()
            self._leaving(execution)
            if execution.log is not None:
                execution.log.now("end")
            self._program.finish(execution)

    def _is_elsewhere(self) -> bool:
        """Whether the workers are threads of another process, and not here to be waited for."""
        return self._process != os.getpid()

    def _await(self, execution: Execution, step: int) -> int:
        """Sleep until ``step`` is done or the run has ended; return the number of steps done."""
        if not self._is_live:
            execution.wait()
            self._require_claims(execution)
            return self._count
        wait_s = SHORTEST_WAIT_S
        while execution.done() <= step:
            if not execution.workers.is_running():
                execution.wait()
                self._require_claims(execution)
                break
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        return execution.done()

    def _require_claims(self, execution: Execution, step: int | None = None) -> None:
        """Raise the error of the first claim of the program that does not hold."""
        wrong = self._program.failures(execution, step)
        if wrong:
            raise wrong[0]

    def _record(self, execution: Execution, step: int) -> Record:
        values: dict[str, Any] = {}
        self._require_claims(execution, step)
        for field in self._fields:
            value = execution.result_at(field, step)
            if self._check:
                require_finite(self._program.artifact, field.name, value, step)
            values[field.name] = value[()]
        lengths = {name: values[of] for name, of in self._lengths.items() if of in values}
        for of in {self._lengths[name] for name in lengths}:
            del values[of]
        if lengths:
            values["lengths"] = lengths
        return Record(**{self._dim: step, **values, "index": step})
