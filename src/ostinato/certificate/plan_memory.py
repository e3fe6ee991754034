"""What a schedule says of waiting and of memory, as data: barriers, slots, and places in the arena.

None of it is believed: `ostinato.certificate.slots` and `ostinato.certificate.arena_proof` check
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.certificate.order import Loop, Moment, Step
from ostinato.pdg.index import Dim, Expr

SLOTS = ("full", "circular", "one")
PLACES = ("global", "local", "register")


@dataclass(frozen=True, slots=True)
class Fill:
    """Where the accumulator of a fold is set to its unit: loops to cut as of a `Step`."""

    of: str
    loops: tuple[Loop, ...]
    time: tuple[Moment, ...]
    call: int
    cut: Expr | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """How many points of a dimension are stored: all, the last ``extent`` ones, or one."""

    dim: Dim
    kind: str
    extent: Expr


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where the values of a statement live.

    ``axes`` are the sizes of the array at one point, ``item`` the bytes of an element. ``of`` is
    the statement that writes it: scratch memory has another name than its statement. Inputs have no
    statement. What ``shares`` the place of another tensor has none of its own.
    """

    name: str
    of: str
    place: str
    slots: tuple[Slot, ...]
    axes: tuple[Expr, ...]
    item: int
    shares: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The arena at given extents: offsets in bytes; what is local is that of the first worker.

    Each further worker has its part ``stride`` bytes behind that of the one before.
    """

    extents: Mapping[str, int]
    offsets: Mapping[str, int]
    stride: int
    total: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Times at which all workers wait for each other, accumulators, and places of tensors.

    ``given`` are filled before the run, ``kept`` are read when it has ended.
    """

    barriers: tuple[tuple[Moment, ...], ...]
    fills: tuple[Fill, ...]
    tensors: tuple[Tensor, ...]
    given: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """The statements of a schedule in their order, and its memory."""

    steps: tuple[Step, ...]
    memory: Memory
