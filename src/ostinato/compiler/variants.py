"""The variants of a compiled program: one for any extents, and one for each class of short ones.

A tile has so many rows that vectors are full. Of a batch of a few rows most of a tile would be
empty, in memory and in every loop over it; and one point alone, of a dim whose points are work for
a worker each, would leave all other workers idle. Such a program is planned again for its class of
extents, powers of two, as if they had been given as hints, and compiled if that plan is predicted
to be faster, or to need far less memory. That takes as long as the first time, so it is done where
a run is predicted to take a while, when it is first needed.

A stream has a variant of its own where the usual one computes no step after another: its outermost
loop completes a record with every step.

Which variant runs follows from the extents, the program and the machine, never from what ran before
or from the number of threads. Exact programs have none: theirs would add up in other tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim, Extent, symbols
from ostinato.runtime.disk.sealed import Note
from ostinato.runtime.run.extent_choices import PREDICTED

if TYPE_CHECKING:
    from ostinato.codegen.target import Target
    from ostinato.compiler.options import Request
    from ostinato.runtime.run.artifact import Place, Price
    from ostinato.runtime.run.executor import Executable

VARIANTS = "variants.json"
WORTH_NS = 100_000.0  # of a run: compiling a variant takes longer than thousands of shorter ones
GAIN = 0.9  # of the usual time: predictions err, and a variant takes time to compile
LESS, SAME = 0.6, 1.05  # of the usual memory is a gain too, in as much time as predictions can tell
USUAL = "one for any extents"
BRIEF, ALIKE, BETTER = "brief", "alike", "better"  # what is known of a class of extents


@dataclass(frozen=True)
class Variant:
    """A compilation of a program, and why it is the one for some extents."""

    executable: Executable
    request: Request
    why: str = USUAL


NEXT_STEPS = "one for streams over `{}`: each of its steps completes a record"
Look = Callable[["Price", "Place"], None]  # is shown what a plan takes before it is compiled
Make = Callable[[Mapping[str, int], Look], Variant]
Stepping = Callable[[str], Variant]


class _NotBetter(Exception):
    """A plan gains too little to be compiled."""


class Variants:
    """All variants of one program.

    ``make`` compiles it with further hints, ``stepping`` for streams over a dim. ``workers`` are
    those of predictions: the number of threads decides nothing.
    """

    def __init__(self, usual: Variant, make: Make, stepping: Stepping, workers: int) -> None:
        executable = usual.executable
        self.usual, self._make, self._workers = usual, make, workers
        self._stepping, self._streaming = stepping, dict[str, Variant]()
        self._made: dict[tuple[tuple[str, int], ...], Variant] = {}
        self._planned: dict[tuple[tuple[str, int], ...], tuple[Price, Place]] = {}
        self._note = Note(executable.directory, executable.key, VARIANTS)
        self._known: dict[str, str] | None = None
        self._last: tuple[Mapping[str, int], Variant] = ({}, usual)

    @property
    def last(self) -> Variant:
        """The one that ran last."""
        return self._last[1]

    def at(self, extents: Mapping[str, int]) -> Variant:
        """The variant for extents; the first time it may have to be compiled."""
        if not self.usual.executable.artifact.short:
            return self.usual
        known = self._last
        if known[0] != extents:
            known = self._last = (dict(extents), self._found(extents))
        return known[1]

    def streaming(self, dim: str, extents: Mapping[str, int]) -> Variant:
        """The variant for a stream, with records while it runs if there is such a one."""
        found = self.at(extents)
        if found.executable.is_live(dim):
            return found
        if dim not in self._streaming:
            self._streaming[dim] = self._stepped(dim)
        made = self._streaming[dim]
        if not made.executable.is_live(dim):
            return found
        self._last = ({}, made)
        return made

    def _stepped(self, dim: str) -> Variant:
        try:
            made = self._stepping(dim)
        except OstinatoError:  # the usual one has a schedule, and fits into its limit
            return self.usual
        return Variant(made.executable, made.request, NEXT_STEPS.format(dim))

    def _found(self, extents: Mapping[str, int]) -> Variant:
        short = short_extents(self.usual.executable.artifact.short, extents)
        if not short:
            return self.usual
        of = ", ".join(f"{name} <= {most}" for name, most in sorted(short.items()))
        try:
            found = self._judged(short, extents)
            made = self._compiled(short) if found == BETTER else self.usual
        except OstinatoError as refused:  # the usual one has a schedule
            return self._usual(f"for {of} there is none, {refused.fact}")
        if found == BRIEF:
            return self._usual(f"with {of} it takes less than {WORTH_NS / 1e6:g} ms")
        if found == ALIKE:
            return self._usual(f"one for {of} is predicted to gain too little")
        why = f"one for {of}: tiles of more rows, or workers for them, would have little to do"
        return Variant(made.executable, made.request, why)

    def _usual(self, why: str) -> Variant:
        return Variant(self.usual.executable, self.usual.request, f"{USUAL}: {why}")

    def _judged(self, short: Mapping[str, int], extents: Mapping[str, int]) -> str:
        """What a variant does for a run at the largest extents of the same classes."""
        if self._known is None:
            self._known = self._note.table(str)
        largest = {name: power_of_two(n) for name, n in sorted(extents.items())}
        key = " ".join(f"{name}<={n}" for name, n in largest.items())
        if key not in self._known:
            self._known[key] = self._predicted(short, largest)
            self._note.put(self._known)
        return self._known[key]

    def _predicted(self, short: Mapping[str, int], extents: Mapping[str, int]) -> str:
        def taken(price: Price, place: Place) -> tuple[float, int]:
            ns = price(extents, self._workers).get(PREDICTED, 0.0)
            return ns, place(extents, self._workers).peak_bytes

        usual = self.usual.executable.artifact
        usual_ns, usual_bytes = taken(usual.price, usual.place)
        if usual_ns < WORTH_NS:
            return BRIEF

        def look(price: Price, place: Place) -> None:
            ns, peak_bytes = taken(price, place)
            if ns > (SAME if peak_bytes <= LESS * usual_bytes else GAIN) * usual_ns:
                raise _NotBetter

        try:
            self._compiled(short, look)
        except _NotBetter:
            return ALIKE
        return BETTER

    def _compiled(self, short: Mapping[str, int], look: Look | None = None) -> Variant:
        key = tuple(sorted(short.items()))

        def noting(price: Price, place: Place) -> None:
            self._planned[key] = price, place
            if look is not None:
                look(price, place)

        if key in self._planned and look is not None:
            look(*self._planned[key])
        if key not in self._made:
            self._made[key] = self._make(short, noting)
        return self._made[key]


def power_of_two(n: int) -> int:
    """The least power of two that is not less.

    >>> [power_of_two(n) for n in (1, 2, 3, 8, 9)]
    [1, 2, 4, 8, 16]
    """
    return 1 << (n - 1).bit_length()


def short_names(short: Mapping[Dim, int], target: Target) -> dict[str, int]:
    """Up to where extents are short; those of a product are, if the target wants many tiles."""
    out: dict[str, int] = {}
    for dim, most in short.items():
        if isinstance(dim.extent, Extent) or target.spread > 1:
            for name in (x.name for x in symbols(dim.extent) if isinstance(x, Extent)):
                out[name] = max(most, out.get(name, 0))
    return out


def short_extents(most: Mapping[str, int], extents: Mapping[str, int]) -> dict[str, int]:
    """The classes of short extents; ``most`` says up to where they are short.

    >>> short_extents({"B": 8}, {"B": 3, "T": 2}), short_extents({"B": 8}, {"B": 9})
    ({'B': 4}, {})
    """
    sizes = {name: extents[name] for name in most if name in extents}
    return {name: power_of_two(n) for name, n in sizes.items() if n <= most[name]}
