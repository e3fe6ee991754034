"""The straight runs inside loops: nests fused on vector axes, products, and their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from ostinato.codegen.ir.changed_elements import updated_at
from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.partial_sums import is_short_row
from ostinato.codegen.ir.system import Call, Draw, Statement, Value, children
from ostinato.codegen.ir.tree import Calling, Leaf, Nest, Sweep
from ostinato.codegen.scheduling.cluster import Edge, Rules, cluster
from ostinato.codegen.scheduling.deps import Dep, Unit
from ostinato.codegen.systems.axes import long_axes, rows
from ostinato.pdg.condition import Cond
from ostinato.pdg.functions import FLOATS, FUNCTIONS, POSITIONS
from ostinato.pdg.index import Expr, Extent, expr
from ostinato.pdg.scc import components

LONG = frozenset(f.name for f in FUNCTIONS.values() if f.price == "long")


Work = Literal["light", "long", "rows", "in order", "blocks"]
_BOTH: dict[frozenset[Work], Work] = {
    frozenset(("rows", "long")): "rows",
    frozenset(("rows", "in order")): "in order",
    frozenset(("blocks", "long")): "blocks",
}
"""What is done in one loop with other work; everything is with light work."""


@dataclass(frozen=True)
class LeafHeader:
    """A nest's loop sizes and clause conditions; a product or sweep is alone in its leaf.

    ``work`` keeps long computations out of loops that add up numbers in order, one at a time, and
    folds of rows out of loops that complete blocks of positions. ``updated`` are the positions
    along each axis at which elements change: loops over others are left out where one set of
    positions holds for all that they do.
    """

    sizes: tuple[Expr, ...]
    conds: tuple[Cond, ...]
    alone: str = ""
    work: Work = "light"
    updated: tuple[frozenset[Value], ...] = ()


def _together(a: LeafHeader, b: LeafHeader) -> tuple[LeafHeader, ...]:
    """The header of two nests as one, if they may be one."""
    if a.alone or b.alone or a.sizes != b.sizes or a.conds != b.conds:
        return ()
    if a.updated and b.updated and a.updated != b.updated:
        return ()
    both = _BOTH.get(frozenset((a.work, b.work)))
    if a.work == b.work or "light" in (a.work, b.work):
        both = b.work if a.work == "light" else a.work
    return (replace(a, work=both, updated=a.updated or b.updated),) if both else ()


def is_register_fold(statement: Statement) -> bool:
    """Whether a fold's reduced indices are a run of innermost loops (or only unrolled axes).

    Positions are kept for a block of results, whose loop may be inside.
    """
    reduced = [a.index in statement.reduced for a in long_axes(statement)]
    trailing = reduced == sorted(reduced) or statement.fold in POSITIONS
    return trailing and not any(d in statement.reduced for d in statement.dims)


def _header(unit: Unit, sizes: Sizes, keeps_parts: bool) -> LeafHeader:
    s = unit.main
    if s.name in sizes.products or s.kind in ("along", "host"):
        return LeafHeader((), (), s.name)
    conds = tuple(c for c, _ in s.clauses)
    return LeafHeader(_shape(s), conds, "", _work(s, keeps_parts), updated_at(s, long_axes(s)))


def _work(s: Statement, keeps_parts: bool) -> Work:
    loops = long_axes(s)
    if loops and loops[-1].index in s.reduced:
        size = loops[-1].size
        apart = s.dtype not in FLOATS or (keeps_parts and not is_short_row(size))
        return "rows" if apart else "in order"
    if s.fold in POSITIONS and any(a.index in s.reduced for a in loops):
        return "blocks"
    return "long" if any(is_long(value) for _, value in s.clauses) else "light"


def is_long(value: Value) -> bool:
    """Whether a value takes long to compute: draws and most elementary functions."""
    is_own = isinstance(value, Draw) or (isinstance(value, Call) and value.fn in LONG)
    return is_own or any(map(is_long, children(value)))


def _shape(statement: Statement) -> tuple[Expr, ...]:
    """Loop sizes; a size that mentions another axis is unlike every other statement's."""
    own = {a.index for a in statement.axes}
    sizes = tuple(a.size for a in long_axes(statement))
    if any(size.dims & own for size in sizes):
        return (*sizes, expr(Extent(f"only {statement.name}")))
    return sizes


def _completes_late(statement: Statement) -> bool:
    """A result that exists only after loops of its leaf."""
    if statement.kind == "along":
        return True
    reduced = {a.index for a in long_axes(statement)} | set(statement.dims)
    return statement.kind != "map" and bool(reduced & statement.reduced)


def reads_same_element(dep: Dep, at_any_point: bool = False, every_axis: bool = False) -> bool:
    """Whether a read inside a nest is of the element that the nest computes in this iteration.

    ``at_any_point`` compares axes only; ``every_axis`` the unrolled axes too.
    """
    producer, load = dep.producer.main, dep.load
    moved = any(e.as_dim() != d for d, e in zip(producer.result_dims, load.dims, strict=True))
    if _completes_late(producer) or (moved and not at_any_point):
        return False
    at = {a.index: k for k, a in enumerate(long_axes(dep.reader))}
    place = {a.index: k for k, a in enumerate(long_axes(producer))}
    picked = {pick.axis.index for pick in load.picks}
    matched = 0
    for axis, index in zip(producer.result_axes, load.axes, strict=True):
        if index.dims & picked:
            return False
        if axis.index in place:
            dim = index.as_dim()
            if dim is None or at.get(dim) != place[axis.index]:
                return False
            matched += 1
        elif every_axis and index.as_dim() != axis.index:
            return False
        elif index.dims & (at.keys() | set(dep.reader.dims)):
            return False
    return matched == len(place)


def leaf_nodes(
    units: Sequence[Unit], deps: Sequence[Dep], sizes: Sizes, keeps_parts: bool
) -> tuple[Leaf, ...]:
    """Leaves in an order that respects ``deps``, all of which are at the same point.

    Where a worker ``keeps_parts`` of a fold apart, it does not add up numbers in order.
    """
    succ: dict[str, list[str]] = {u.name: [] for u in units}
    for d in deps:
        succ[d.producer.name].append(d.consumer.name)
    by_name = {u.name: u for u in units}
    ordered = [by_name[n] for group in components(list(by_name), succ) for n in group]
    number = {u.name: k for k, u in enumerate(ordered)}
    edges = [
        Edge(number[d.producer.name], number[d.consumer.name], d)
        for d in deps
        if d.producer is not d.consumer
    ]
    rules = Rules[LeafHeader](
        _together,
        lambda header, dep: not header.alone and reads_same_element(dep),
        cache(sizes.elements),
    )
    groups = cluster([_header(u, sizes, keeps_parts) for u in ordered], edges, rules)
    return tuple(_leaf(header, [ordered[k] for k in items], sizes) for header, items in groups)


def _leaf(header: LeafHeader, units: list[Unit], sizes: Sizes) -> Leaf:
    statements = [u.main for u in units]
    if statements[0].kind == "along":
        return Sweep(statements[0].name, rows(statements[0]))
    if statements[0].kind == "host":
        return Calling(header.alone)
    if header.alone:
        return sizes.products[header.alone]
    memory = {s.name for s in statements if _completes_late(s) and not is_register_fold(s)}
    return Nest(
        tuple(s.name for s in statements),
        long_axes(statements[0]),
        header.conds,
        frozenset(memory),
    )
