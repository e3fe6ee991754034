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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.runtime.machine_code.ports import PythonCall, View
from ostinato.runtime.run.arrays import Array
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
        calls: Sequence[PythonCall],
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
        self._memory, table = memory, memory.table
        self._extents: dict[Dim | Extent, int] = {Extent(n): k for n, k in extents.items()}
        self._calls = {
            call.number: _Prepared(
                functions[call.number],
                call.dims,
                tuple(_part(view, self._extents) for view in (*call.operands, call.result)),
            )
            for call in calls
        }
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

    def _run(self, call: _Prepared) -> None:
        count, own = len(call.dims), len(call.parts)
        words = self._words[: count + own].tolist()
        point: dict[Dim, int] = dict(zip(call.dims, words, strict=False))
        env = self._extents | point
        pairs = enumerate(zip(call.parts, words[count:], strict=True), 1)
        *given, result = [
            self._view(part, offset, env, "written" if k == own else "read")
            for k, (part, offset) in pairs
        ]
        call.function.write(result, given, point, env)

    def _view(self, part: _Part, offset: int, env: Env, way: str) -> Array:
        (shape, steps), item = part.sizes or _sizes(part.view, env), part.dtype.itemsize
        if self._memory.bounds is not None:
            last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
            size = last + item if 0 not in shape else 0
            self._memory.bounds.require(part.view.tensor, offset * item, size, way)
        return np.ndarray(shape, part.dtype, self._memory.arena.data, offset * item, steps)


Sizes = tuple[tuple[int, ...], tuple[int, ...]]  # a shape, and the bytes between neighbours


class _Part(NamedTuple):
    """An operand or the result of a call, with its sizes where no point decides them."""

    view: View
    dtype: np.dtype[np.generic]
    sizes: Sizes | None


class _Prepared(NamedTuple):
    """What a run knows of a call before any point."""

    function: HostFunction
    dims: Sequence[Dim]
    parts: tuple[_Part, ...]


def _part(view: View, extents: Env) -> _Part:
    varies = any(e.dims for e in (*view.shape, *view.strides))
    return _Part(view, np.dtype(view.dtype), None if varies else _sizes(view, extents))


def _sizes(view: View, env: Env) -> Sizes:
    shape, strides = ([max(0, evaluate(e, env)) for e in of] for of in (view.shape, view.strides))
    item = np.dtype(view.dtype).itemsize
    return tuple(shape), tuple(k * item for k in strides)


def words(calls: Sequence[PythonCall]) -> int:
    """The words that calls need: the callback's address, and the most that one call writes."""
    return 1 + max((len(c.dims) + len(c.operands) + 1 for c in calls), default=0)
