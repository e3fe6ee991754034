"""Rows beside ostinato's: groups that are compared, ratios, and what the suite aims at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.harness.rows import Row
from bench.harness.suite import Size, Suite, Target, is_better_low

OURS = "ostinato"


@dataclass(frozen=True, slots=True)
class Compared:
    """A row, and ostinato's value over it: above 1 where ostinato is better."""

    row: Row
    ratio: float | None
    target: Target | None = None

    @property
    def verdict(self) -> str:
        """What the target says: ``aim``, ``floor``, ``missed`` or nothing."""
        if self.target is None:
            return ""
        found = self.row.value if self.ratio is None else self.ratio
        low = self.ratio is None and is_better_low(self.row.unit)
        if meets(found, self.target.aim, low):
            return "aim"
        return "floor" if meets(found, self.target.floor, low) else "missed"


def meets(value: float, bound: float, low: bool) -> bool:
    return value <= bound if low else value >= bound


def compared(suite: Suite, rows: Iterable[Row]) -> Iterator[list[Compared]]:
    """Yield the groups of rows that have one program, one unit and one size."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(suite, row), []).append(row)
    for found in groups.values():
        first = next((row for row in found if row.system == OURS), None)
        yield [beside(suite, row, first) for row in found]


def group_of(suite: Suite, row: Row) -> tuple[object, ...]:
    size = tuple((n, v) for n, v in row.size.items() if n not in suite.within)
    return row.program.partition("/")[0], size, row.unit


def beside(suite: Suite, row: Row, first: Row | None) -> Compared:
    known = row.program.partition("/")[0]
    shared: Size = {n: v for n, v in row.size.items() if n not in suite.within}
    targets = [t for t in suite.targets if t.judges(known, shared, row.unit)]
    if first is None or row is first:
        return Compared(row, None, next((t for t in targets if not t.system), None))
    # A form is no system: its system's best form is judged.
    wanted = "" if "/" in row.program else row.system
    target = next((t for t in targets if wanted and t.system == wanted), None)
    found = ratio(first, row)
    return Compared(row, found, target if found is not None else None)


def ratio(ours: Row, theirs: Row) -> float | None:
    """Return how much better ours is: the ratio of the medians; of losses, the other way round.

    To nothing there is no ratio.
    """
    better, worse = ours.value, theirs.value
    if is_better_low(ours.unit) or (better < 0 and worse < 0):
        better, worse = worse, better
    return better / worse if worse else None
