"""What calls of a kernel touch of a history: blocks of its steps, at every point.

What is near the steps of loops is touched, and in a *round* the blocks that a leaf goes through in
order, at every step of the loop around it or once. Loops around are *turns*: all that is inside is
done again. What stands still in a call, and how many rows are touched together, follows from the
indices before that of the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from ostinato.certificate.order import (
    Fill,
    Loop,
    Moment,
    Passage,
    Read,
    Step,
    Tensor,
    Timeline,
    box_of,
    places_in,
)
from ostinato.certificate.slots import Misplaced
from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr
from ostinato.pdg.intervals import Interval, interval, is_quasi_affine

Env = Mapping[Dim | Extent, int]
Row = tuple[tuple[int, int, "Touch"], ...]  # visits by number, blocks, and what is touched there


@dataclass(frozen=True, slots=True)
class Touch:
    """What is touched between an arrival and the next one.

    What ``begins`` is written wholly before it is read, if nobody had touched it before.
    """

    blocks: frozenset[int]
    writes: bool
    begins: bool


@dataclass(frozen=True, slots=True)
class _Access:
    """A step touches a history, by a read or by what it writes.

    ``rest`` are the parts of its time in the call, behind the dims that stand still there.
    """

    step: Step | Fill
    at: tuple[Expr, ...]
    rest: tuple[Moment, ...]
    read: Read | None = None

    @property
    def still(self) -> set[Dim]:
        """The dimensions whose values are those of a call."""
        around = self.step.time[: len(self.step.time) - len(self.rest)]
        return {d for d in around if isinstance(d, Dim)}

    @property
    def loops(self) -> dict[Dim, Loop]:
        return {loop.dim: loop for loop in self.step.loops}

    @property
    def ranges(self) -> dict[Dim, Expr]:
        inner = dict(self.read.ranges) if self.read is not None else {}
        return {loop.dim: loop.hi for loop in self.step.loops} | inner


@dataclass(frozen=True, slots=True)
class _Visit:
    """A loop that passes through a history, or a leaf without one, and the rounds in it.

    A near access touches steps so far away from that of the loop, or else one step. A round goes
    from a step on to the one before another.
    """

    loop: Loop | None
    near: tuple[tuple[bool, Interval | Expr], ...]
    rounds: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class _Turns:
    """A loop in which all that is inside is done at every value."""

    loop: Loop
    inside: tuple[_Tree, ...]


_Tree = tuple[int, "_Visit | _Turns"]  # with the number of its first visit


@dataclass(frozen=True)
class Called:
    """The calls of a passage, in a schedule at some extents."""

    order: Timeline
    tensors: Mapping[str, Tensor]
    passage: Passage
    env: Env

    def refuse(self, fact: str) -> Misplaced:
        return Misplaced(f"`{self.passage.tensor}` {fact}")

    def touches(self) -> Iterator[Row]:
        """What is touched at every point; the points are all blocks that are come to, in turn.

        Errors: Misplaced.
        """
        p = self.passage
        self._require_rows()
        self._require_copies()
        places, trees = self._whole() if p.slot < 0 else self._trees()
        if places != p.places:
            raise Misplaced(f"a call touches `{p.tensor}` where nobody waits for it")
        yield from self._course(trees, self.env, {})

    @cached_property
    def accesses(self) -> tuple[_Access, ...]:
        """What a call touches of the history, in order: a statement reads before it writes."""
        p, found = self.passage, list[_Access]()
        dims = {s.name: s.kept for s in self.order.steps}
        steps: list[Step | Fill] = [*self.order.memory.fills, *self.order.steps]
        calls = [s for s in steps if s.time[: len(p.call)] == p.call]
        for s in sorted(calls, key=lambda s: places_in(s.time[len(p.call) :])):
            rest = s.time[len(p.call) :]
            still = next((k for k, t in enumerate(rest) if not isinstance(t, Dim)), 0)
            reads = s.reads if isinstance(s, Step) else ()
            name = s.of if isinstance(s, Fill) else s.name
            own = tuple(map(expr, dims.get(name, ())))
            touched = [(r.of, _Access(s, r.at, rest[still:], r)) for r in reads]
            for of, access in (*touched, (name, _Access(s, own, rest[still:]))):
                if owner_of(self.tensors, of) != p.tensor or self.tensors[of].place == "register":
                    continue
                if self.tensors[of].slots != self.tensors[p.tensor].slots:
                    raise self.refuse("is not passed through step by step")
                found.append(access)
        return tuple(found)

    def _require_copies(self) -> None:
        """What several workers run has a plan for each; a plan of many calls is of one worker."""
        p = self.passage
        for a in self.accesses:
            is_shared = (a.step.cut is not None) or any(loop.parallel for loop in a.step.loops)
            if isinstance(p.call[-1], Dim) and is_shared:
                raise self.refuse("is touched by several workers")

    def _require_rows(self) -> None:
        """All that a call touches lies in so many rows of one slot, or where indices stand still.

        Errors: Misplaced.
        """
        p, t = self.passage, self.tensors[self.passage.tensor]
        sizes = [max(0, evaluate(e, self.env)) for e in (*(s.extent for s in t.slots), *t.axes)]
        slot = p.slot
        if slot < 0:
            slot = next((k for k, s in enumerate(t.slots) if s.kind != "one"), len(t.slots) - 1)
        if not 0 <= slot < len(t.slots):
            raise self.refuse("is no history")
        rest = t.item
        for size in sizes[slot + 1 :]:
            rest *= size
        about = (1, p.rows * rest) if p.slot < 0 else (sizes[slot], rest)
        if about != (p.steps, p.step_bytes) or (p.slot >= 0 and t.slots[slot].kind != "full"):
            raise Misplaced(f"`{t.name}` has no history of {p.steps} steps of {p.step_bytes} bytes")
        apart = 0
        for k in range(slot + (p.slot < 0)):
            reach = self._reach(k) if t.slots[k].kind != "one" else 1
            is_all = t.slots[k].kind != "full" or reach > sizes[k]
            reach = sizes[k] if is_all and t.slots[k].kind != "one" else reach
            apart += reach > 1
            if reach > max(1, p.rows) or apart > 1:
                raise self.refuse("is touched in rows that are not moved")

    def _reach(self, slot: int) -> int:
        """How many rows of a slot a call touches at most, counted from where it stands."""
        stands, most = set[Expr](), 0
        if len({a.at[slot] for a in self.accesses}) == 1:
            if all(a.at[slot].dims <= a.still for a in self.accesses):
                return 1  # wherever it is
        for a in self.accesses:
            fixed = [(x, k) for x, k in a.at[slot].terms if Expr(((x, 1),), 0).dims <= a.still]
            stands.add(Expr(tuple(fixed), 0))
            ranges = {d: Interval(0, max(0, interval(e).high - 1)) for d, e in a.ranges.items()}
            reach = interval(a.at[slot] - Expr(tuple(fixed), 0), ranges)
            most = max(most, reach.high + 1)
            if reach.low < 0:
                return 1 << 62
        return most if len(stands) == 1 else 1 << 62

    def _whole(self) -> tuple[tuple[int, ...], tuple[_Tree, ...]]:
        """The visits of a history that comes as a whole: one of each tree."""
        places = [places_in(a.rest)[0] for a in self.accesses]
        if self.passage.places == (0,):
            places = [0 for _ in places]  # it is there for all of the call
        found = list[_Tree]()
        for k, place in enumerate(sorted({*places})):
            at = [a for a, of in zip(self.accesses, places, strict=True) if of == place]
            near = tuple((a.read is None, expr(0)) for a in at)
            found.append((k, _Visit(None, near, ())))
        return tuple(sorted({*places})), tuple(found)

    def _trees(self) -> tuple[tuple[int, ...], tuple[_Tree, ...]]:
        """The visits of a call by their trees' places, and as they are done."""
        places = list[int]()
        last = self.passage.call[-1]
        if isinstance(last, Dim):
            loop = self.accesses[0].loops[last]
            visit = self._passing(loop, self.accesses, frozenset(), 0)
            return (0,) * (1 + len(visit.rounds)), ((0, visit),)
        trees = self._inside(self.accesses, 0, frozenset(), places)
        return tuple(places), trees

    def _inside(
        self, accesses: Sequence[_Access], depth: int, turns: frozenset[Dim], places: list[int]
    ) -> tuple[_Tree, ...]:
        """What is done in the body of some turns; ``depth`` is where their time ends."""
        found, slot = list[_Tree](), self.passage.slot
        for _, group in groupby(accesses, lambda a: a.rest[depth]):
            here, number = [*group], len(places)
            behind = here[0].rest[depth + 1 : depth + 2]
            place = here[0].rest[0]
            assert not isinstance(place, Dim), "a time has a place"
            made: _Visit | _Turns
            if not behind or not isinstance(behind[0], Dim):
                made = self._leaf(here, turns, depth)
                places += [place] * (1 + len(made.rounds))
            elif any(behind[0] in a.at[slot].dims for a in here):
                made = self._passing(here[0].loops[behind[0]], here, turns, depth + 2)
                places += [place] * (1 + len(made.rounds))
            else:
                loop = here[0].loops[behind[0]]
                made = _Turns(loop, self._inside(here, depth + 2, turns | {loop.dim}, places))
            found.append((number, made))
        return tuple(found)

    def _leaf(self, accesses: Sequence[_Access], turns: frozenset[Dim], depth: int) -> _Visit:
        """The visit of a leaf that is in no loop that passes through the history."""
        at = [a.at[self.passage.slot] for a in accesses]
        if at[0].dims <= turns and all(e == at[0] for e in at):
            return _Visit(
                None, tuple((a.read is None, e) for a, e in zip(accesses, at, strict=True)), ()
            )
        if len(accesses) != 1:
            raise self.refuse("is gone through in no order")
        return _Visit(None, (), (self._round(accesses[0], turns, depth),))

    def _passing(
        self, loop: Loop, accesses: Sequence[_Access], turns: frozenset[Dim], depth: int
    ) -> _Visit:
        """The visit of a loop, behind whose place in time the accesses come at a depth."""
        near, rounds = list[tuple[bool, Interval | Expr]](), list[tuple[Expr, Expr]]()
        leaves = set[tuple[Moment, ...]]()
        for a in accesses:
            away = self._distance(a, loop)
            if away is not None:
                near.append((a.read is None, away))
                continue
            if a.step.time[:-1] in leaves:
                raise self.refuse("is gone through in no order")
            leaves.add(a.step.time[:-1])
            rounds.append(self._round(a, turns | {loop.dim}, depth))
        return _Visit(loop, tuple(near), tuple(rounds))

    def _distance(self, a: _Access, loop: Loop) -> Interval | None:
        """How far an access is from the step that a loop is at, if that is bounded."""
        index = a.at[self.passage.slot]
        away = index - expr(loop.dim)
        if away.is_const:
            return Interval(away.as_int(), away.as_int())
        if a.read is None or not is_quasi_affine(index) or isinstance(a.step, Fill):
            return None
        if loop.dim not in index.dims and a.read.when == ALWAYS:
            return None
        step, dims = Dim("step"), a.step.dims
        inside = [(d, e) for d, e in a.read.ranges if is_quasi_affine(e) and d not in dims]
        related = isl.relation(dims, (step,), [index], a.read.when, inside)
        low, high = related.intersect_in(box_of(a.step)).distance(loop.dim, step)
        return None if low is None or high is None else Interval(-high, -low)

    def _round(self, a: _Access, known: frozenset[Dim], depth: int) -> tuple[Expr, Expr]:
        """The steps that a leaf goes through, from one on to the one before another."""
        index = a.at[self.passage.slot]
        if any(isinstance(t, Dim) for t in a.rest[depth:]):
            raise self.refuse("is gone through in more than one loop")
        for d, size in a.read.ranges if a.read is not None else ():
            first = index - expr(d)
            if d in index.dims and first.dims | size.dims <= known:
                return first, first + size
        raise self.refuse("is not passed through step by step")

    def _course(self, trees: Sequence[_Tree], env: Env, known: dict[object, Row]) -> Iterator[Row]:
        """What is touched at the visits and blocks of the points."""
        for number, tree in trees:
            if isinstance(tree, _Turns):
                for value in self._values(tree.loop, env):
                    inside = {**env, tree.loop.dim: value}
                    yield from self._course(tree.inside, inside, known)
            else:
                yield from self._visited(number, tree, env, known)

    def _values(self, loop: Loop, env: Env) -> range:
        """The values of a turn, in that call of a kernel that has most of them."""
        unknown = sorted((loop.hi.dims - env.keys()), key=lambda d: d.serial)
        if not unknown:
            return range(evaluate(loop.lo, env), evaluate(loop.hi, env))
        loops = self.accesses[0].loops
        if len(unknown) > 1 or unknown[0] not in loops:
            raise self.refuse("is passed through in turns that are not known")
        tile = loops[unknown[0]]
        tiles = range(evaluate(tile.lo, env), evaluate(tile.hi, env))
        ends = [evaluate(loop.hi, {**env, tile.dim: k}) for k in tiles]
        return range(evaluate(loop.lo, env), max(ends, default=0))

    @cached_property
    def _is_alone(self) -> bool:
        """Whether one worker of the call writes what it writes, and no other call does."""
        call, name = self.passage.call, self.passage.tensor
        written = [(s.name, s.time) for s in self.order.steps]
        written += [(f.of, f.time) for f in self.order.memory.fills]
        others = (time for of, time in written if owner_of(self.tensors, of) == name)
        is_cut = any(a.step.cut is not None for a in self.accesses)
        return not is_cut and all(time[: len(call)] == call for time in others)

    def _visited(
        self, number: int, visit: _Visit, env: Env, known: dict[object, Row]
    ) -> Iterator[Row]:
        """What a visit touches: what is near its loop at every block, and rounds at every step.

        All of it without rounds is one row, else what is touched at a step.
        """
        p, steps = self.passage, self._steps(visit, env)
        begins = not number and self._is_alone and _begins(visit)
        all_near = list[tuple[int, int, Touch]]()
        for block, inside in groupby(steps, lambda t: t // p.count):
            near = self._near(visit, steps, block)
            touch = Touch(near, any(w for w, _ in visit.near), begins)
            first = ((number, block, touch),) if visit.near else ()
            if not visit.rounds:
                all_near.extend(first)
                continue
            for t in inside:
                at = {**env, visit.loop.dim: t} if visit.loop is not None else env
                goes = tuple(self._goes(lo, hi, at) for lo, hi in visit.rounds)
                key = number, first, near, goes
                if key not in known:
                    rounds = (
                        (number + 1 + k, b, Touch(near | {b}, False, False))
                        for k, blocks in enumerate(goes)
                        for b in blocks
                    )
                    known[key] = (*first, *rounds)
                yield known[key]
                first = ()
        if all_near:
            yield known.setdefault((number, *all_near), (*all_near,))

    def _steps(self, visit: _Visit, env: Env) -> range:
        """The steps that a visit is at, in order."""
        if visit.loop is None:
            at = visit.near[0][1] if visit.near else None
            step = evaluate(at, env) if isinstance(at, Expr) else 0
            return range(step, step + 1)
        lo, hi = (evaluate(e, env) for e in (visit.loop.lo, visit.loop.hi))
        return range(hi - 1, lo - 1, -1) if visit.loop.reverse else range(lo, hi)

    def _near(self, visit: _Visit, steps: range, block: int) -> frozenset[int]:
        """The blocks that are near while a visit is at one."""
        p, found = self.passage, set[int]()
        least, most = _within(steps, block, p.count)
        for _, away in visit.near:
            low, high = (away.low, away.high) if isinstance(away, Interval) else (0, 0)
            first, last = max(0, least + low), min(most + high, p.steps - 1)
            found |= {*range(first // p.count, last // p.count + 1)}
        return frozenset(found)

    def _goes(self, first: Expr, end: Expr, env: Env) -> range:
        """The blocks of a round."""
        p, lo, hi = self.passage, evaluate(first, env), min(evaluate(end, env), self.passage.steps)
        return range(lo // p.count, -(-hi // p.count)) if lo < hi else range(0)


def _within(steps: range, block: int, count: int) -> tuple[int, int]:
    """The first and the last of some steps in a block."""
    least, most = min(steps[0], steps[-1]), max(steps[0], steps[-1])
    return max(least, block * count), min(most, (block + 1) * count - 1)


def _begins(visit: _Visit) -> bool:
    """Whether a loop writes each step before it reads it, and none that it comes to later."""
    loop = visit.loop
    if loop is None:
        return False
    ends = [end - expr(loop.dim) - 1 for _, end in visit.rounds]
    if any(not e.is_const or e.as_int() > 0 or loop.reverse for e in ends):
        return False
    near = [(writes, k) for writes, k in visit.near if isinstance(k, Interval)]
    own = [writes for writes, k in near if k.low <= 0 <= k.high]
    looks = any(k.low < 0 if loop.reverse else k.high > 0 for _, k in near)
    return bool(own) and own[0] and not looks


def owner_of(tensors: Mapping[str, Tensor], name: str) -> str:
    """The tensor in whose memory another one lies."""
    return tensors[name].owner if name in tensors else ""
