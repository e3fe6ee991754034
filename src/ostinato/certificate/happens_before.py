"""What has certainly happened before what, for any number of workers and in any order of tiles.

Workers run the same loops of the driver, and claim work. Between two barriers whoever claims an
iteration of a parallel loop does it in all loops from and to the same bounds, in their order; of
two such loops, one directly inside the other, an iteration of both; so with the parts of an array
where a step is cut; and one worker, here called the first, does all other work. So two events are
in order if one worker does both, the earlier one first, or if all wait for each other between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostinato.certificate.order import Fill, Loop, Moment, Step, box_of
from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, NEVER, Cond, at_least, equal, every, some
from ostinato.pdg.index import Dim, Expr, Substitution, expr
from ostinato.pdg.isl import Relation


@dataclass(frozen=True)
class Cut:
    """Work on the parts of an array: who does some of one does those of every other."""


@dataclass(frozen=True)
class Event:
    """A statement at each of its points, or the fill of its accumulator for that point."""

    step: Step
    loops: tuple[Loop, ...]
    time: tuple[Moment, ...]
    call: int
    cut: Expr | None = None

    @property
    def worker(self) -> tuple[Loop, ...] | Cut:
        """The loops or the array that are shared out among the workers; (): the first one."""
        if self.cut is not None:
            return Cut()
        loops, out = {x.dim: x for x in self.loops}, list[Loop]()
        for moment in self.time[self.call :]:
            if not isinstance(moment, Dim) or not loops[moment].parallel:
                break
            out.append(loops[moment])
        return tuple(out)

    @property
    def host(self) -> tuple[tuple[Moment, ...], tuple[Loop, ...] | Cut]:
        """The call of a kernel, and what is shared out in it among the workers."""
        return self.time[: self.call], self.worker


def written(step: Step) -> Event:
    return Event(step, step.loops, step.time, step.call, step.cut)


def filled(fill: Fill, step: Step) -> Event:
    return Event(step, fill.loops, fill.time, fill.call, fill.cut)


@dataclass(frozen=True)
class Fork:
    """Where two events part: at a loop of which they are in other iterations, or at two places."""

    level: int
    same: tuple[Dim, ...]  # the loops around, in the same iteration
    loop: Loop | None


class Waits:
    """The barriers of a schedule."""

    def __init__(self, barriers: Sequence[tuple[Moment, ...]]) -> None:
        self.places: dict[tuple[Moment, ...], list[int]] = {}
        for time in barriers:
            *around, place = time
            assert isinstance(place, int), "a barrier has a place"
            self.places.setdefault(tuple(around), []).append(place)

    def part(self, first: Event, second: Event, level: int) -> bool:
        """Whether a barrier is passed between two events that part at a level of their times.

        It stands between the two, or behind the first one or before the second one in a loop that
        only this one is in.
        """
        a, b = first.time, second.time
        return self._between(a, b, level) or self._beyond(a, level, 1) or self._beyond(b, level, -1)

    def _between(self, a: Sequence[Moment], b: Sequence[Moment], level: int) -> bool:
        lo, hi = a[level], b[level]
        if not isinstance(lo, int) or not isinstance(hi, int):
            return False
        return any(lo < place < hi for place in self.places.get(tuple(a[:level]), ()))

    def _beyond(self, time: Sequence[Moment], level: int, sign: int) -> bool:
        for k in range(level + 1, len(time)):
            here = time[k]
            if isinstance(here, int):
                found = self.places.get(tuple(time[:k]), ())
                if any(sign * (place - here) > 0 for place in found):
                    return True
        return False

    def before(self, first: Event, second: Event, in_step: bool, along: bool) -> Relation:
        """Points of the second event, and those of the first that have certainly happened then.

        ``in_step``: where both take turns at every element, only that element matters. ``along``:
        both touch elements of their own part.
        """
        other = {d: Dim(d.name) for d in first.step.dims}
        renamed: dict[Dim, Expr] = {d: expr(x) for d, x in other.items()}
        ways = (
            self._in_order(first, second, fork, renamed, along)
            for fork in forks(first, second, in_step)
        )
        cond = some(*ways)
        sizes = [(other[x.dim], x.hi.at(renamed)) for x in first.step.loops]
        ins, outs = second.step.dims, first.step.dims
        found = isl.relation(ins, outs, [renamed[d] for d in outs], cond, sizes)
        return found.intersect_in(box_of(second.step)).intersect_out(box_of(first.step))

    def _in_order(
        self,
        first: Event,
        second: Event,
        fork: Fork,
        renamed: Mapping[Dim, Expr],
        along: bool,
    ) -> Cond:
        """The condition on two points that part at a fork, the first one earlier."""
        conds = [equal(d, renamed[d]) for d in fork.same]
        if fork.loop is not None:
            d = fork.loop.dim
            gap = expr(d) - renamed[d]
            conds.append(at_least(-gap if fork.loop.reverse else gap, 1))
        if not self.part(first, second, fork.level):
            conds.append(same_worker(first, second, renamed, along))
        return every(*conds)


def forks(first: Event, second: Event, in_step: bool) -> Iterator[Fork]:
    """Every way in which the first event may be earlier than the second.

    Statements that take turns at every element follow each other only ``in_step``.
    """
    last = len(first.time) - 1
    in_turns = first.time[:-1] == second.time[:-1]
    same: list[Dim] = []
    loops = {loop.dim: loop for loop in first.loops}
    for level, (a, b) in enumerate(zip(first.time, second.time, strict=False)):
        if isinstance(a, Dim) and a == b:
            yield Fork(level, tuple(same), loops[a])
            same.append(a)
        elif a != b:
            if in_turns and level == last and not in_step:
                return
            if isinstance(a, int) and isinstance(b, int) and a < b:
                yield Fork(level, tuple(same), None)
            return


def same_worker(first: Event, second: Event, renamed: Substitution, along: bool) -> Cond:
    """The condition on two points that one worker does both, whatever the number of workers."""
    one, two = first.worker, second.worker
    if isinstance(one, Cut) or isinstance(two, Cut):
        return ALWAYS if along and one == two else NEVER
    if len(one) != len(two) or not (is_steady(one) and is_steady(two)):
        return NEVER
    for a, b in zip(one, two, strict=True):
        if (a.lo, a.hi) != (b.lo, b.hi):
            return NEVER
    pairs = zip(one, two, strict=True)
    return every(*(equal(expr(a.dim).at(renamed), expr(b.dim)) for a, b in pairs))


def is_steady(worker: Sequence[Loop]) -> bool:
    """Whether loops that are shared out have the same iterations wherever they run."""
    return not any(x.lo.dims or x.hi.dims for x in worker)
