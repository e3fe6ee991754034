"""Fewer slots where a proof allows: values carried from the last step of one loop to another.

``theta[i, e] = new[i - 1, E - 1]`` at ``e = 0`` reads the last epoch of an iteration only. The
direct rules keep every epoch of ``new``; here fewer slots are proposed, and isl decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.codegen.ir.tree import Loop, Site
from ostinato.codegen.memory.reuse import Prover
from ostinato.codegen.memory.storage import (
    MOST_SLOTS,
    Slot,
    Storage,
    mirrored,
    overwrites_own_element,
    runs_with_axis,
)
from ostinato.codegen.scheduling.deps import Dep
from ostinato.codegen.scheduling.leaves import reads_same_element
from ostinato.codegen.scheduling.legality import shared_loops
from ostinato.pdg.condition import cond_symbols
from ostinato.pdg.index import Dim, expr


@dataclass(frozen=True)
class _Tightener:
    proofs: Prover
    sites: Mapping[str, Site]
    readers: Mapping[str, Sequence[Dep]]

    def storage(self, s: Storage) -> Storage:
        """The storage with as few slots as can be proved, innermost loops first."""
        readers = self.readers.get(s.tensor, ())
        path = self.sites[s.tensor].path
        if s.place == "register" or not readers or not all(map(self.is_ordered, readers)):
            return s
        for loop in reversed(path):
            place = next((k for k, slot in enumerate(s.slots) if slot.dim == loop.dim), None)
            if place is not None and not loop.parallel and s.slots[place].kind != "one":
                s = self.fewer(s, place, loop, readers)
        return s

    def is_ordered(self, d: Dep) -> bool:
        """Whether a reader in the nest of the writer reads the element that it replaces."""
        if self.sites[d.reader.name].leaf is not self.sites[d.tensor].leaf:
            return True
        return reads_same_element(d) or overwrites_own_element(d)

    def fewer(self, s: Storage, place: int, loop: Loop, readers: Sequence[Dep]) -> Storage:
        slot = s.slots[place]
        reach = [_reach(d, loop) for d in readers]
        farthest = max((r for r in reach if r is not None), default=0)
        if None in reach or any(self.reads_all(d, loop) for d in readers):
            return s
        for count in sorted({max(farthest, 1), farthest + 1}):
            if count > MOST_SLOTS or (slot.kind == "circular" and count >= slot.extent.as_int()):
                break
            kept = Slot(slot.dim, "one" if count == 1 else "circular", expr(count))
            proposed = replace(s, slots=(*s.slots[:place], kept, *s.slots[place + 1 :]))
            if all(self.proofs.is_safe(d, proposed) for d in readers):
                return proposed
        return s

    def reads_all(self, d: Dep, loop: Loop) -> bool:
        """Whether a reader takes every step, one by one, after the loop has ended.

        isl would take long to find that out where the loop is a part of a long row.
        """
        if any(each.dim == loop.dim for each in shared_loops(d, self.proofs.when)):
            return False
        own = loop.dim in d.consumer.dims and _index(d, loop.dim) == expr(loop.dim)
        return own and loop.dim not in cond_symbols(d.cond)


def _reach(d: Dep, loop: Loop) -> int | None:
    """How many steps back a reader looks: none if it reads the last step; None: anywhere."""
    if runs_with_axis(d, loop.dim):
        return None
    index = _index(d, loop.dim)
    if index == (loop.span.lo if loop.reverse else loop.span.hi - 1):
        return 0
    lo, hi = d.gap(loop.dim)
    near, far = (lo, hi) if not loop.reverse else mirrored(lo, hi)
    return None if near is None or near < 0 else far


def _index(d: Dep, dim: Dim) -> object:
    return dict(zip(d.producer.main.result_dims, d.load.dims, strict=True))[dim]


def tightened(
    storage: Mapping[str, Storage],
    proofs: Prover,
    sites: Mapping[str, Site],
    deps: Sequence[Dep],
    outputs: frozenset[str],
) -> dict[str, Storage]:
    """The storage of every tensor with as few slots as can be proved; outputs keep all points."""
    readers: dict[str, list[Dep]] = {}
    for d in deps:
        readers.setdefault(d.tensor, []).append(d)
    tightener = _Tightener(proofs, sites, readers)
    return {
        name: s if name in outputs or name not in sites else tightener.storage(s)
        for name, s in storage.items()
    }
