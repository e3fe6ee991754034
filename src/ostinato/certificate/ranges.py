"""What rules may ask about ranges that follow the point, decided from the ends of the ranges.

A window is known by the distances of its first point and of the point behind its last; which window
is made of which others is decided for every pair of known ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ostinato.certificate.facts import Numbers, Ranges, mentioned
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import Cond, at_least
from ostinato.pdg.index import Dim, Expr, Extremum, Slice, expr, maximum, minimum
from ostinato.rewrite._egglog import Row


def from_the_start(certain: bool) -> Callable[[Numbers], list[Row]]:
    """Ranges ``0 : a + 1``, with a, and with when they have elements unless that is certain."""

    def rows(numbers: Numbers) -> list[Row]:
        out: list[Row] = []
        for part in numbers.slices():
            if part.lo == expr(0) and part.step == 1 and mentioned(part):
                last = part.hi - 1
                conds = _where(certain, last, at_least(last, 0))
                for dim in numbers.dims if conds is not None else ():
                    cells = (part, last, *(conds or ()))
                    out.append((numbers.bit(dim), *map(numbers.of, cells)))
        return out

    return rows


def to_the_end(certain: bool) -> Callable[[Numbers], list[Row]]:
    """Ranges ``a : D``, with a, and with when they have elements unless that is certain."""

    def rows(numbers: Numbers) -> list[Row]:
        out: list[Row] = []
        for part in numbers.slices():
            for dim in numbers.dims:
                if part.hi == expr(dim.extent) and part.step == 1 and mentioned(part):
                    last = expr(dim.extent) - 1
                    conds = _where(certain, last - part.lo, at_least(last, part.lo))
                    if conds is not None:
                        cells = (part, part.lo, *conds)
                        out.append((numbers.bit(dim), *map(numbers.of, cells)))
        return out

    return rows


def _where(certain: bool, spare: Expr, cond: Cond) -> tuple[Cond, ...] | None:
    """The condition to name; None if this range is of the other kind."""
    if is_never_negative(spare) != certain:
        return None
    return () if certain else (cond,)


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


def made_of(relation: str) -> Callable[[Numbers], list[Row]]:
    """Windows that are made of shorter ones, or of one at another point."""

    def rows(numbers: Numbers) -> list[Row]:
        known = [w for dim in numbers.dims for w in _with_halves(_windows(numbers, dim))]
        out: list[Row] = []
        for whole in known:
            for part in known:
                if part.dim == whole.dim and part.side:
                    places = _places(relation, whole, part)
                    cells = [c for distance in places for c in whole.reads(distance)]
                    row = map(numbers.of, (whole.part, part.part, *cells))
                    out += [(numbers.bit(whole.dim), *row)] if places else []
        return out

    return rows


def _places(relation: str, whole: _Window, part: _Window) -> tuple[int, ...]:
    """At which distances a window needs a shorter one, or elements; none if it is not made so."""
    n, m, side = whole.steps, part.steps, part.side
    beside = whole.behind - 1 if side < 0 else whole.first
    if relation == "moved":
        return (beside,) if n == m and beside * side > 0 else ()
    if whole.side != side:
        return ()
    match relation:
        case "doubled":
            return (m * side,) if n == 2 * m else ()
        case "overlapping":
            return ((n - m) * side,) if m < n <= 2 * m else ()
        case _:
            return (m * side, 2 * m * side) if n == 2 * m + 1 else ()


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


RANGES: Ranges = {
    "before": _before,
    "after": _after,
    "always_until": from_the_start(True),
    "until": from_the_start(False),
    "always_from": to_the_end(True),
    "from": to_the_end(False),
    **{name: made_of(name) for name in ("moved", "doubled", "overlapping", "lengthened")},
}
FOLDS: dict[str, list[Row]] = {  # folds by the function of two that they repeat
    "exactly": [("max", "maximum"), ("min", "minimum"), ("any", "or"), ("all", "and")],
    "rounded": [("sum", "add"), ("prod", "mul")],
}
