"""A plan within a limit whose later loops compute values again in segments.

The dim that most is kept along gets segments of the lengths that keep least; where that is not
enough, these get segments too. What is left of the limit then keeps all steps of the last segments,
which the later loop reads first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from ostinato.codegen.ir.system import System
from ostinato.codegen.planning.arena import sizes_bytes
from ostinato.codegen.planning.long_lived import Kept, kept
from ostinato.codegen.planning.plan import Plan, PlanOptions, plan
from ostinato.codegen.planning.rematerialise import Unavailable, is_read_by_step
from ostinato.codegen.planning.segments import Segments, in_segments, segments_of
from ostinato.pdg.errors import CycleError
from ostinato.pdg.index import Dim, Extent, evaluate, expr

LEVELS = 3  # of segments in segments
FEWEST = 4  # steps that are worth segments
SHORTEST = 2  # steps of a segment, and segments of a longer one


@dataclass(frozen=True)
class Segmented:
    """A plan over segments, the system it is of, and what new statements stand for."""

    plan: Plan
    system: System
    levels: tuple[Segments, ...]
    origins: Mapping[str, str]
    wanted: tuple[str, ...]
    last: int = 0


@dataclass(frozen=True)
class Search:
    """The search for a plan in segments, for a system with a plan that keeps too much."""

    system: System
    usual: Plan
    options: PlanOptions
    extents: Mapping[str, int]
    workers: int
    rank: Callable[[Plan], tuple[float, float]]  # of two plans the better one has the lower
    bytes_of: Callable[[Plan], int]
    limit: int

    def fitting(self) -> Segmented | None:
        """The plan that computes least again of those that fit; the smallest if none does."""
        smallest: Segmented | None = None
        found = kept(self.usual, self.extents, self.workers)
        for dim in self.dims(found):
            wanted = self.wanted(found, dim)
            for made in self.deeper(found, wanted, dim) if wanted else ():
                if self.bytes_of(made.plan) <= self.limit:
                    return self.keeping(found, wanted, made)
                if smallest is None or self.bytes_of(made.plan) < self.bytes_of(smallest.plan):
                    smallest = made
        return smallest

    def dims(self, found: Sequence[Kept]) -> list[Dim]:
        """The dims that are worth segments: those that most is kept along come first."""
        outputs = (self.system.statements[n].result_dims[:1] for n in self.system.outputs.values())
        streamed = {d for first in outputs for d in first}  # their records are read while it runs
        total: dict[Dim, int] = {}
        for k in found:
            own = self.system.statements[k.tensor].result_dims
            for d in (k.dims & {*own}) - streamed - self.usual.tiles.keys():
                total[d] = total.get(d, 0) + k.bytes
        long = [d for d in total if self.steps(d) >= FEWEST]
        return sorted(long, key=lambda d: (-total[d], d.serial))

    def steps(self, dim: Dim) -> int:
        point: dict[Dim | Extent, int] = {Extent(n): k for n, k in self.extents.items()}
        return evaluate(expr(dim.extent), point)

    def wanted(self, found: Sequence[Kept], dim: Dim) -> tuple[str, ...]:
        """The kept values that can be computed again in segments of a dim.

        The first that can, each beside those before it. What cannot be had beside some values
        cannot be had beside more of them, so many are asked for at once.
        """
        out: tuple[str, ...] = ()
        trial = segments_of(dim, self.steps(dim))
        named = [k.tensor for k in found if dim in k.dims and is_read_by_step(self.system, k)]
        parts = [tuple(named)] if named else []
        while parts:
            part = parts.pop()
            try:
                in_segments(self.system, found, trial, (*out, *part))
                out = (*out, *part)
            except Unavailable:
                half = len(part) // 2
                parts += [part[half:], part[:half]] if half else []
        return out

    def deeper(self, found: Sequence[Kept], wanted: Sequence[str], dim: Dim) -> Iterator[Segmented]:
        """Plans with segments of the best lengths, then with segments in these, and so on."""
        steps = self.steps(dim)
        first = self.planned(found, wanted, dim, lengths(steps, 1.0, 1.0, 1))
        if first is None:
            return
        edge, step = self.weights(first)
        least = self.bytes_of(first.plan) + 1
        for levels in range(1, LEVELS + 1):
            made = self.planned(found, wanted, dim, lengths(steps, edge, step, levels))
            made = first if made is None and levels == 1 else made
            if made is None or self.bytes_of(made.plan) >= least:
                return
            least = self.bytes_of(made.plan)
            yield made

    def weights(self, made: Segmented) -> tuple[float, float]:
        """The bytes kept at the start of a segment, and of each step of one."""
        (seg,) = made.levels
        edge = step = 1.0
        sizes = sizes_bytes(made.plan, self.extents)
        for s in made.plan.storage.values():
            full = {slot.dim for slot in s.slots if slot.kind == "full"}
            if s.tensor not in sizes or {seg.number, seg.place} <= full:
                continue
            total = sizes[s.tensor] * (self.workers if s.place == "local" else 1)
            edge += total / self.steps(seg.number) if seg.number in full else 0
            step += total / seg.length if seg.place in full else 0
        return edge, step

    def planned(
        self,
        found: Sequence[Kept],
        wanted: Sequence[str],
        dim: Dim,
        lengths: Sequence[int],
        last: int = 0,
    ) -> Segmented | None:
        """The plan in segments of some lengths; None if there is no order, or no way to a value."""
        system, origins, asked = self.system, dict[str, str](), tuple(wanted)
        levels: list[Segments] = []
        planned = self.usual
        try:
            for length in lengths:
                levels.append(segments_of(dim, length))
                made = in_segments(system, found, levels[-1], wanted, 0 if origins else last)
                system, dim = made.system, levels[-1].place
                origins |= {n: origins.get(of, of) for n, of in made.origins.items()}
                planned = plan(system, self.options)
                found = kept(planned, self.extents, self.workers)
                inner = (k for k in found if dim in k.dims and is_read_by_step(system, k))
                wanted = tuple(k.tensor for k in inner)
        except (Unavailable, CycleError):
            return None
        return Segmented(planned, system, tuple(levels), origins, asked, last)

    def keeping(self, found: Sequence[Kept], wanted: Sequence[str], made: Segmented) -> Segmented:
        """The plan that keeps all steps of as many of the last segments as fit."""
        outer = made.levels[0]
        least, count = self.bytes_of(made.plan), self.steps(outer.number)
        lengths = [seg.length for seg in made.levels]
        last, best = 1, made
        while best.last < last < count:
            tried = self.planned(found, wanted, outer.dim, lengths, last)
            taken = self.limit + 1 if tried is None else self.bytes_of(tried.plan)
            if tried is not None and taken <= self.limit:
                more = (self.limit - taken) * last // max(1, taken - least)
                best, last = tried, min(count - 1, last + more)
            else:
                last -= 1
        return min(made, best, key=lambda each: self.rank(each.plan))


def told(made: Segmented, steps: Callable[[Dim], int], labels: Sequence[str]) -> str:
    """What a plan in segments does, with the steps that are computed again and must be."""
    outer = made.levels[0]
    total, lengths = steps(outer.dim), [seg.length for seg in made.levels]
    counts = [steps(outer.number), *(a // b for a, b in zip(lengths, lengths[1:], strict=False))]
    again = len(lengths) * max(0, total - made.last * lengths[0])
    states = sum(counts) + lengths[-1] + made.last * lengths[0]
    least = fewest_again(total, min(states, total - 1))
    whole = f", all steps of the last {made.last}" if made.last else ""
    inner = "".join(f" in segments of {n:,}" for n in lengths[:-1])
    return (
        f"later loops compute {', '.join(labels)} again in segments of {lengths[-1]:,} steps of "
        f"`{outer.dim}`{inner}: at {total:,} steps the starts of {counts[0]:,} are kept{whole}; "
        f"{again:,} steps are computed again, {least:,} by any scheme that keeps {states:,} states"
    )


def lengths(steps: int, edge: float, step: float, levels: int) -> tuple[int, ...]:
    """The lengths of segments, and of segments in these, that keep least.

    ``edge`` are the bytes kept at the start of a segment, ``step`` those of a step of the shortest
    ones; each length is a multiple of the next. The least of ``edge * (T/c1 + c1/c2 + ...) +
    step * cn`` has equal terms.

    >>> lengths(10_000, 1.0, 1.0, 1), lengths(1000, 1.0, 1.0, 2), lengths(100, 1.0, 4.0, 1)
    ((100,), (100, 10), (5,))
    """
    term = (steps * edge**levels * step) ** (1 / (levels + 1))
    out = [max(SHORTEST, round(term / step))]
    for _ in range(levels - 1):
        out.append(out[-1] * max(SHORTEST, round(term / edge)))
    return tuple(reversed(out))


def fewest_again(steps: int, states: int) -> int:
    """The steps that no scheme can spare to compute again if it keeps so many states at a time.

    Source: Griewank and Walther 2000, Algorithm 799: revolve, equation 2.

    >>> fewest_again(100, 99), fewest_again(100, 20), fewest_again(100, 5)
    (0, 79, 217)
    """
    turns = 1
    while comb(states + turns, turns) < steps:
        turns += 1
    return turns * steps - comb(states + turns, turns - 1) - (steps - 1)
