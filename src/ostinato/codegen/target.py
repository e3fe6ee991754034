"""A kind of machine: the sizes by which passes decide, and how the loop IR is written for it.

A target says what is fast. What a program computes, and in which parts and order its sums add up,
is a property of the program: see `ostinato.codegen.ir.partial_sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from ostinato.codegen.loops.statements import Function
    from ostinato.machine.profile import Profile
    from ostinato.runtime.machine_code.ports import Unit


class Writer(Protocol):
    """Writes functions, and the parts that they share where they are first used.

    Errors: UnreadableError for a function that only the printed module can be compiled of.
    """

    def __call__(self, functions: Iterable[Function]) -> Iterator[Unit]: ...


@dataclass(frozen=True)
class Tiles:
    """How many rows a tile should have, so that what it computes stays near."""

    usual: int  # with layers of 64 numbers they stay in the nearest cache
    narrow: int  # where a row is at most a vector, so that loops are long enough to pay
    narrowest: int  # where rows fill no vectors by themselves
    block: int  # rows of a product that are in registers at a time
    beside: tuple[tuple[int, int], ...]  # numbers in a matrix, rows that read it
    beside_more: int  # rows beside a matrix that is in no near cache
    adding: int  # rows of a tile that adds once to sums of matrices, if there are enough
    unit: int = 1  # of the rows of a tile that has more of them

    def rows_beside(self, numbers: int) -> int:
        """The rows beside a matrix of so many numbers: a larger one should serve more of them."""
        return next((rows for most, rows in self.beside if numbers <= most), self.beside_more)


@dataclass(frozen=True)
class Target:
    """A kind of machine that programs are compiled for."""

    name: str
    vector_bytes: int  # of the widest register
    line_bytes: int  # of the caches: what different workers write should not share one
    page_bytes: int  # a load waits for an earlier store to the same place of another page
    near_bytes: int  # of the caches of one worker
    far_bytes: int  # of the caches that all workers share
    tiles: Tiles
    usual_workers: int  # so many tiles occupy them; of fewer, steps are shared out too
    alone_elements: int  # half of them take less time than workers need to meet a few times
    shared_elements: int  # of one kernel: less is done before other workers have come
    listed_rows: int  # positions that a list of living ones has room for
    names: Callable[[], frozenset[str]] = field(repr=False)  # what functions may call
    vector_functions: Callable[[], frozenset[str]] = field(repr=False)  # steps of a product
    text: Callable[[Function], str] = field(repr=False)
    """A function as source that people read."""
    module: Callable[[str, Sequence[str], Sequence[Function], Sequence[str]], str] = field(
        repr=False
    )
    """The printed module of a title, names of extents, functions, and their texts."""
    writer: Callable[[], Writer] = field(repr=False)
    digest: Callable[[], str] = field(repr=False)
    """What stands for primitives, libraries and the machine that code is made for."""
    keeps_parts: bool = False  # one worker folds a row in lanes: see `emit.accumulators`
    link_ns: float = 1.0  # of a byte that goes to a slower memory or back: a gigabyte a second
    deals_out_rows: bool = False  # to threads that do an item together, as they do a single row
    shared_lanes: int = 0  # more of them in a kernel that runs alone all workers share; 0: none
    takes_whole_tiles: bool = False  # all slots of a tile take no longer than those of its rows
    spread: int = 1  # tiles, groups of them and slices of sums that there should be, if there can
    adds_as: Target | None = None  # in whose tiles an exact program adds up, if not in its own
    profile: Profile | None = None  # what work takes, if not as measured on the host
    calls_python: bool = True  # functions of the user, while a run goes on
    checks_addresses: bool = True  # if a run is asked to
    runtime: Literal["host", "device"] = "host"  # what runs its code

    @property
    def lanes(self) -> int:
        """The float32 elements of a vector."""
        return self.vector_bytes // 4

    @property
    def has_one_driver(self) -> bool:
        """Whether every run has the driver that runs in parts: another one is compiled for long."""
        return self.runtime == "device"

    def workers(self, cores: int) -> int:
        """How many workers run a program where the host has so many cores."""
        return cores if self.runtime == "host" else self.usual_workers

    def adding(self, exact: bool) -> Target:
        """The target by which a program is planned."""
        return self.adds_as if exact and self.adds_as is not None else self

    def groups(self, least: int, sums: int) -> int:
        """How many groups of tiles add up ``sums`` numbers each; their sums stay in the caches.

        >>> from ostinato.codegen.cpu.cpu_target import CPU
        >>> CPU.groups(8, 10_000)
        8
        """
        found = self.spread
        while found > least and 4 * found * sums > self.far_bytes:
            found //= 2
        return max(found, least)

    def together(self, slots: int) -> int:
        """How many slots of a tile are computed together: as many as some vectors have lanes."""
        return slots if self.takes_whole_tiles else together(slots, self.lanes)


def together(slots: int, lanes: int) -> int:
    """How many slots of a tile are computed together where a vector has so many lanes.

    >>> together(32, 16), together(128, 16), together(24, 16)
    (16, 32, 24)
    """
    each = max(lanes, slots // 4)
    return each if slots % each == 0 else slots
