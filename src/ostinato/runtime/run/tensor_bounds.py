"""The bounds of all tensors of a run that checks addresses, and what the run found.

They stand before the offset table, where checked machine code looks for them: see
`ostinato.runtime.machine_code.addresses`. They are computed from shapes and the layout, not from
the table; and the layout itself is checked here, with the tensors that each kernel accesses and the
phases in which they are in use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import AddressError
from ostinato.runtime.machine_code.address_origins import ENTRY, FAULT
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.ports import Area, Interface
from ostinato.runtime.run.arrays import ALIGNMENT, Array, sizes

REMEDY = (
    "This is a bug of the compiler, and nothing was touched there: please report the program. "
    "`program.interpret` computes its results."
)


def words_before(interface: Interface) -> int:
    """The words that stand before an offset table: none where addresses are not checked."""
    return FAULT + ENTRY * len(interface.areas) if interface.areas else 0


@dataclass(frozen=True)
class _Place:
    """The bytes of a tensor from the arena's start on: those of worker 0, if each has a copy."""

    area: Area
    first: int
    end: int
    step: int  # bytes from one worker's copy to the next one's
    item: int


class Bounds:
    """The words before a table, and what they say."""

    def __init__(
        self,
        interface: Interface,
        layout: Layout,
        extents: Mapping[str, int],
        workers: int,
        words: npt.NDArray[np.int64],
        arena: Array,
    ) -> None:
        """Find the bounds of all entries.

        Errors: AddressError if two tensors that are in use at once lie in one place, or one does
        not lie in the arena.
        """
        self._words, self._workers, self._arena = words, workers, arena.ctypes.data
        self._places: list[_Place] = []
        windows = {name: steps * size for name, steps, size, _ in layout.windows}
        for area, (name, item) in zip(interface.areas, interface.tensors, strict=True):
            assert area.tensor == name, f"{area.tensor} is not the area of {name}"
            first = layout.offsets[name]
            count = math.prod(max(0, n) for n in sizes(area.shape, extents))
            held = windows.get(name, count * item)
            step = layout.local_stride if area.local else 0
            self._places.append(_Place(area, first, first + held, step, item))
        self._by_name = {place.area.tensor: place for place in self._places}
        for wrong in self._misplaced(interface, layout, arena.size):
            raise wrong

    def clear(self) -> None:
        """Let a run begin: nothing has gone wrong, and every tensor lies in the arena."""
        self._words[:] = 0
        self._now = [(self._arena + p.first, self._arena + p.end) for p in self._places]
        for entry in range(len(self._places)):
            self._write(entry)

    def redirect(self, entry: int, array: Array) -> None:
        """An entry leads to an array outside of the arena during this run."""
        first: int = array.__array_interface__["data"][0]
        self._now[entry] = first, first + array.nbytes
        self._write(entry)

    def _write(self, entry: int) -> None:
        at = len(self._words) - FAULT - ENTRY * (entry + 1)
        is_own = int(self._places[entry].area.local)
        self._words[at : at + ENTRY] = (*self._now[entry], is_own)

    def fault(self) -> AddressError | None:
        """The first access that was outside, if there was one."""
        is_wrong, first, end, at, size, entry, is_store, _ = map(int, self._words[-FAULT:])
        if not is_wrong:
            return None
        if not entry:
            what = "the memory of a product or a list of positions"
            return AddressError(
                f"{what}, {end - first} bytes, was left at byte {at - first}", REMEDY
            )
        place = self._places[entry - 1]
        return _outside(place, at - first, size, "written" if is_store else "read")

    def require(self, tensor: str, at: int, size: int, way: str) -> None:
        """Refuse bytes, from the arena's start on, that are not all those of one copy of a tensor.

        Errors: AddressError.
        """
        place = self._by_name[tensor]
        copies = range(self._workers if place.step else 1)
        firsts = [place.first + k * place.step for k in copies]
        length = place.end - place.first
        if size and not any(f <= at and at + size <= f + length for f in firsts):
            raise _outside(place, at - min(firsts, key=lambda f: abs(at - f)), size, way)

    # ------------------------------------------------------------ the layout

    def _misplaced(
        self, interface: Interface, layout: Layout, arena_bytes: int
    ) -> Iterator[AddressError]:
        place: _Place | None
        for place in self._by_name.values():
            last = place.end + (self._workers - 1) * place.step
            if place.first % ALIGNMENT or place.first < 0 or last > arena_bytes:
                of = f"bytes {place.first} to {last} of an arena of {arena_bytes}"
                yield AddressError(f"{_named(place)} lies in {of}", REMEDY, place.area.where)
            if place.step and place.end - place.first > place.step:
                of = f"{place.end - place.first} bytes, and {place.step} for each worker"
                yield AddressError(f"{_named(place)} has {of}", REMEDY, place.area.where)
        for names in interface.together:
            yield from self._meeting([self._by_name[name] for name in names])
        blocks = [(self._by_name.get(b[0]), b) for b in layout.blocks]
        for (one, a), (other, b) in combinations(blocks, 2):
            in_use = a[3] <= b[4] and b[3] <= a[4]
            if in_use and max(a[1], b[1]) < min(a[1] + a[2], b[1] + b[2]):
                place, beside = (one, b[0]) if one is not None else (other, a[0])
                assert place is not None, "one block is that of all workers"
                fact = f"{_named(place)} lies where {beside} does"
                yield AddressError(fact, REMEDY, place.area.where)
        for found, (name, first, size, *_) in blocks:
            if found is not None and not (first <= found.first and found.end <= first + size):
                fact = f"{_named(found)} does not lie in the {size} bytes of {name}"
                yield AddressError(fact, REMEDY, found.area.where)

    def _meeting(self, places: list[_Place]) -> Iterator[AddressError]:
        """Tensors of one kernel that lie in one place, worker by worker."""
        spans = [
            (p.first + k * p.step, p.end + k * p.step, p)
            for p in places
            for k in range(self._workers if p.step else 1)
            if p.end > p.first
        ]
        spans.sort(key=lambda span: span[:2])
        for (_, end, one), (first, _, other) in zip(spans, spans[1:], strict=False):
            if first < end:
                fact = f"{_named(other)} lies where {_named(one)} does"
                yield AddressError(fact, REMEDY, other.area.where)


def _named(place: _Place) -> str:
    area = place.area
    own = "" if area.label == area.tensor else f" ({area.tensor})"
    return f"`{area.label}`{own}"


def _outside(place: _Place, at: int, size: int, way: str) -> AddressError:
    """The error of an access ``at`` bytes behind the tensor's first one."""
    whole, rest = divmod(at, place.item)
    offset = f"element {whole}" if not rest else f"byte {at}"
    count = (place.end - place.first) // place.item
    many = f", {size // place.item} at once," if size > place.item else ""
    fact = f"{_named(place)} would be {way} at {offset}{many} and has {count} elements"
    return AddressError(fact, REMEDY, place.area.where)
