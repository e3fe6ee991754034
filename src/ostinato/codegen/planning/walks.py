"""Finds the walks of a plan: what passes through a history, and in which order (see `visits`).

Every access to a history is near the step that a loop is at, goes through steps in order, or is one
step of a leaf. How far it is from the step of a loop integer sets say where it does not show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.codegen.ir.tree import (
    Call,
    DriverLoop,
    Fill,
    Kernel,
    Leaf,
    Loop,
    Path,
    Span,
    Step,
    computed,
    leaves,
)
from ostinato.codegen.ir.values import guarded_loads
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.rounds import round_of
from ostinato.codegen.planning.visits import ONCE, ONE, Visit, Walk, Walks
from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, Cond, at_least, every
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.intervals import Interval, interval, is_quasi_affine

MOST_ROWS = 1 << 12  # that are touched together: of more all are


@dataclass(frozen=True, slots=True)
class _Access:
    """A tensor is touched at an index of each slot, in a tree of the kernel's body.

    ``places`` lead to the leaf. A read is done where ``when`` holds, for all values of indices in
    their ``ranges``.
    """

    places: tuple[int, ...]
    path: Path
    leaf: Leaf
    tensor: str
    dims: tuple[Expr, ...]
    writes: bool
    when: Cond = ALWAYS
    ranges: tuple[tuple[Dim, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class _Here:
    """A history whose steps are those of a slot, in a part of a kernel."""

    plan: Plan
    kernel: Kernel
    stored: Storage
    slot: int


def walks(plan: Plan) -> Walks:
    """The walks of a plan."""
    found, others = list[Walk](), set[str]()
    filled = {plan.storage[n].owner for end in plan.ends.values() for n, _ in end.fills}
    loops = dict(_loops(plan.driver))
    for number, kernel in enumerate(plan.kernels):
        touched: dict[str, list[_Access]] = {}
        for access in _accesses(plan, kernel):
            touched.setdefault(plan.storage[access.tensor].owner, []).append(access)
        for tensor, accesses in touched.items():
            if not plan.storage[tensor].is_long:
                continue
            around = None if kernel.is_shared else _alone_in(plan, loops.get(number), tensor)
            about = plan, len(found), number, accesses
            is_parted = tensor in filled or kernel.along is not None
            made = None if is_parted else _walk(*about, around)
            made = made or _whole(*about)
            if made is not None:
                found.append(made)
            else:
                others.add(tensor)
    return Walks(tuple(found), frozenset(others))


def _loops(
    steps: Sequence[Step], around: DriverLoop | None = None
) -> Iterator[tuple[int, DriverLoop]]:
    """The kernels that the driver calls in loops, each with the innermost one."""
    for step in steps:
        if isinstance(step, DriverLoop):
            yield from _loops(step.body, step)
        elif isinstance(step, Call) and around is not None:
            yield step.kernel, around


def _alone_in(plan: Plan, loop: DriverLoop | None, tensor: str) -> DriverLoop | None:
    """A loop of the driver, if one call in it touches a tensor."""
    if loop is None:
        return None
    inside = [k for k, _ in _loops((loop,)) if tensor in plan.accesses[k].all]
    return loop if len(inside) == 1 else None


def _accesses(plan: Plan, kernel: Kernel) -> Iterator[_Access]:
    """What the leaves of a kernel touch in memory, in order: a statement reads, then it writes."""
    for leaf, path, time in leaves(kernel.body):
        at = tuple(part for part in time if isinstance(part, int)), path, leaf
        for mask in (plan.ends[loop].mask for loop in path if loop in plan.ends):
            yield _Access(*at, mask, _own(plan, mask), False)
        for name in computed(leaf):
            statement = plan.statements[name]
            sizes = tuple((axis.index, axis.size) for axis in statement.axes)
            read = [] if isinstance(leaf, Fill) else [*guarded_loads(statement)]
            if name in plan.living and read:
                read.append((plan.living[name], ALWAYS))
            for x, when in read:
                if plan.storage[x.tensor].place != "register":
                    picks = ((p.axis.index, p.axis.size) for p in x.picks)
                    yield _Access(*at, x.tensor, x.dims, False, when, (*sizes, *picks))
            if plan.storage[name].place != "register":
                yield _Access(*at, name, _own(plan, name), True, ALWAYS, sizes)


def _own(plan: Plan, name: str) -> tuple[Expr, ...]:
    """The indices at which a statement writes."""
    return tuple(map(expr, plan.statements[name].result_dims))


def _walk(
    plan: Plan,
    number: int,
    kernel: int,
    accesses: Sequence[_Access],
    around: DriverLoop | None,
) -> Walk | None:
    """The walk of a tensor in a kernel, if each of its trees passes through it step by step."""
    stored = plan.storage[plan.storage[accesses[0].tensor].owner]
    same = all(_is_like(plan.storage[a.tensor], stored) for a in accesses)
    writers = {k for k, a in enumerate(plan.accesses) if stored.tensor in a.writes}
    is_only = writers == {kernel} and not plan.kernels[kernel].is_divided
    for slot in (k for k, each in enumerate(stored.slots) if same and each.kind == "full"):
        here = _Here(plan, plan.kernels[kernel], stored, slot)
        stands = _standing(here, accesses)
        if stands is None:
            continue
        outer, apart, rows = stands
        about = number, kernel, stored.tensor, slot, outer
        visits = _in_call(here, accesses, is_only)
        if visits is not None:
            return Walk(*about, tuple(visits), None, rows, apart)
        if around is not None and around.span.dim not in {d for e in outer for d in e.dims}:
            loop = around.span, around.reverse
            visits = _in_loop(here, accesses, loop, is_only)
            if visits is not None:
                return Walk(*about, tuple(visits), around, rows, apart)
    return None


def _whole(plan: Plan, number: int, kernel: int, accesses: Sequence[_Access]) -> Walk | None:
    """The walk of a tensor of which each tree of a kernel may touch all rows of some steps."""
    stored = plan.storage[plan.storage[accesses[0].tensor].owner]
    if not all(_is_like(plan.storage[a.tensor], stored) for a in accesses):
        return None
    slot = next(k for k, each in enumerate(stored.slots) if each.kind != "one")
    here = _Here(plan, plan.kernels[kernel], stored, slot)
    first, rows = expr(0), stored.slots[slot].extent
    if stored.slots[slot].kind == "full":
        first, rows = _rows(here, accesses, slot)
    visits = list[Visit]()
    for place in sorted({a.places[0] for a in accesses}):
        writes = any(a.writes for a in accesses if a.places[0] == place)
        visits.append(Visit(place, ONCE, False, 0, 0, writes, False, is_loop=False))
    outer = (*[expr(0)] * slot, first)
    about = number, kernel, stored.tensor, slot, outer
    return Walk(*about, tuple(visits), None, rows, slot, whole=True)


def _is_like(s: Storage, stored: Storage) -> bool:
    """Whether what shares memory lies there in the same order."""
    return (s.slots, s.shape, s.dtype) == (stored.slots, stored.shape, stored.dtype)


def _standing(
    here: _Here, accesses: Sequence[_Access]
) -> tuple[tuple[Expr, ...], int, Expr] | None:
    """The first indices of the slots before that of the steps, which one has rows, and how many."""
    outer, apart, rows = list[Expr](), -1, ONE
    for k, slot in enumerate(here.stored.slots[: here.slot]):
        at = [a.dims[k] for a in accesses]
        if slot.kind == "one":
            outer.append(expr(0))
        elif all(e == at[0] for e in at) and at[0].dims <= {*here.kernel.outer}:
            outer.append(at[0])
        elif apart >= 0 or slot.kind != "full":
            return None
        else:
            first, rows = _rows(here, accesses, k)
            apart = k
            outer.append(first)
    return tuple(outer), apart, rows


def _rows(here: _Here, accesses: Sequence[_Access], slot: int) -> tuple[Expr, Expr]:
    """The first row of a slot that accesses touch, and how many; all of them, if it is unclear."""
    firsts, most = set[Expr](), 0
    for a in accesses:
        e, still = a.dims[slot], {*here.kernel.outer}
        fixed = [(x, k) for x, k in e.terms if Expr(((x, 1),), 0).dims <= still]
        known = dict[Dim, Interval]()
        for dim, size in (*((loop.dim, loop.span.hi) for loop in a.path), *a.ranges):
            known[dim] = Interval(0, max(0, interval(size).high - 1))
        first = Expr(tuple(fixed), 0)
        reach = interval(e - first, known)
        firsts.add(first)
        most = max(most, reach.high + 1)
        if reach.low < 0:
            return expr(0), here.stored.slots[slot].extent
    if len(firsts) > 1 or most > MOST_ROWS:
        return expr(0), here.stored.slots[slot].extent
    return firsts.pop(), expr(most)


def _in_call(here: _Here, accesses: Sequence[_Access], is_only: bool) -> list[Visit] | None:
    """How the trees of a kernel pass through a history in one call."""
    return _in_body(here, accesses, (), is_only)


def _in_body(
    here: _Here, accesses: Sequence[_Access], turns: tuple[Loop, ...], is_only: bool
) -> list[Visit] | None:
    """How the trees in the body of some loops pass through a history, one after the other."""
    visits, depth = list[Visit](), len(turns)
    for place in sorted({a.places[depth] for a in accesses}):
        inside = [a for a in accesses if a.places[depth] == place]
        made = _visits(here, inside, turns, is_only and not visits)
        if made is None:
            return None
        visits.extend(made)
    return visits


def _visits(
    here: _Here, accesses: Sequence[_Access], turns: tuple[Loop, ...], is_first: bool
) -> list[Visit] | None:
    """How a tree passes through a history: in its loop, as a leaf, or in a loop that is a turn."""
    depth = len(turns)
    if len(accesses[0].path) == depth:
        made = _at_leaf(here, accesses, depth)
        return made and [_turned(v, accesses[0], turns) for v in made]
    loop = accesses[0].path[depth]
    if any(loop.dim in a.dims[here.slot].dims for a in accesses):
        made = _in_loop(here, accesses, (loop.span, loop.reverse), is_first, depth)
        return made and [_turned(v, accesses[0], turns) for v in made]
    parallel = here.kernel.parallel
    known = {t.dim for t in turns} | ({parallel.dim} if parallel else set[Dim]())
    if loop.span.lo.dims <= {t.dim for t in turns} and loop.span.hi.dims <= known:
        return _in_body(here, accesses, (*turns, loop), is_first)
    return None


def _turned(visit: Visit, access: _Access, turns: tuple[Loop, ...]) -> Visit:
    """A visit where it is done."""
    inside = access.places[1 : 1 + len(turns)]
    inside += (visit.leaf,) if visit.is_round and visit.is_loop else ()
    return replace(visit, place=access.places[0], turns=tuple(t.span for t in turns), inside=inside)


def _in_loop(
    here: _Here,
    accesses: Sequence[_Access],
    loop: tuple[Span, bool],
    is_first: bool,
    depth: int = -1,
) -> list[Visit] | None:
    """How a loop passes through a history: its visit, and rounds at every step.

    Before it in the kernel are as many loops as its ``depth`` says; -1 is a loop of the driver.
    """
    span, reverse = loop
    outer = {t.dim for t in accesses[0].path[: max(0, depth)]}
    if not span.lo.dims | span.hi.dims <= outer:
        return None
    nears, rounds = list[tuple[_Access, Interval]](), list[Visit]()
    for a in accesses:
        made = _distance(here, a, span.dim)
        if made is not None:
            nears.append((a, made))
            continue
        if [t.dim for t in a.path[depth + 1 :]]:
            return None  # a loop between would go through it several times
        found = _round(here, a, {span.dim})
        if found is None:
            return None
        rounds.append(found)
    near = replace(_near(span, reverse, nears), place=accesses[0].places[0])
    ends = [v.span.hi - expr(span.dim) - 1 for v in rounds]
    is_late = any(not e.is_const or e.as_int() > 0 or reverse for e in ends)
    return [replace(near, fills=is_first and near.fills and not is_late), *rounds]


def _distance(here: _Here, access: _Access, dim: Dim) -> Interval | None:
    """How far an access is from the step of a loop, if that is bounded for all extents."""
    index = access.dims[here.slot]
    away = index - expr(dim)
    if away.is_const:
        return Interval(away.as_int(), away.as_int())
    if dim not in index.dims and access.when == ALWAYS or not is_quasi_affine(index):
        return None
    limits = [access.when]
    for loop in access.path:
        limits += [at_least(loop.dim, loop.span.lo), at_least(loop.span.hi, expr(loop.dim) + 1)]
    path, step = tuple(loop.dim for loop in access.path), Dim("step")
    dims = tuple(dict.fromkeys((*here.kernel.outer, *path)))
    if dim not in path:
        return None
    inside = [(d, size) for d, size in access.ranges if is_quasi_affine(size) and d not in dims]
    related = isl.relation(dims, (step,), [index], every(*limits), inside)
    low, high = related.distance(dim, step)
    return None if low is None or high is None else Interval(-high, -low)


def _at_leaf(here: _Here, accesses: Sequence[_Access], depth: int) -> list[Visit] | None:
    """The visit of the one step that a leaf touches, or its round through all steps."""
    at = [a.dims[here.slot] for a in accesses]
    writes = any(a.writes for a in accesses)
    outer = {t.dim for t in accesses[0].path}
    if at[0].dims <= outer and all(e == at[0] for e in at):
        span = Span(here.stored.slots[here.slot].dim, at[0], at[0] + 1)
        return [Visit(0, span, False, 0, 0, writes, False, is_loop=False)]
    made = _round(here, accesses[0], outer) if len(accesses) == 1 else None
    if made is None:
        return None
    base = Visit(0, ONCE, False, 0, 0, False, False, is_loop=False, near=False)
    return [base, replace(made, is_loop=False)]


def _near(span: Span, reverse: bool, accesses: Sequence[tuple[_Access, Interval]]) -> Visit:
    """The visit of a loop that touches steps so far from its own."""
    low = min((k.low for _, k in accesses), default=0)
    high = max((k.high for _, k in accesses), default=0)
    news = [a.writes for a, k in accesses if k.low <= 0 <= k.high]
    looks = low < 0 if reverse else high > 0
    writes = any(a.writes for a, _ in accesses)
    fills = bool(news) and news[0] and not looks
    return Visit(0, span, reverse, max(0, -low), max(0, high), writes, fills, near=bool(accesses))


def _round(here: _Here, access: _Access, dims: Collection[Dim]) -> Visit | None:
    """The visit of a leaf that goes through a history, up to a step that loops around decide."""
    made = round_of(here.plan, access.leaf, here.stored.tensor)
    if here.kernel.sliced or made is None:
        return None
    first = access.dims[here.slot] - expr(made.axis.index)
    if not made.axis.size.dims | first.dims <= {*dims}:
        return None
    span, leaf = Span(made.axis.index, first, first + made.axis.size), access.places[-1]
    return Visit(access.places[0], span, False, 0, 0, False, False, leaf=leaf)
