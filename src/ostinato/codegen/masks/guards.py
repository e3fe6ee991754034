"""Where a value is needed: the points at which some reader, or the user, asks for it.

A value that is read under conditions only is not computed elsewhere. The conditions follow reads
backwards, as far as an index of the reader is known from one of what it reads; what is not known
counts as needed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache, reduce

from ostinato.codegen.ir.extents import Spans
from ostinato.codegen.ir.scc import components
from ostinato.codegen.ir.system import Axis, Load, Statement
from ostinato.codegen.ir.tree import Calling, Loop, Tree, computed
from ostinato.codegen.ir.values import guarded_loads
from ostinato.pdg.bounds import conjuncts, linear_bounds, simplified
from ostinato.pdg.condition import (
    ALWAYS,
    Compare,
    Cond,
    Some,
    at_least,
    cond_symbols,
    equal,
    every,
    some,
    substitute_cond,
)
from ostinato.pdg.extra_dims import twin
from ostinato.pdg.index import Dim, Expr, Extent, dims_of, expr, floordiv, mod

MOST = 3  # alternatives that are worth a test
Reads = Mapping[str, Sequence[tuple[Statement, Load, Cond]]]  # who reads a tensor, and when


def guards(
    statements: Mapping[str, Statement], outputs: frozenset[str], spans: Spans
) -> dict[str, Cond]:
    """The condition on its dims under which each statement is needed, where it is not always."""
    readers: dict[str, list[tuple[Statement, Load, Cond]]] = {n: [] for n in statements}
    for reader in statements.values():
        for load, cond in guarded_loads(reader):
            readers[load.tensor].append((reader, load, _simplified(cond)))
    free = {n for n, s in statements.items() if s.kind not in ("input", "host")} - outputs
    reads: dict[str, list[str]] = {n: [] for n in statements}
    for name in free:
        for reader, _, _ in readers[name]:
            reads[reader.name].append(name)
    found: dict[str, Cond] = {}
    for group in components(list(statements)[::-1], reads):
        if len(group) > 1 or group[0] in reads[group[0]]:
            found |= _together(group, statements, readers, found, spans)
        elif group[0] in free:
            found[group[0]] = _asked(statements[group[0]], readers[group[0]], found, spans)
    return {name: cond for name, cond in found.items() if cond != ALWAYS}


def _together(
    group: Sequence[str],
    statements: Mapping[str, Statement],
    readers: Reads,
    known: Mapping[str, Cond],
    spans: Spans,
) -> dict[str, Cond]:
    """The conditions of statements that need each other.

    Who is asked from outside asks the others, and these ask again: a condition that does not come
    back as it was is given up, so that this ends. What is left holds wherever anybody asks.
    """
    found: dict[str, Cond] = {}
    todo = [name for name in group if any(r.name not in group for r, _, _ in readers[name])]
    asks: dict[str, list[str]] = {name: [] for name in group}
    for name in group:
        for reader, _, _ in readers[name]:
            if reader.name in asks and name not in asks[reader.name]:
                asks[reader.name].append(name)
    while todo:
        name = todo.pop()
        s, every_reader = statements[name], readers[name]
        outside = [r for r in every_reader if r[0].name not in asks]
        parts = [_asked(s, outside, known, spans)] if outside else []
        inside = [r for r in every_reader if r[0].name in found]
        parts += [_asked(s, [r], found, spans) for r in inside]
        wanted = reduce(_common, parts)
        if name in found:
            wanted = _common(found[name], wanted)
        if found.get(name) != wanted:
            found[name] = wanted
            todo += [other for other in asks[name] if other not in todo]
    return found


def _common(a: Cond, b: Cond) -> Cond:
    """What two conditions both say, as far as they spell it alike."""
    said = conjuncts(b)
    return every(*(c for c in conjuncts(a) if c in said))


@lru_cache(maxsize=4096)
def _simplified(cond: Cond) -> Cond:
    return simplified(cond)


def guard_of(tree: Tree, known: Mapping[str, Cond]) -> Cond:
    """Where a leaf is needed, or all of a loop; what calls Python is run in any case."""
    if not known or isinstance(tree, Calling):
        return ALWAYS
    if isinstance(tree, Loop):
        inside = (_without_dim(guard_of(inner, known), tree.dim) for inner in tree.body)
        return reduce(_common, inside)
    return _any([known.get(name, ALWAYS) for name in computed(tree)])


def _without_dim(cond: Cond, dim: Dim) -> Cond:
    return every(*(c for c in conjuncts(cond) if dim not in cond_symbols(c)))


def untested(guard: Cond, held: frozenset[Cond]) -> Cond:
    """What of a condition is still to be tested where others hold."""
    return every(*(c for c in conjuncts(guard) if c not in held))


def _any(conds: Sequence[Cond]) -> Cond:
    if ALWAYS in conds or not conds:
        return ALWAYS
    out = _simplified(some(*conds))
    return ALWAYS if isinstance(out, Some) and len(out.of) > MOST else out


def _asked(
    s: Statement,
    readers: Sequence[tuple[Statement, Load, Cond]],
    known: Mapping[str, Cond],
    spans: Spans,
) -> Cond:
    parts: list[Cond] = []
    for reader, load, cond in readers:
        part = _seen(s, reader, load, every(known.get(reader.name, ALWAYS), cond), spans)
        if part == ALWAYS:
            return ALWAYS
        parts.append(part)
    return _any(parts)


def _seen(s: Statement, reader: Statement, load: Load, cond: Cond, spans: Spans) -> Cond:
    """The points of a statement that a load reads while a condition of the reader holds."""
    axes = {a.index: a for a in reader.axes}
    inner: dict[Dim, Expr] = {}  # an index of the reader, from the point that it reads
    asked, fixed = list(conjuncts(cond)), list[Cond]()
    for dim, e in zip(s.result_dims, load.dims, strict=True):
        index = (e - e.const).as_dim()
        if not dims_of(e):
            fixed.append(equal(dim, e))
        elif index is not None and index not in inner and index in (*reader.dims, *axes):
            inner[index] = expr(dim) - e.const
            if index in axes and axes[index].size != spans[dim].hi:
                asked += _within(axes[index])
        elif (strided := _strided(e)) and strided[0] not in inner and strided[0] in reader.dims:
            index, stride = strided
            inner[index] = floordiv(expr(dim) - e.const, stride)
            fixed.append(equal(mod(expr(dim) - e.const, stride), 0))
    taken = {x for c in asked for x in cond_symbols(c)}.union(s.result_dims, reader.dims)
    elsewhere: dict[Dim, Expr] = {}
    for dim in s.result_dims:
        if dim not in inner:
            other = _beyond(dim, taken)
            taken |= {other}
            elsewhere[dim] = expr(other)
    moved = [substitute_cond(c, {**elsewhere, **inner}) for c in asked]
    found = _simplified(_without([*moved, *fixed], s))
    return every(*(c for c in conjuncts(found) if not _is_nearly_all(c)))


def _strided(e: Expr) -> tuple[Dim, int] | None:
    """The index and the distance of a read of every second, third, ... step."""
    if len(e.terms) != 1 or not isinstance(e.terms[0][0], Dim) or e.terms[0][1] < 2:
        return None
    return e.terms[0][0], e.terms[0][1]


def _beyond(dim: Dim, taken: Container[Dim | Extent]) -> Dim:
    """A further index over the steps of a dim that nothing else is called by."""
    found = twin(dim)
    while found in taken:
        found = twin(found)
    return found


def _without(conds: Sequence[Cond], s: Statement) -> Cond:
    """What conditions say of the dims of a statement: other indices are eliminated."""
    own = set(s.result_dims)
    others = {d for c in conds for d in cond_symbols(c) if isinstance(d, Dim)} - own
    for index in sorted(others, key=lambda d: d.serial):
        bounds = [c for c in conds if isinstance(c, Compare) and c.kind == "ge"]
        slopes = [(c.of, dict(c.of.terms).get(index)) for c in bounds]
        low = [e for e, k in slopes if k == 1 and index not in dims_of(e - expr(index))]
        high = [e for e, k in slopes if k == -1 and index not in dims_of(e + expr(index))]
        met = [at_least(a + b, 0) for a in low for b in high]
        conds = [*(c for c in conds if index not in cond_symbols(c)), *met]
    return every(*conds)


def _within(axis: Axis) -> Iterator[Cond]:
    yield at_least(axis.index, 0)
    yield from (at_least(bound, 0) for bound in linear_bounds(axis.size - 1 - expr(axis.index)))


def _is_nearly_all(cond: Cond) -> bool:
    """Whether a condition leaves out a few steps at an end only."""
    if not isinstance(cond, Compare) or cond.kind != "ge" or len(dims_of(cond.of)) != 1:
        return False
    (dim,) = dims_of(cond.of)
    low, high = cond.of - expr(dim), cond.of + expr(dim) - expr(dim.extent)
    return low.is_const or high.is_const
