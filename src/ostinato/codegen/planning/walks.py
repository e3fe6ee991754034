"""Histories that a kernel passes through step by step: what can be moved while it goes on.

A *walk* is a history that every loop of one kernel reads and writes near the step that it is at.
Only the steps around it need to be in memory; the others may wait in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.codegen.ir.system import loads
from ostinato.codegen.ir.tree import Fill, Kernel, Path, Span, computed, leaves
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.index import Expr, dims_of, expr


@dataclass(frozen=True, slots=True)
class Visit:
    """A tree of a kernel's body that passes through a history once.

    ``place`` is its number in the body. A loop touches at step ``t`` the steps from ``t - back`` to
    ``t + ahead``; a ``span`` of one step without a loop is that step alone. What it ``fills`` it
    writes before it reads it, and it reads nothing that it has not written yet.
    """

    place: int
    span: Span
    reverse: bool
    back: int
    ahead: int
    writes: bool
    fills: bool
    is_loop: bool = True


@dataclass(frozen=True, slots=True)
class Walk:
    """A history in one kernel: the slot of its steps, and what passes through it, in order.

    ``outer`` are the indices of the slots before that one: they stand still in the kernel.
    """

    number: int
    kernel: int
    tensor: str
    slot: int
    outer: tuple[Expr, ...]
    visits: tuple[Visit, ...]


@dataclass(frozen=True, slots=True)
class _Access:
    """A tensor is touched at an index of each slot, in a tree of the kernel's body."""

    place: int
    path: Path
    tensor: str
    dims: tuple[Expr, ...]
    writes: bool


def walks(plan: Plan) -> tuple[tuple[Walk, ...], frozenset[str]]:
    """The walks of a plan, and the histories that some kernel touches in another way."""
    found, others = list[Walk](), set[str]()
    filled = {plan.storage[n].owner for end in plan.ends.values() for n, _ in end.fills}
    for number, kernel in enumerate(plan.kernels):
        touched: dict[str, list[_Access]] = {}
        for access in _accesses(plan, kernel):
            touched.setdefault(plan.storage[access.tensor].owner, []).append(access)
        for tensor, accesses in touched.items():
            if all(slot.kind == "one" for slot in plan.storage[tensor].slots):
                continue
            shared = kernel.sliced or kernel.along is not None or tensor in filled
            made = None if shared else _walk(plan, len(found), number, accesses)
            if made is None:
                others.add(tensor)
            else:
                found.append(made)
    return tuple(found), frozenset(others)


def _accesses(plan: Plan, kernel: Kernel) -> Iterator[_Access]:
    """What the leaves of a kernel touch in memory, in order: a statement reads, then it writes."""
    for leaf, path, time in leaves(kernel.body):
        place = time[0]
        assert isinstance(place, int), "a time begins with a place"
        for mask in (plan.ends[loop].mask for loop in path if loop in plan.ends):
            yield _Access(place, path, mask, _own(plan, mask), False)
        for name in computed(leaf):
            read = [x for _, value in plan.statements[name].clauses for x in loads(value)]
            read += [plan.living[name]] if name in plan.living else []
            for x in () if isinstance(leaf, Fill) else read:
                if plan.storage[x.tensor].place != "register":
                    yield _Access(place, path, x.tensor, x.dims, False)
            if plan.storage[name].place != "register":
                yield _Access(place, path, name, _own(plan, name), True)


def _own(plan: Plan, name: str) -> tuple[Expr, ...]:
    """The indices at which a statement writes."""
    return tuple(map(expr, plan.statements[name].result_dims))


def _walk(plan: Plan, number: int, kernel: int, accesses: Sequence[_Access]) -> Walk | None:
    """The walk of a tensor in a kernel, if each of its trees passes through it step by step."""
    stored = plan.storage[plan.storage[accesses[0].tensor].owner]
    same = all(_is_like(plan.storage[a.tensor], stored) for a in accesses)
    writers = {k for k, a in enumerate(plan.accesses) if stored.tensor in a.writes}
    for slot in (k for k, each in enumerate(stored.slots) if same and each.kind == "full"):
        visits, outer = list[Visit](), _outer(stored, slot, accesses[0])
        still = {d for e in outer for d in dims_of(e)} <= {*plan.kernels[kernel].outer}
        if not still or any(_outer(stored, slot, a) != outer for a in accesses):
            continue
        for place in sorted({a.place for a in accesses}):
            here = [a for a in accesses if a.place == place]
            is_first = not visits and writers == {kernel}
            made = _visit(stored, slot, here, is_first)
            if made is None:
                break
            visits.append(made)
        else:
            return Walk(number, kernel, stored.tensor, slot, outer, tuple(visits))
    return None


def _outer(stored: Storage, slot: int, access: _Access) -> tuple[Expr, ...]:
    """The indices before a slot."""
    kinds = (stored.slots[k].kind for k in range(slot))
    pairs = zip(kinds, access.dims, strict=False)
    return tuple(expr(0) if kind == "one" else e for kind, e in pairs)


def _is_like(s: Storage, stored: Storage) -> bool:
    """Whether what shares memory lies there in the same order."""
    return (s.slots, s.shape, s.dtype) == (stored.slots, stored.shape, stored.dtype)


def _visit(stored: Storage, slot: int, accesses: Sequence[_Access], is_first: bool) -> Visit | None:
    """How a tree passes through a history whose steps are those of a slot."""
    place, loops = accesses[0].place, {a.path[:1] for a in accesses}
    if len(loops) > 1:
        return None
    writes, at = any(a.writes for a in accesses), [a.dims[slot] for a in accesses]
    (path,) = loops
    if not path:
        if dims_of(at[0]) or any(e != at[0] for e in at):
            return None
        span = Span(stored.slots[slot].dim, at[0], at[0] + 1)
        return Visit(place, span, False, 0, 0, writes, False, is_loop=False)
    span, reverse = path[0].span, path[0].reverse
    away = [e - expr(span.dim) for e in at]
    if not all(e.is_const for e in away) or dims_of(span.lo) or dims_of(span.hi):
        return None
    by = [e.as_int() for e in away]
    news = [a.writes for a, k in zip(accesses, by, strict=True) if k == 0]
    looks = min(by) < 0 if reverse else max(by) > 0
    fills = is_first and bool(news) and news[0] and not looks
    return Visit(place, span, reverse, max(0, -min(by)), max(0, *by), writes, fills)
