"""Where a value is needed: the points at which some reader, or the user, asks for it.

A value that is read under conditions only is not computed elsewhere. The conditions follow reads
backwards, as far as an index of the reader is known from one of what it reads; what is not known
counts as needed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache

from ostinato.codegen.ir.extents import Spans
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
from ostinato.pdg.index import Dim, Expr, Extent, dims_of, expr

ROUNDS = 12  # each carries conditions one reader further at least; any number of them is right
MOST = 3  # alternatives that are worth a test


def guards(
    statements: Mapping[str, Statement], outputs: frozenset[str], spans: Spans
) -> dict[str, Cond]:
    """The condition on its dims under which each statement is needed, where it is not always."""
    readers: dict[str, list[tuple[Statement, Load, Cond]]] = {n: [] for n in statements}
    for reader in statements.values():
        for load, cond in guarded_loads(reader):
            readers[load.tensor].append((reader, load, _simplified(cond)))
    free = {n for n, s in statements.items() if s.kind not in ("input", "host")} - outputs
    found: dict[str, Cond] = {}
    for _ in range(ROUNDS):
        before = dict(found)
        for name in reversed([n for n in statements if n in free]):
            asked = _asked(statements[name], readers[name], found, spans)
            if asked != ALWAYS:
                found[name] = asked
        if found == before:
            break
    return found


@lru_cache(maxsize=4096)
def _simplified(cond: Cond) -> Cond:
    return simplified(cond)


def guard_of(tree: Tree, known: Mapping[str, Cond]) -> Cond:
    """Where a leaf is needed; a loop is run in any case, and so is Python's own."""
    if isinstance(tree, Loop | Calling):
        return ALWAYS
    return _any([known.get(name, ALWAYS) for name in computed(tree)])


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
