"""What rules may ask about ranges that follow the point, decided from the ends of the ranges.

A window is known by the distances of its first point and of the point behind its last; which window
is made of which others is decided for every pair of known ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ostinato.certificate.index_facts import Numbers, Ranges, mentioned
from ostinato.pdg import isl
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import ALWAYS, Cond, at_least
from ostinato.pdg.index import Dim, Expr, Extremum, Slice, expr, maximum, minimum
from ostinato.pdg.intervals import is_quasi_affine
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import Beside, Elsewhere, Joined, Nearby, Ordered


def _moved(numbers: Numbers) -> list[Row]:
    """Ranges that are another one at another point, and when they have elements."""
    out: list[Row] = []
    for part in numbers.slices():
        for dim in numbers.dims if part.step == 1 and mentioned(part) else ():
            last, ends = expr(dim.extent) - 1, list[tuple[Slice, Expr, Expr]]()
            if part.lo == expr(0):
                ends.append((Slice(expr(0), expr(dim) + 1), part.hi - 1, part.hi - 1))
            if part.hi == last + 1:
                ends.append((Slice(expr(dim), last + 1), part.lo, last - part.lo))
            for other, there, spare in ends:
                cond = ALWAYS if is_never_negative(spare) else at_least(spare, 0)
                out.append((numbers.bit(dim), *map(numbers.of, (part, other, there, cond))))
    return [*out, *made_of("moved")(numbers)]


@dataclass(frozen=True)
class _Window:
    """The points ``d + first`` to ``d + behind - 1`` that lie in the box."""

    dim: Dim
    part: Slice
    first: int
    behind: int

    @property
    def steps(self) -> int:
        return self.behind - self.first

    @property
    def side(self) -> int:
        """-1 if it ends at the point, 1 if it begins there, else 0."""
        return -1 if self.behind == 1 else 1 if self.first == 0 else 0

    def reads(self, distance: int) -> tuple[Expr, Cond]:
        """The index at a distance, and when it is in the box on that side."""
        index, last = expr(self.dim) + distance, expr(self.dim.extent) - 1
        return index, at_least(index, 0) if distance < 0 else at_least(last, index)

    def leaves(self, distance: int, half: _Window) -> tuple[Expr, Cond]:
        """The index behind two halves, and where it is no step of the window.

        Of an even window it is that of the other half, which has it already.
        """
        if self.steps == 2 * half.steps:
            return expr(self.dim) + half.steps * self.side, ALWAYS
        index = expr(self.dim) + distance
        return index, at_least(-1, index) if distance < 0 else at_least(index, self.dim.extent)


def made_of(how: str) -> Callable[[Numbers], list[Row]]:
    """Windows that are made of shorter ones, or of one at another point."""

    def rows(numbers: Numbers) -> list[Row]:
        known = [w for dim in numbers.dims for w in _with_halves(_windows(numbers, dim))]
        out: list[Row] = []
        for whole in known:
            for part in known:
                if part.dim == whole.dim and part.side:
                    places = _places(how, whole, part)
                    cells = [c for distance in places[:1] for c in whole.reads(distance)]
                    cells += [c for distance in places[1:] for c in whole.leaves(distance, part)]
                    row = map(numbers.of, (whole.part, part.part, *cells))
                    out += [(numbers.bit(whole.dim), *row)] if places else []
        return out

    return rows


def _places(how: str, whole: _Window, part: _Window) -> tuple[int, ...]:
    """At which distances a window needs a shorter one, or elements; none if it is not made so."""
    n, m, side = whole.steps, part.steps, part.side
    beside = whole.behind - 1 if side < 0 else whole.first
    if how == "moved":
        return (beside,) if n == m and beside * side > 0 else ()
    if whole.side != side:
        return ()
    match how:
        case "halved":
            return (m * side, (n - 1) * side) if n // 2 == m else ()
        case _:  # overlapping
            return ((n - m) * side,) if m < n <= 2 * m else ()


def _windows(numbers: Numbers, dim: Dim) -> list[_Window]:
    here, end = expr(dim), expr(dim.extent)
    out: list[_Window] = []
    for part in numbers.slices():
        for first in _constants(part.lo, here):
            for behind in _constants(part.hi, here):
                start, stop = here + first, here + behind
                low = part.lo in (
                    (start, minimum(start, end)) if first >= 0 else (maximum(start, 0),)
                )
                high = part.hi in (
                    (stop, maximum(stop, 0)) if behind < 2 else (minimum(stop, end),)
                )
                if low and high and part.step == 1 and behind - first > 1:
                    out.append(_Window(dim, part, first, behind))
    return out


def _with_halves(known: list[_Window]) -> list[_Window]:
    """Windows with those at the point that are as long, half as long, and so on."""
    found = dict.fromkeys(known)
    pending = list(known)
    while pending:
        one = pending.pop()
        sides = (one.side,) if one.side else (-1, 1)
        lengths = {one.steps // 2, (one.steps + 1) // 2} if one.side else {one.steps}
        fresh = [_touching(one.dim, n, side) for side in sides for n in sorted(lengths) if n > 1]
        pending += [w for w in fresh if w not in found]
        found.update(dict.fromkeys(fresh))
    return list(found)


def _touching(dim: Dim, steps: int, side: int) -> _Window:
    """The window of some steps that ends, or begins, at the point."""
    here = expr(dim)
    if side < 0:
        return _Window(dim, Slice(maximum(here - (steps - 1), 0), here + 1), 1 - steps, 1)
    return _Window(dim, Slice(here, minimum(here + steps, dim.extent)), 0, steps)


def _constants(edge: Expr, here: Expr) -> set[int]:
    """By how much an edge, or an operand of an extremum in it, is beyond the point."""
    inner = [e + edge.const for a, _ in edge.terms if isinstance(a, Extremum) for e in a.of]
    gaps = (e - here for e in (edge, *inner))
    return {gap.const for gap in gaps if gap.is_const}


def _before(numbers: Numbers) -> list[Row]:
    """The step before the point, and when there is one."""
    return [
        (numbers.bit(d), numbers.of(expr(d) - 1), numbers.of(at_least(d, 1))) for d in numbers.dims
    ]


def _after(numbers: Numbers) -> list[Row]:
    """The step after the point, and when there is one."""
    ends = [(d, expr(d) + 1, at_least(expr(d.extent) - 1, expr(d) + 1)) for d in numbers.dims]
    return [(numbers.bit(d), numbers.of(index), numbers.of(cond)) for d, index, cond in ends]


def _nearby(numbers: Numbers) -> list[Row]:
    """All steps until the point, or from it on, and the step beside it."""
    out: list[Row] = []
    for part in [s for s in numbers.slices() if s.step == 1]:
        for flag, beside in ((0, _before(numbers)), (1, _after(numbers))):
            for dim, (bit, *step) in zip(numbers.dims, beside, strict=True):
                ends = (expr(dim), expr(dim.extent)) if flag else (expr(0), expr(dim) + 1)
                if (part.lo, part.hi) == ends:
                    out.append((bit, numbers.of(part), flag, *step))
    return out


@dataclass(frozen=True)
class _Tiling:
    """A range, and which positions of it every step of a dimension has: so many, one by one."""

    part: Slice
    dim: Dim
    width: int

    @property
    def tile(self) -> Slice:
        start, end = self.part.lo + expr(self.dim) * self.width, self.part.hi
        low, high = minimum(start, end), minimum(start + self.width, end)
        return Slice(low - self.part.lo, high - self.part.lo)

    @property
    def is_whole(self) -> bool:
        """Whether the tiles make up the range, which has a position at every point."""
        rest = expr(self.dim.extent) * self.width - self.part.size
        if not is_never_negative(self.part.size - 1) or not is_quasi_affine(rest):
            return False
        dims = tuple(sorted(rest.dims, key=lambda d: d.serial))
        box = isl.domain_set(dims, {}, ALWAYS).assume({})
        return box.is_subset(isl.condition_set(dims, at_least(rest, 0)))


def _tilings(numbers: Numbers) -> list[_Tiling]:
    ranges = [s for s in numbers.slices() if s.step == 1 and mentioned(s)]
    found = [
        _Tiling(part, dim, width)
        for dim in numbers.dims
        for width in sorted(_widths(ranges, dim))
        for part in ranges
        if dim not in mentioned(part)
    ]
    return [each for each in found if each.is_whole]


def _widths(ranges: list[Slice], dim: Dim) -> set[int]:
    """The steps between the beginnings of ranges along a dimension."""
    edges = [e for s in ranges for a, _ in s.lo.terms if isinstance(a, Extremum) for e in a.of]
    return {k for edge in edges for atom, k in edge.terms if atom == dim and k > 0}


def _tiled(numbers: Numbers) -> list[Row]:
    """Sizes, the tiles that make them up, and the dimension that counts these."""
    return [
        (numbers.of(t.part.size), numbers.of(t.tile), numbers.bit(t.dim)) for t in _tilings(numbers)
    ]


def _alone(numbers: Numbers) -> list[Row]:
    """Ranges of one index that is asked for."""
    known = dict.fromkeys(element for _, element in _elements(numbers))
    return [(numbers.of(each), numbers.of(each.lo)) for each in known]


def _steps(numbers: Numbers) -> list[Row]:
    """The steps of ranges at the positions that are asked for."""
    return [
        (numbers.of(s), numbers.of(e.lo), numbers.of(s.lo + e.lo)) for s, e in _elements(numbers)
    ]


def _greatest(numbers: Numbers) -> list[Row]:
    """Where in an order of so many positions that of the greatest is, if it is asked for."""
    return [
        (fn, numbers.of(size), numbers.of(at))
        for size, at in numbers.asked
        if is_position(at, size)
        for claim in saying(Ordered).values()
        for fn, where in claim.functions
        if at == (size - 1 if where == "end of" else expr(0))
    ]


def _elements(numbers: Numbers) -> list[tuple[Slice, Slice]]:
    """Ranges with those of their positions that are asked for alone."""
    asked = [(size, at) for size, at in numbers.asked if is_position(at, size)]
    ranges = [s for s in numbers.slices() if s.step == 1] if asked else []
    return [(s, Slice(at, at + 1)) for size, at in asked for s in ranges if s.size == size]


def _sections(numbers: Numbers) -> list[tuple[Slice, Slice]]:
    """Ranges with those of their positions that are a tile, or one index that is asked for."""
    return [*_tiles_of_ranges(numbers), *_elements(numbers)]


def _tiles_of_ranges(numbers: Numbers) -> list[tuple[Slice, Slice]]:
    """Ranges with those of their positions that are a tile."""
    tilings = _tilings(numbers)
    ranges = dict.fromkeys(t.part for t in tilings)
    return [(s, t.tile) for t in tilings for s in ranges if s.size == t.part.size]


def is_position(at: Expr, size: Expr) -> bool:
    """Whether an index is one of so many positions, at every point."""
    return is_never_negative(at) and is_never_negative(size - at - 1)


def _section(numbers: Numbers) -> list[Row]:
    found = ((numbers.of(s.size), numbers.of(part)) for s, part in _sections(numbers))
    return list(dict.fromkeys(found))


def _pieces(numbers: Numbers) -> list[Row]:
    """The parts of ranges that have so many of their positions."""
    return [
        (numbers.of(s), numbers.of(part), numbers.of(Slice(s.lo + part.lo, s.lo + part.hi)))
        for s, part in _tiles_of_ranges(numbers)
    ]


def _final(numbers: Numbers) -> list[Row]:
    """The last step of every dimension."""
    return [(numbers.bit(d), numbers.of(expr(d.extent) - 1)) for d in numbers.dims]


RANGES: Ranges = {
    "tiled": _tiled,
    "alone": _alone,
    "step": _steps,
    **dict.fromkeys(saying(Ordered), _greatest),
    "section": _section,
    "piece": _pieces,
    "final": _final,
    **{name: (_before if c.by < 0 else _after) for name, c in saying(Beside).items()},
    **dict.fromkeys(saying(Nearby), _nearby),
    **dict.fromkeys(saying(Elsewhere), _moved),
    **{name: made_of(joined.how) for name, joined in saying(Joined).items()},
}
