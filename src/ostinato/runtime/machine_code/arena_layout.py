"""Where every tensor lies for given extents and workers, and what moves between memory and a file.

Planning finds it, a run follows it, certificates and pictures tell of it: all read these records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Transfer(NamedTuple):
    """A block goes "out" to the file, comes "back", or is in need of neither: "drop".

    It is issued at a point, and another one waits for its end.
    """

    way: str
    block: int
    issued: int
    due: int


class Room(NamedTuple):
    """So many steps are in blocks of ``block_steps``, of which ``blocks`` have room at once.

    A block has so many ``rows``, each so many bytes behind the one before.
    """

    steps: int
    step_bytes: int
    block_steps: int
    blocks: int
    rows: int = 1
    row_bytes: int = 0

    @property
    def bytes(self) -> int:
        """What takes memory at once."""
        return self.rows * min(self.blocks * self.block_steps, self.steps) * self.step_bytes


class Part(NamedTuple):
    """Points that are come to so many times over, with the same transfers each time.

    Points are visits by number and the blocks that they arrive at. Transfers count from the first
    of them: what is issued at -1 is issued one point before. One without points is a call's end.
    """

    times: int
    points: tuple[tuple[int, int], ...]
    transfers: tuple[Transfer, ...]


class Passage(NamedTuple):
    """The transfers of a history in one call of a kernel, or `around` calls in a driver's loop.

    ``copies`` walks run at once, each with room of its own. ``visits`` are in trees of the kernel's
    body by their place, each with its number of steps, none for a round. Steps are along a
    ``slot``; if that is -1 the history is moved as a whole.
    """

    walk: int
    kernel: int
    tensor: str
    copies: int
    room: Room
    visits: tuple[tuple[int, int], ...]
    parts: tuple[Part, ...]
    around: int = 0
    slot: int = 0
    rows: int = 1


@dataclass(frozen=True)
class Moves:
    """The memory that steps in use take, what is moved without a plan, and all transfers.

    ``found`` finds the transfers, which is only done for a run or its explanation. ``again_bytes``
    is what rounds bring back, roughly.
    """

    room_bytes: int = 0
    unplanned: tuple[str, ...] = ()
    link_ns: float = 0.0  # of a byte
    again_bytes: int = 0
    found: Callable[[], tuple[Passage, ...]] = field(default=tuple, compare=False)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All transfers, of each history in each call."""
        return self.found()


class Window(NamedTuple):
    """The steps of a tensor that have room at a time, the bytes of one, how far reads look back."""

    tensor: str
    steps: int
    step_bytes: int
    back: int


@dataclass(frozen=True)
class Layout:
    """Where every tensor starts, in bytes from the arena's start.

    Offsets of worker-local tensors are those of worker 0; worker ``k`` adds ``k * local_stride``.
    ``lower_bound_bytes`` is what is in use at once in the fullest phase. ``blocks`` are what shares
    the arena: name, offset, bytes, first and last phase of use. What lies behind ``memory_bytes``
    is in a file, and ``moves`` are its transfers. Of tensors with ``windows`` so many steps have
    room at a time: a stream keeps no others.
    """

    offsets: Mapping[str, int]
    local_stride: int
    total_bytes: int
    lower_bound_bytes: int
    blocks: tuple[tuple[str, int, int, int, int], ...] = ()
    memory_bytes: int = 0
    windows: tuple[Window, ...] = ()
    moves: Moves = Moves()

    @property
    def peak_bytes(self) -> int:
        """The bytes that take memory at once."""
        return self.memory_bytes + self.moves.room_bytes
