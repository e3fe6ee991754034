"""Histories that a kernel passes through step by step: what can be moved while it goes on.

A *walk* is a history that every loop of one kernel reads and writes near the step that it is at, or
goes through from the first step on, at each of its own steps (`ostinato.codegen.planning.rounds`).
Only the steps around it need to be in memory; the others may wait in a file. A walk is done in one
call of a kernel, or in all calls of a loop of the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.codegen.ir.system import loads
from ostinato.codegen.ir.tree import (
    Call,
    DriverLoop,
    Fill,
    Kernel,
    Leaf,
    Path,
    Span,
    Step,
    computed,
    leaves,
)
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.rounds import round_of
from ostinato.pdg.index import Dim, Expr, dims_of, expr


@dataclass(frozen=True, slots=True)
class Visit:
    """A tree of a kernel's body that passes through a history once.

    ``place`` is its number in the body. A loop touches at step ``t`` the steps from ``t - back`` to
    ``t + ahead``; a ``span`` of one step without a loop is that step alone. What it ``fills`` it
    writes before it reads it, and it reads nothing that it has not written yet. A loop that is not
    ``near`` touches nothing by itself: rounds do.

    A round is a visit of its own, behind that of the loop: at every step of this one, the ``leaf``
    of its body with this number goes through the ``span``.
    """

    place: int
    span: Span
    reverse: bool
    back: int
    ahead: int
    writes: bool
    fills: bool
    is_loop: bool = True
    near: bool = True
    leaf: int = -1

    @property
    def is_round(self) -> bool:
        return self.leaf >= 0


@dataclass(frozen=True, slots=True)
class Walk:
    """A history in one kernel: the slot of its steps, and what passes through it, in order.

    ``outer`` are the indices of the slots before that one: they stand still in the kernel. With a
    loop ``around`` its calls are one walk, of one visit with its rounds.
    """

    number: int
    kernel: int
    tensor: str
    slot: int
    outer: tuple[Expr, ...]
    visits: tuple[Visit, ...]
    around: DriverLoop | None = None


@dataclass(frozen=True, slots=True)
class _Access:
    """A tensor is touched at an index of each slot, in a tree of the kernel's body."""

    place: int
    path: Path
    leaf: tuple[int, Leaf]  # with its place in the body of the loop around it
    tensor: str
    dims: tuple[Expr, ...]
    writes: bool


def walks(plan: Plan) -> tuple[tuple[Walk, ...], frozenset[str]]:
    """The walks of a plan, and the histories that some kernel touches in another way."""
    found, others = list[Walk](), set[str]()
    filled = {plan.storage[n].owner for end in plan.ends.values() for n, _ in end.fills}
    loops = dict(_loops(plan.driver))
    for number, kernel in enumerate(plan.kernels):
        touched: dict[str, list[_Access]] = {}
        for access in _accesses(plan, kernel):
            touched.setdefault(plan.storage[access.tensor].owner, []).append(access)
        for tensor, accesses in touched.items():
            if all(slot.kind == "one" for slot in plan.storage[tensor].slots):
                continue
            shared = kernel.sliced or kernel.along is not None or tensor in filled
            around = None if kernel.is_shared else _alone_in(plan, loops.get(number), tensor)
            made = None if shared else _walk(plan, len(found), number, accesses, around)
            if made is None:
                others.add(tensor)
            else:
                found.append(made)
    return tuple(found), frozenset(others)


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
        place, inner = time[0], time[-1]
        assert isinstance(place, int) and isinstance(inner, int), "a time has places at its ends"
        at = place, path, (inner, leaf)
        for mask in (plan.ends[loop].mask for loop in path if loop in plan.ends):
            yield _Access(*at, mask, _own(plan, mask), False)
        for name in computed(leaf):
            read = [x for _, value in plan.statements[name].clauses for x in loads(value)]
            read += [plan.living[name]] if name in plan.living else []
            for x in () if isinstance(leaf, Fill) else read:
                if plan.storage[x.tensor].place != "register":
                    yield _Access(*at, x.tensor, x.dims, False)
            if plan.storage[name].place != "register":
                yield _Access(*at, name, _own(plan, name), True)


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
    for slot in (k for k, each in enumerate(stored.slots) if same and each.kind == "full"):
        outer, is_only = _outer(stored, slot, accesses[0]), writers == {kernel}
        still = {d for e in outer for d in dims_of(e)} <= {*plan.kernels[kernel].outer}
        if not still or any(_outer(stored, slot, a) != outer for a in accesses):
            continue
        visits = _in_call(plan, stored, slot, accesses, is_only)
        if visits is not None:
            return Walk(number, kernel, stored.tensor, slot, outer, tuple(visits))
        if around is not None and around.span.dim not in {d for e in outer for d in dims_of(e)}:
            loop = around.span, around.reverse
            visits = _in_loop(plan, stored, slot, accesses, loop, is_only)
            if visits is not None:
                return Walk(number, kernel, stored.tensor, slot, outer, tuple(visits), around)
    return None


def _in_call(
    plan: Plan, stored: Storage, slot: int, accesses: Sequence[_Access], is_only: bool
) -> list[Visit] | None:
    """How the trees of a kernel pass through a history in one call."""
    visits = list[Visit]()
    for place in sorted({a.place for a in accesses}):
        here = [a for a in accesses if a.place == place]
        made = _visits(plan, stored, slot, here, is_only and not visits)
        if made is None:
            return None
        visits.extend(made)
    return visits


def _outer(stored: Storage, slot: int, access: _Access) -> tuple[Expr, ...]:
    """The indices before a slot."""
    kinds = (stored.slots[k].kind for k in range(slot))
    pairs = zip(kinds, access.dims, strict=False)
    return tuple(expr(0) if kind == "one" else e for kind, e in pairs)


def _is_like(s: Storage, stored: Storage) -> bool:
    """Whether what shares memory lies there in the same order."""
    return (s.slots, s.shape, s.dtype) == (stored.slots, stored.shape, stored.dtype)


def _visits(
    plan: Plan, stored: Storage, slot: int, accesses: Sequence[_Access], is_first: bool
) -> list[Visit] | None:
    """How a tree passes through a history whose steps are those of a slot: a visit, its rounds."""
    loops = {a.path[:1] for a in accesses}
    if len(loops) > 1:
        return None
    (path,) = loops
    if not path:
        alone = _alone(stored, slot, accesses)
        return None if alone is None else [alone]
    loop = path[0].span, path[0].reverse
    return _in_loop(plan, stored, slot, accesses, loop, is_first)


def _in_loop(
    plan: Plan,
    stored: Storage,
    slot: int,
    accesses: Sequence[_Access],
    loop: tuple[Span, bool],
    is_first: bool,
) -> list[Visit] | None:
    """How a loop passes through a history: its visit, and rounds at every step."""
    span, reverse = loop
    if dims_of(span.lo) or dims_of(span.hi):
        return None
    away = [a.dims[slot] - expr(span.dim) for a in accesses]
    nears = [(a, e.as_int()) for a, e in zip(accesses, away, strict=True) if e.is_const]
    rounds = list[Visit]()
    for a in (a for a, e in zip(accesses, away, strict=True) if not e.is_const):
        made = _round(plan, stored, slot, a, span.dim)
        if made is None:
            return None
        rounds.append(made)
    near = _near(accesses[0].place, span, reverse, nears)
    ends = [v.span.hi - expr(span.dim) - 1 for v in rounds]
    is_late = any(not e.is_const or e.as_int() > 0 or reverse for e in ends)
    return [replace(near, fills=is_first and near.fills and not is_late), *rounds]


def _alone(stored: Storage, slot: int, accesses: Sequence[_Access]) -> Visit | None:
    """The visit of the one step that a tree without a loop touches."""
    at = [a.dims[slot] for a in accesses]
    if dims_of(at[0]) or any(e != at[0] for e in at):
        return None
    span = Span(stored.slots[slot].dim, at[0], at[0] + 1)
    writes = any(a.writes for a in accesses)
    return Visit(accesses[0].place, span, False, 0, 0, writes, False, is_loop=False)


def _near(place: int, span: Span, reverse: bool, accesses: Sequence[tuple[_Access, int]]) -> Visit:
    """The visit of a loop that touches steps so far from its own."""
    by = [k for _, k in accesses]
    news = [a.writes for a, k in accesses if k == 0]
    looks = min(by, default=0) < 0 if reverse else max(by, default=0) > 0
    back, ahead = max(0, -min(by, default=0)), max(0, *by, 0)
    writes = any(a.writes for a, _ in accesses)
    fills = bool(news) and news[0] and not looks
    return Visit(place, span, reverse, back, ahead, writes, fills, near=bool(accesses))


def _round(plan: Plan, stored: Storage, slot: int, access: _Access, dim: Dim) -> Visit | None:
    """The visit of a leaf that goes through a history at every step of the loop around it."""
    place, leaf = access.leaf
    made = round_of(plan, leaf, stored.tensor)
    if made is None or access.dims[slot] != expr(made.axis.index):
        return None
    if [loop.dim for loop in access.path] not in ([], [dim]):
        return None  # a loop between would go through it several times
    if not dims_of(made.axis.size) <= {dim}:
        return None
    span = Span(made.axis.index, expr(0), made.axis.size)
    return Visit(access.place, span, False, 0, 0, False, False, leaf=place)
