"""What a published loop carries: all that a step reads of the steps before it, and no more.

Memory that is written in the loop is carried if a later step, or code behind the loop, may read
what an earlier step left there. Of a tensor with all steps in memory these are the last steps that
a read reaches back to, or all of them where nothing bounds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from ostinato.codegen.emit.driver import published_loop
from ostinato.codegen.ir.system import Load, Statement
from ostinato.codegen.ir.tree import DriverLoop, Fill, Span, Step, computed, leaves
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.kernel_partition import calls
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.scheduling.deps import HERE, Box, indices_of, quick_gap
from ostinato.pdg.index import Dim, Expr, Extent, expr, symbols
from ostinato.runtime.machine_code.ports import Carried

Shapes = Mapping[str, tuple[Expr, ...]]


def carried(plan: Plan, shapes: Shapes) -> tuple[Carried, ...]:
    """The tensors that the published loop carries, by name.

    ``shapes`` are those of the user's recurrences: an axis of size 1 is not stored.
    """
    loop = published_loop(plan)
    assert loop is not None, "a program without a published loop carries nothing"
    inside = frozenset(calls(loop.body))
    after = frozenset(calls(plan.driver[plan.driver.index(loop) + 1 :]))
    found = Reads(plan, loop.span.dim, inside)
    written = {name for k in inside for name in plan.accesses[k].writes}
    back: dict[str, int | None] = {}
    for owner in sorted(written):
        if owner not in plan.statements or plan.storage[owner].place != "global":
            continue
        users = {k for k, access in enumerate(plan.accesses) if owner in access.all}
        farthest = found.back(owner)
        if farthest != 0 or not users <= inside:
            back[owner] = None if users & after else farthest
    names = _names(found, list(back))
    made = (_carried(plan, name, x, loop.span.dim, back[x]) for x, name in names.items())
    return tuple(sorted((_as_written(c, shapes) for c in made), key=lambda c: c.name))


def _as_written(c: Carried, shapes: Shapes) -> Carried:
    """The same with the axes of size 1 that the user wrote, where the others are the user's."""
    written = shapes.get(c.name, ())
    kept = tuple(n for n in written if n != expr(1))
    lead = len(c.shape) - len(kept)
    if lead < 0 or c.shape[lead:] != kept:
        return c
    left = iter(c.axes[lead:])
    axes = tuple(() if n == expr(1) else next(left) for n in written)
    return replace(c, shape=(*c.shape[:lead], *written), axes=(*c.axes[:lead], *axes))


def _names(found: Reads, owners: Sequence[str]) -> dict[str, str]:
    """Different names for memories; first of those that have one of the user."""
    out: dict[str, str] = {}
    for owner in sorted(owners, key=lambda x: (not found.own(x), x)):
        out[owner] = next(n for n in found.names(owner) if n not in out.values())
    return out


def windows(plan: Plan) -> dict[str, int]:
    """The tensors of which a stream needs its last steps only, and how far reads look back.

    All that reads and writes them is in the published loop, which writes a step of them in turn,
    and a step is one stretch of memory.
    """
    loop = published_loop(plan)
    if loop is None or loop.reverse or loop.span.lo != expr(0):
        return {}
    inside = frozenset(calls(loop.body))
    outside = {n for k, x in enumerate(plan.accesses) if k not in inside for n in x.all}
    written = {name for k in inside for name in plan.accesses[k].writes} - outside
    found, out = Reads(plan, loop.span.dim, inside), dict[str, int]()
    for owner in sorted(written & plan.statements.keys()):
        back = found.back(owner)
        if back is not None and is_by_step(plan.storage[owner], loop.span.dim):
            out[owner] = back
    return out


def is_by_step(s: Storage, dim: Dim) -> bool:
    """Whether all points of a dim are kept, one after the other."""
    first = next((slot for slot in s.slots if slot.kind != "one"), None)
    return s.place == "global" and first is not None and (first.dim, first.kind) == (dim, "full")


class Reads:
    """How far the reads of a loop look back along its dim."""

    def __init__(self, plan: Plan, dim: Dim, inside: frozenset[int]) -> None:
        self.plan, self.dim = plan, dim
        self.spans = dict(_spans(plan))
        self.loads: dict[str, list[tuple[Statement, Load]]] = {}
        for k in sorted(inside):
            for leaf, _, _ in leaves(plan.kernels[k].body):
                if not isinstance(leaf, Fill):
                    self.note(computed(leaf))

    def note(self, names: Sequence[str]) -> None:
        for name in names:
            s = self.plan.statements[name]
            for load in s.reads:
                if load.tensor in self.plan.storage:
                    owner = self.plan.storage[load.tensor].owner
                    self.loads.setdefault(owner, []).append((s, load))

    def back(self, owner: str) -> int | None:
        """The farthest step back that is read of some memory; None if nothing bounds it."""
        farthest = 0
        for reader, load in self.loads.get(owner, ()):
            dims = self.plan.statements[load.tensor].result_dims
            if self.dim not in dims:
                continue
            index = load.dims[dims.index(self.dim)]
            box = Box(self.spans, indices_of(reader, load))
            gap = quick_gap(self.dim, index, box) or (None, None)
            if gap != HERE and gap[1] is None:
                return None
            farthest = max(farthest, *(abs(n) for n in gap if n is not None))
        return farthest

    def own(self, owner: str) -> list[str]:
        """The user's names of what lies in some memory, its owner first."""
        of = self.plan.statements
        members = [n for n in of if self.plan.storage[n].owner == owner and n != owner]
        return [n.removesuffix(f"_at_{self.dim}") for n in (owner, *members) if of[n].label]

    def names(self, owner: str) -> Iterator[str]:
        """Names for what lies in some memory: the user's, also of what it is at the next step."""
        yield from self.own(owner)
        for s, load in self.loads.get(owner, ()):
            if s.label and any(value == load for _, value in s.clauses):
                yield s.name.removesuffix(f"_at_{self.dim}")
        yield owner
        yield from (f"{owner}#{k}" for k in count(2))


def _spans(plan: Plan) -> Iterator[tuple[Dim, Span]]:
    """The spans of all loops."""

    def driven(steps: Sequence[Step]) -> Iterator[Span]:
        for step in steps:
            if isinstance(step, DriverLoop):
                yield step.span
                yield from driven(step.body)

    for span in driven(plan.driver):
        yield span.dim, span
    for kernel in plan.kernels:
        if kernel.parallel is not None:
            yield kernel.parallel.dim, kernel.parallel
        for _, path, _ in leaves(kernel.body):
            for loop in path:
                yield loop.dim, loop.span


def _carried(plan: Plan, name: str, owner: str, dim: Dim, back: int | None) -> Carried:
    """How the memory of a carried tensor is an array for people."""
    s, storage = plan.statements[owner], plan.storage[owner]
    single = tuple(k for k, slot in enumerate(storage.slots) if slot.kind == "one")
    steps = next((k for k, slot in enumerate(storage.slots) if slot.dim == dim), None)
    kind = "one" if steps is None else storage.slots[steps].kind
    if kind == "one":
        steps = None
    gone = {*single, steps}
    left = [k for k in range(len(storage.shape)) if k not in gone]
    axes, shape = _axes(plan, s, storage, left)
    return Carried(
        name, owner, storage.dtype, storage.shape, shape, axes, single, steps, kind, back
    )


def _axes(
    plan: Plan, s: Statement, storage: Storage, left: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[Expr, ...]]:
    """The stored axes, of those ``left``, that each axis of the array is made of; its shape.

    They are in the order of the user, the memory may have another one.
    """
    whole = {piece: (dim, pieces) for dim, pieces in plan.tiles.items() for piece in pieces}
    indices = [*(slot.dim for slot in storage.slots), *(a.index for a in storage.axes)]
    sizes = [*(x.extent for x in storage.slots), *(_rows(a.size, a.pad) for a in storage.axes)]
    place = {indices[k]: number for number, k in enumerate(left)}
    ranks = plan.ranks.get(s.name, {})
    groups: list[tuple[int, tuple[int, ...], Expr]] = []
    done: set[int] = set()
    for number, k in enumerate(left):
        if number in done:
            continue
        dim, pieces = whole.get(indices[k], (indices[k], ()))
        group = tuple(place[p] for p in pieces if p in place)
        is_whole = 0 < len(group) == len(pieces)
        made = group if is_whole else (number,)
        size = expr(dim.extent) if is_whole else sizes[k]
        groups.append((ranks.get(dim, -1), made, size))
        done.update(made)
    groups.sort(key=lambda found: found[0])
    return tuple(made for _, made, _ in groups), tuple(size for _, _, size in groups)


def _rows(size: Expr, pad: Expr) -> Expr:
    """The rows of an axis that are more than padding, where extents decide them."""
    return size if all(isinstance(x, Extent) for x in symbols(size)) else pad
