"""The memory of a run, and everything about it that extents decide: used by one run at a time.

The next run with these extents finds it ready.

An entry of the offset table counts elements from the beginning of the arena, and may as well lead
out of it: to a large argument that lies as the program stores it, or to a large result that is to
be returned. Small arrays are copied: their place in the arena is aligned, and reading them again is
then faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ostinato.pdg.index import Extent, Point, expr
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.linking import words as words_of
from ostinato.runtime.machine_code.ports import Field
from ostinato.runtime.run.arrays import (
    Array,
    Entrance,
    Exit,
    empty_arena,
    exit_by_steps,
    longest,
    sizes,
    stored_bytes,
    stored_view,
)
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.callbacks import words
from ostinato.runtime.run.result_pool import RESULTS
from ostinato.runtime.run.tensor_bounds import Bounds, words_before
from ostinato.runtime.run.transfer_thread import TransferThread

if TYPE_CHECKING:
    from ostinato.runtime.machine_code.ports import InMemory

OWN = 2  # arguments of a driver that differ between workers: which one, of how many
VARYING = (1, 5)  # the places of those after them that a later run may change: kernels and seed


class Argument(NamedTuple):
    """An input, how it comes into its memory, and whether it may stay where it is."""

    field: Field
    entrance: Entrance
    is_direct: bool


class Outcome(NamedTuple):
    """An output, how it leaves its memory, its whole shape, and whether it may lie elsewhere.

    ``longest`` is the part of the whole shape that the user gets: see `longest`.
    """

    field: Field
    exit: Exit
    shape: tuple[int, ...]
    longest: tuple[int, ...]
    is_direct: bool

    def cut(self, whole: Array) -> Array:
        """The part of the whole result, or of its last axes, that is not padding at all points."""
        kept = self.longest[len(self.longest) - whole.ndim :]
        if kept == whole.shape:
            return whole
        return np.ascontiguousarray(whole[tuple(map(slice, kept))])


class Frame:
    """An arena with the places of all tensors, and the words that the workers of a run share."""

    def __init__(
        self,
        artifact: Artifact,
        extents: Mapping[str, int],
        workers: int,
        layout: Layout,
        arena: npt.NDArray[np.uint8],
    ) -> None:
        """Find the places in the arena, which is as large as the layout says."""
        self.artifact, self.arena, self.layout = artifact, arena, layout
        self.process = os.getpid()
        self.extents, self.workers = dict(extents), workers
        interface = artifact.interface
        places = [layout.offsets[name] // size for name, size in interface.tensors]
        self._places = np.array(places, np.int64)
        self._windows = {window[0]: window for window in layout.windows}
        self.step = 0  # windows have room for some steps from this one on
        self._entries: dict[str, list[tuple[int, int]]] = {}
        for k, (name, size) in enumerate(interface.tensors):
            self._entries.setdefault(name, []).append((k, size))
        before = words_before(interface)
        behind = interface.walk_words + words(interface.calls)
        whole = np.zeros(before + len(places) + behind, np.int64)
        self.table = whole[before:]
        self.bounds: Bounds | None = None
        if interface.areas:
            self.bounds = Bounds(interface, layout, extents, workers, whole[:before], arena)
        self._address = arena.ctypes.data
        self.transfers: TransferThread | None = None
        if layout.moves.passages:
            self.transfers = TransferThread(layout, arena, dict(interface.tensors))
        self.renew()

    @property
    def is_own(self) -> bool:
        """Whether no other process has its memory: a file is shared with the one that forked."""
        is_spilled = self.layout.memory_bytes < self.layout.total_bytes
        return not is_spilled or self.process == os.getpid()

    def renew(self) -> None:
        """Leave the words that workers share to a late one of the run before, and take others.

        It touches nothing else: all that it finds is done.
        """
        words = self.artifact.words
        size = words.shared + words.own * self.workers
        self.control = np.zeros(words.control, np.int64)
        self.shared = empty_arena(8 * size).view(np.int64)
        self._rows: npt.NDArray[np.int64] | None = None

    def clear(self, step: int = 0) -> None:
        """Make the shared words those of a run that begins, with every tensor in the arena.

        Windows begin with what is read after ``step`` steps: see `forward`.
        """
        self.table[: len(self._places)] = self._places
        self.step = step
        for name, _, step_bytes, _ in self._windows.values():
            for k, size in self._entries.get(name, ()):
                self.table[k] -= self.first(name) * (step_bytes // size)
        if self.bounds is not None:
            self.bounds.clear()
        if self.transfers is not None:
            first = len(self._places)
            behind = first + self.artifact.interface.walk_words
            self.transfers.begin(self.table[first:behind])
        self.control.fill(0)
        self.shared.fill(0)

    @property
    def records(self) -> int:
        """How many steps have room in every window; 0 if there are no windows."""
        return min((steps - back for _, steps, _, back in self._windows.values()), default=0)

    def first(self, tensor: str) -> int:
        """The first step of a tensor that is in memory."""
        return max(0, self.step - self._windows[tensor][3]) if tensor in self._windows else 0

    def forward(self, step: int) -> None:
        """Move what is read after so many steps to the beginning of its window.

        The table leads there from the next `clear` with this step on.
        """
        for name, _, step_bytes, back in self._windows.values():
            start, first = self.layout.offsets[name], self.first(name)
            kept = max(first, step - back)
            whole = self.arena[start : start + (step - first) * step_bytes]
            new, old = whole[: (step - kept) * step_bytes], whole[(kept - first) * step_bytes :]
            self.offload((old,))
            new[...] = old.copy()
            self.fetch((new,))

    def fetch(self, parts: Iterable[Array]) -> None:
        """Bring parts of the arena to the memory of the workers, if that is another one."""

    def fetch_arguments(self) -> None:
        """Bring all arguments there."""

    def offload(self, parts: Iterable[Array]) -> None:
        """Bring what workers left to parts of the arena, if they have another memory."""

    def redirect(self, tensor: str, array: Array) -> None:
        """Let compiled code find a tensor in an array of its own."""
        address: int = array.__array_interface__["data"][0]
        for k, size in self._entries.get(tensor, ()):
            self.table[k] = (address - self._address) // size
            if self.bounds is not None:
                self.bounds.redirect(k, array)

    def rows(self, count: int, arguments: Sequence[object]) -> npt.NDArray[np.int64]:
        """The words that each of so many workers takes; all but ``VARYING`` are the frame's."""
        if self._rows is None:
            own = words_of((0, self.workers, *arguments))
            self._rows = np.array([own] * self.workers, np.int64)
            self._rows[:, 0] = range(self.workers)
        self._rows[:, 1] = count
        for k in VARYING:
            self._rows[:, OWN + k] = words_of(arguments[k : k + 1])
        return self._rows[:count]

    def view(self, each: InMemory) -> Array:
        """A tensor's memory as an array of its stored shape; of a window with its steps only."""
        shape = sizes(each.stored, self.extents)
        if each.tensor in self._windows:
            axis = next(k for k, size in enumerate(each.stored) if size != expr(1))
            shape = (*shape[:axis], self._windows[each.tensor][1], *shape[axis + 1 :])
        return stored_view(self.arena, each, self.layout.offsets[each.tensor], self.extents, shape)

    @cached_property
    def _elsewhere(self) -> frozenset[str]:
        """The tensors that may lie outside the arena: an argument or a result, not both."""
        interface = self.artifact.interface
        outputs = [each.tensor for each in interface.outputs]
        if interface.calls or len(set(outputs)) < len(outputs):
            return frozenset()  # who reads the arena by itself finds everything there
        inputs = {each.tensor for each in interface.inputs}
        point: Point = {Extent(name): n for name, n in self.extents.items()}
        return frozenset(
            each.tensor
            for each in (*interface.inputs, *interface.outputs)
            if each.tensor in inputs ^ set(outputs)
            and is_many(stored_bytes(each, self.extents))
            and each.is_as_stored(point)
        )

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(
            Argument(
                each,
                Entrance(self.view(each), each, self.extents),
                each.tensor in self._elsewhere,
            )
            for each in self.artifact.interface.inputs
        )

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(
            Outcome(
                each,
                Exit(self.view(each), each.axes, self._shape(each)),
                sizes(self.artifact.shapes[each.name], self.extents),
                self._longest(each.name),
                each.tensor in self._elsewhere,
            )
            for each in self.artifact.interface.outputs
        )

    def _shape(self, each: Field) -> tuple[int, ...]:
        """The part of the user's array that is in memory."""
        whole = sizes(each.shape, self.extents)
        window = self._windows.get(each.tensor)
        return whole if window is None else (window[1], *whole[1:])

    def _longest(self, name: str) -> tuple[int, ...]:
        whole = sizes(self.artifact.shapes[name], self.extents)
        if name not in self.artifact.varying:
            return whole
        count, shape = len(self.artifact.domains[name]), self.artifact.varying[name]
        return (*whole[:count], *longest(shape, whole[count:], self.extents))

    @cached_property
    def outcome(self) -> Mapping[str, Outcome]:
        """The outcomes by the names of the outputs."""
        return {each.field.name: each for each in self.outcomes}

    @cached_property
    def by_steps(self) -> Mapping[str, Exit]:
        """The ways of single steps of the outputs that have any, by their names."""
        outputs = [each for each in self.artifact.interface.outputs if each.axes]
        return {x.name: exit_by_steps(self.view(x), x, self.extents) for x in outputs}

    def direct(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The arguments that are read, and the results that are written, where they are."""
        out: dict[str, Array] = {}
        for each in self.arguments:
            if each.is_direct and is_readable(inputs[each.field.name], each.field):
                out[each.field.tensor] = inputs[each.field.name]
        for one in self.outcomes:
            if one.is_direct:
                out[one.field.tensor] = RESULTS.empty(one.exit.shape, one.exit.dtype)
        return out


def empty_result(way: Exit) -> Array:
    """Memory for a result; that of a large one is not new to the process, if possible."""
    if not is_many(way.size_bytes):
        return np.empty(way.shape, way.dtype)
    return RESULTS.empty(way.shape, way.dtype)


LARGE = 1 << 18  # bytes: more than stays in the nearest caches until it is read


def is_many(size_bytes: int) -> bool:
    """Whether an array of so many bytes is large."""
    return size_bytes >= LARGE


def is_readable(argument: Array, field: Field) -> bool:
    """Whether compiled code can read an argument where it is."""
    flags = argument.flags
    return argument.dtype == np.dtype(field.dtype) and flags.c_contiguous and flags.aligned
