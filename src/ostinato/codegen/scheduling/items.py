"""Components of one loop level, and the loops that they could run in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ostinato.codegen.scheduling.deps import Dep, Unit
from ostinato.pdg.index import Dim

Sign = Literal["any", "forward", "backward"]


@dataclass(frozen=True, slots=True)
class Header:
    """The loop of a group: its dim, whether it is parallel, and the order it needs.

    All of a parallel one may run ``along`` another dim, whose steps are independent as well.
    """

    dim: Dim
    parallel: bool
    sign: Sign
    along: Dim | None = None


Heading = Header | Literal["straight"]
STRAIGHT: Heading = "straight"  # leaves one after the other, no loop around them


@dataclass(frozen=True)
class Item:
    """A strongly connected component and the loops that it could run in."""

    units: tuple[Unit, ...]
    inner: tuple[Dep, ...]
    options: dict[Dim, Header]

    @property
    def is_stuck(self) -> bool:
        return bool(self.inner) and not self.options

    def preferred(self, forced: frozenset[Dim], last: frozenset[Dim] = frozenset()) -> Heading:
        """The loop to open around the component, or the heading of a straight run.

        Of parallel loops those over ``last`` stand inside others.
        """
        pulled = [h for d, h in self.options.items() if d in forced]
        free = [h for h in self.options.values() if h.sign == "any"]
        kept = [h for h in free if not any(h.dim in u.main.reduced for u in self.units)]
        parallel = sorted((h for h in free if h.parallel), key=lambda h: h.dim in last)
        ranked = [*pulled, *parallel, *kept, *free, *self.options.values()]
        return ranked[0] if ranked else STRAIGHT
