"""What a compilation leaves behind: source, interface, arena plan and explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ostinato.pdg.claims import Claim
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Expr
from ostinato.report.kernels import KernelRecord
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.ports import Interface, Paused, Profiled, Units
from ostinato.runtime.run.explanation import Explanation

Place = Callable[[Mapping[str, int], int], Layout]  # extents, workers
PlaceStream = Callable[[Mapping[str, int], int, int, int], Layout]
Price = Callable[[Mapping[str, int], int], Mapping[str, float]]  # nanoseconds by what takes them


def unpriced(extents: Mapping[str, int], workers: int) -> Mapping[str, float]:
    """The prediction of an artifact that has none."""
    return {}


def unrecorded(extents: Mapping[str, int], workers: int) -> tuple[KernelRecord, ...]:
    """The kernels of an artifact of which nothing is known."""
    return ()


def unstreamed(extents: Mapping[str, int], workers: int, records: int, usual_bytes: int) -> Layout:
    """The layout of an artifact that keeps all records."""
    raise AssertionError("this program was made without a layout for streams")


def unprofiled() -> Profiled:
    """The driver of an artifact that has none that stamps the time."""
    raise AssertionError("this program was made without a driver that stamps the time")


def unpaused() -> Paused:
    """The driver of an artifact that has none whose loop runs in parts."""
    raise AssertionError("this program was made without a driver that runs in parts")


class Words(NamedTuple):
    """The words that workers share with the host and with each other.

    ``stop`` and ``done`` are places in the ``control`` words: a request to stop, and the steps that
    are published. Phases take ``shared`` words, and ``own`` ones for each worker.
    """

    stop: int
    done: int
    control: int
    shared: int
    own: int


@dataclass(frozen=True)
class Artifact:
    """A compiled program at rest; everything in it can be pickled.

    ``source`` is for readers and for Numba; ``units`` writes the same as LLVM modules.
    ``domains`` gives the dims of every output by name, ``shapes`` its whole array's shape,
    ``lines`` the place in the user's program; ``words`` are those that workers share. ``varying``
    gives the shape at a point of every output whose size follows the point: see `longest`.
    ``place_stream`` finds the layout of a stream, of which some records have room at a time: so
    many, or if 0 as many as some bytes hold.
    ``constants`` are inputs that the program itself supplies, ``claims`` what every run checks,
    ``price`` what a run is predicted to take, ``profiled`` the driver that stamps time,
    ``records`` what the kernels do in a run, ``paused`` the driver that runs in parts. ``short``
    says up to which value of an extent other tiles are better.
    """

    source: str
    units: Units
    interface: Interface
    place: Place
    domains: Mapping[str, tuple[str, ...]]
    shapes: Mapping[str, tuple[Expr, ...]]
    words: Words
    varying: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict[str, tuple[Expr, ...]])
    lines: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])
    explanation: Explanation = field(default_factory=Explanation)
    claims: tuple[Claim, ...] = ()
    memory_limit: int = 0
    place_stream: PlaceStream = unstreamed
    price: Price = unpriced
    profiled: Callable[[], Profiled] = unprofiled
    records: Callable[[Mapping[str, int], int], tuple[KernelRecord, ...]] = unrecorded
    paused: Callable[[], Paused] = unpaused
    short: Mapping[str, int] = field(default_factory=dict[str, int])
