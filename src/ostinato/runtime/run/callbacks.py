"""Python functions that compiled code calls: one callback, and views of the arena.

A worker calls back through a C function pointer, which takes the GIL; no other worker waits for it
but at a barrier. After a failure the run stops at its next safe point, and the remaining calls
return at once.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.index import Dim, Expr, Extent, evaluate
from ostinato.runtime.run.arrays import Array
from ostinato.runtime.run.artifact import Call, View
from ostinato.runtime.run.tensor_bounds import Bounds

Env = Mapping[Dim | Extent, int]
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64)


@dataclass(frozen=True, eq=False)
class Control:
    """The words shared with the driver, and the places of the stop flag and the count in them."""

    words: npt.NDArray[np.int64]
    stop: int
    done: int


@dataclass(frozen=True, eq=False)
class Memory:
    """Where tensors lie.

    ``table`` ends with the words through which a call says where it is: see `words`. With
    ``bounds`` all that a call is given is compared with them.
    """

    arena: npt.NDArray[np.uint8]
    table: npt.NDArray[np.int64]
    bounds: Bounds | None = None


class Calls:
    """The calls of one run."""

    def __init__(
        self,
        calls: Sequence[Call],
        functions: Mapping[int, HostFunction],
        memory: Memory,
        extents: Mapping[str, int],
        control: Control,
    ) -> None:
        """Make the callback; its address goes before the words of the table."""
        self.failure: BaseException | None = None
        self.taken_ns = 0  # in Python functions
        self.sound = 0  # steps that were done before the failure
        self._control = control
        if not calls:
            return  # making a callback takes longer than many a run
        self._calls = {call.number: call for call in calls}
        self._functions, self._memory, table = functions, memory, memory.table
        self._extents: dict[Dim | Extent, int] = {Extent(n): k for n, k in extents.items()}
        self._words = table[len(table) - words(calls) + 1 :]
        self._callback = _CALLBACK(self._answer)  # kept: C knows its address only
        address = ctypes.cast(self._callback, ctypes.c_void_p).value
        assert address is not None, "a callback has an address"
        table[len(table) - words(calls)] = address

    def _answer(self, number: int) -> None:
        if self.failure is not None:
            return
        started = time.perf_counter_ns()
        try:
            self._run(self._calls[number])
        except BaseException as failure:  # nothing may pass through compiled code
            self.sound = int(self._control.words[self._control.done])
            self.failure = failure
            self._control.words[self._control.stop] = 1
        self.taken_ns += time.perf_counter_ns() - started

    def _run(self, call: Call) -> None:
        count = len(call.dims)
        point = dict(zip(call.dims, map(int, self._words[:count]), strict=True))
        env = self._extents | dict(point.items())
        offsets = map(int, self._words[count : count + len(call.operands) + 1])
        views = [
            self._view(view, offset, env, "written" if view is call.result else "read")
            for view, offset in zip((*call.operands, call.result), offsets, strict=True)
        ]
        views[-1][...] = self._functions[call.number](views[:-1], point, env)

    def _view(self, view: View, offset: int, env: Env, way: str) -> Array:
        dtype = np.dtype(view.dtype)

        def sizes(of: Sequence[Expr]) -> tuple[int, ...]:
            return tuple(max(0, evaluate(e, env)) for e in of)

        steps = tuple(k * dtype.itemsize for k in sizes(view.strides))
        start, shape = offset * dtype.itemsize, sizes(view.shape)
        if self._memory.bounds is not None:
            last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
            size = last + dtype.itemsize if 0 not in shape else 0
            self._memory.bounds.require(view.tensor, start, size, way)
        return np.ndarray(shape, dtype, self._memory.arena.data, start, steps)


def words(calls: Sequence[Call]) -> int:
    """The words that calls need: the callback's address, and the most that one call writes."""
    return 1 + max((len(c.dims) + len(c.operands) + 1 for c in calls), default=0)
