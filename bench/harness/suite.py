"""What a suite is: cases, the programs that run in each, and the ratios that it aims at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

Size = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One program of one system.

    ``factory`` is ``module:function``. In a process of its own it is called with the sizes of the
    case and of the entry by name, and with what else is ``given``, which no row shows. It returns
    a function without arguments that takes one sample: a number in the case's unit, or numbers by
    unit. ``peer`` names the environment it needs, a file ``bench/peers/requirements-PEER.txt``;
    without one it runs beside ostinato. Entries of one system with different ``form`` compete: the
    best is the system's figure.
    """

    system: str
    factory: str
    peer: str = ""
    form: str = ""
    size: Size = field(default_factory=dict[str, int | str])
    given: Size = field(default_factory=dict[str, int | str])


@dataclass(frozen=True, slots=True)
class Beside:
    """Busy processes beside what is measured, each in a session of its own or in the benchmark's.

    See `bench.harness.neighbours`.
    """

    neighbours: int = 0
    own_sessions: bool = True

    @property
    def size(self) -> Size:
        sessions = ("own" if self.own_sessions else "one") if self.neighbours else "none"
        return {"neighbours": self.neighbours, "sessions": sessions}


@dataclass(frozen=True, slots=True)
class Case:
    """Entries that do the same work, and are measured in turns.

    With ``beside`` they are measured once for each of its places, the first of which is quiet.
    The figure of a row is the worst sample then, not the median, and a second row says which part
    of the quiet figure that is: ``kept``. ``cores`` are the processors that a program had.
    """

    program: str
    size: Size
    unit: str
    entries: tuple[Entry, ...]
    warm_up: bool = True
    beside: tuple[Beside, ...] = ()

    def has(self, wanted: Mapping[str, frozenset[str]]) -> bool:
        """Return whether every wanted name has one of its values here; ``program`` is one."""
        known = {"program": self.program, **{name: str(value) for name, value in self.size.items()}}
        return all(known.get(name) in values for name, values in wanted.items())


@dataclass(frozen=True, slots=True)
class Target:
    """A ratio of ostinato to a system, above 1 where ostinato is better; or a bound of a value.

    Without a system, ``floor`` and ``aim`` are of ostinato's own value. It holds for the rows with
    this unit whose program and sizes are those given.
    """

    system: str
    floor: float
    aim: float
    unit: str
    size: Size = field(default_factory=dict[str, int | str])
    program: str = ""

    def judges(self, program: str, size: Size, unit: str) -> bool:
        same = all(size.get(name) == value for name, value in self.size.items())
        return same and unit == self.unit and self.program in ("", program)


@dataclass(frozen=True, slots=True)
class Suite:
    """One table: what is measured, in words for readers, and how.

    Sizes named in ``within`` differ between programs that are compared, such as threads. The first
    row of ostinato in a group is what the others are compared with. No round begins after a part
    of ``budget_s``, as large for each measurement, but the first.
    """

    name: str
    title: str
    text: str
    cases: tuple[Case, ...]
    targets: tuple[Target, ...] = ()
    within: tuple[str, ...] = ()
    budget_s: float = math.inf


def is_better_low(unit: str) -> bool:
    """Return whether less of a unit is better: times, bytes and work done again, but not rates."""
    return unit in ("s", "ms", "us", "again") or unit.endswith(("_s", "bytes"))
