"""Records of what the runtime must know about a program: they are kept with its machine code.

Emission makes them. They import no stage of the compiler: a program that only runs needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal

from ostinato.pdg.index import Dim, Expr, Point, evaluate
from ostinato.pdg.node import Dtype


@dataclass(frozen=True)
class Unit:
    """A function as a module of the target, as text, and what it is."""

    name: str
    text: str
    kind: Literal["kernel", "driver", "part"]


SYMBOL = "ostinato.entry"
"""The one function that a module of machine code exports."""

Units = Callable[[], Iterable[Unit]]


@dataclass(frozen=True, slots=True)
class View:
    """A part of a tensor: its shape at a point, and the elements between neighbours."""

    tensor: str
    dtype: Dtype
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call of a Python function from compiled code.

    It writes the coordinates of ``dims``, the offset of every operand and that of the result.
    """

    number: int
    dims: tuple[Dim, ...]
    operands: tuple[View, ...]
    result: View


@dataclass(frozen=True, slots=True)
class Field:
    """An argument or a result in the arena.

    ``stored`` is the row-major array in memory, ``shape`` the user's array (dims in declaration
    order, then axes). ``axes`` gives for each of its axes the stored axes that it is made of: one,
    or the tile and the position in the tile, whose product may exceed the extent.
    """

    name: str
    tensor: str
    dtype: Dtype
    stored: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    axes: tuple[tuple[int, ...], ...]

    @property
    def is_in_order(self) -> bool:
        """Whether axes are stored in the order of the user's array."""
        order = [k for group in self.axes for k in group]
        return order == sorted(order)

    def is_as_stored(self, point: Point) -> bool:
        """Whether the user's array and the stored one have the same bytes, in the same order."""
        stored = [evaluate(size, point) for size in self.stored]
        together = [prod(stored[k] for k in group) for group in self.axes]
        return self.is_in_order and together == [evaluate(size, point) for size in self.shape]


@dataclass(frozen=True, slots=True)
class Area:
    """The memory of a tensor, for a run that checks addresses: its shape, and whose it is.

    ``label`` and ``where`` are the user's name and line; of a ``local`` one each worker has a copy.
    """

    tensor: str
    label: str
    where: str
    shape: tuple[Expr, ...]
    local: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """A tensor of which later steps of the published loop read what earlier ones left.

    ``stored`` is the row-major array in memory. Of the stored axes ``single`` have one point, and
    ``steps`` is that of the loop's dim, if its points are kept: all, or the last ones ("circular").
    ``axes`` gives for each axis of the user's array at a step, which has the ``shape``, those of
    the remaining stored axes that it is made of. Later steps look ``back`` so far; None: to any.
    """

    name: str
    tensor: str
    dtype: Dtype
    stored: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    axes: tuple[tuple[int, ...], ...]
    single: tuple[int, ...]
    steps: int | None
    kind: Literal["full", "circular", "one"]
    back: int | None


InMemory = Field | Carried


@dataclass(frozen=True, slots=True)
class Interface:
    """The entry point's view of the arena.

    ``tensors`` are the entries of the offset table with the bytes of one element; ``tiles`` the
    iterations or slices that workers share, per kernel; ``streamed`` the dim of the published loop,
    if any; ``late`` the outputs that are computed after that loop; ``calls`` the functions to call.
    Where addresses are checked, ``areas`` are those of the entries, ``together`` the tensors that
    each kernel accesses. Behind the entries stand ``walk_words``: see `transfer_thread`.
    """

    extents: tuple[str, ...]
    tensors: tuple[tuple[str, int], ...]
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    tiles: tuple[Expr, ...]
    streamed: str
    late: frozenset[str]
    calls: tuple[PythonCall, ...] = ()
    areas: tuple[Area, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    walk_words: int = 0


@dataclass(frozen=True, slots=True)
class Paused:
    """A driver that leaves the published loop and enters it at any step, and what it carries.

    ``words`` are those that say what to run: the steps that are done, after how many to leave, the
    part; then what the part says for all before the loop, and for all from it on.
    """

    units: Units
    carried: tuple[Carried, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Profiled:
    """A driver that writes a log, and what the slots and marks of the log stand for.

    Slots are those of the kernels, then of the barriers, each given by the kernels it waits for.
    """

    units: Units
    kernels: tuple[str, ...]
    waits: tuple[tuple[int, ...], ...]
    loops: tuple[str, ...]
