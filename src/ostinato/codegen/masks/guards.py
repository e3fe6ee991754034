"""Where a value is needed: the points at which some reader, or the user, asks for it.

A value that is read under conditions only is not computed elsewhere. The conditions follow reads
backwards, as far as an index of the reader is known from one of what it reads; what is not known
counts as needed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce

from ostinato.codegen.ir.extents import Spans
from ostinato.codegen.ir.system import Axis, Load, Statement
from ostinato.codegen.ir.tree import Calling, Loop, Tree, computed, leaves
from ostinato.codegen.ir.values import guarded_loads
from ostinato.pdg.bounds import conjuncts, linear_bounds, simplified
from ostinato.pdg.condition import ALWAYS, Compare, Cond, Some, at_least, equal, every, some
from ostinato.pdg.extra_dims import twin
from ostinato.pdg.index import Dim, Expr, Extent, expr, floordiv, mod
from ostinato.pdg.scc import components

MOST = 3  # alternatives that are worth a test
Ask = tuple[Statement, Load, Cond]  # a read by a statement, and when it reads


def guards(
    statements: Mapping[str, Statement],
    outputs: frozenset[str],
    spans: Spans,
    trees: tuple[Tree, ...] = (),
) -> dict[str, Cond]:
    """The condition on its dims under which each statement is computed, where it is not always.

    A leaf of the ``trees`` is run wherever any of its statements is needed: the others get values
    there that nobody looks at. None of these may be a position to read at.
    """
    leaf_of = _leaves_of(statements, trees)
    members: dict[str, list[str]] = {}
    for name in statements:
        members.setdefault(leaf_of[name], []).append(name)
    kinds = {n: statements[n].kind for n in statements}
    fixed = {leaf_of[n] for n, kind in kinds.items() if kind in ("input", "host") or n in outputs}
    asks: dict[str, list[Ask]] = {leaf: [] for leaf in members}
    reads: dict[str, list[str]] = {leaf: [] for leaf in members}
    for reader in statements.values():
        for load, cond in guarded_loads(reader):
            leaf = leaf_of[load.tensor]
            if leaf not in fixed:
                asks[leaf].append((reader, load, _simplified(cond)))
                reads[leaf_of[reader.name]].append(leaf)
    search = _Guards(statements, spans, leaf_of, asks)
    for group in components(list(members)[::-1], reads):
        cyclic = len(group) > 1 or group[0] in reads[group[0]]
        found = search.together(group) if cyclic else {group[0]: search.asked(asks[group[0]])}
        search.known |= {leaf: cond for leaf, cond in found.items() if leaf not in fixed}
    return {n: c for n in statements if (c := search.known.get(leaf_of[n], ALWAYS)) != ALWAYS}


def _leaves_of(statements: Mapping[str, Statement], trees: tuple[Tree, ...]) -> dict[str, str]:
    """For every statement itself, or the first one of a leaf that reads at computed positions."""
    first = {name: name for name in statements}
    for leaf, _, _ in leaves(trees):
        names = computed(leaf)
        if len(names) > 1 and any(_reads_anywhere(statements[name]) for name in names):
            merged = {first[name] for name in names}
            first |= {name: names[0] for name, old in first.items() if old in merged}
    return first


def _reads_anywhere(s: Statement) -> bool:
    return any(load.picks for load in s.reads)


@dataclass
class _Guards:
    """The search for conditions: of leaves, by their first statement."""

    statements: Mapping[str, Statement]
    spans: Spans
    leaf_of: Mapping[str, str]
    asks: Mapping[str, Sequence[Ask]]
    known: dict[str, Cond] = field(default_factory=dict[str, Cond])

    def asked(self, asks: Iterable[Ask]) -> Cond:
        """The points that reads ask for, when their readers are computed as far as is known."""
        parts: list[Cond] = []
        for reader, load, cond in asks:
            when = every(self.known.get(self.leaf_of[reader.name], ALWAYS), cond)
            part = _seen(self.statements[load.tensor], reader, load, when, self.spans)
            if part == ALWAYS:
                return ALWAYS
            parts.append(part)
        return _any(parts)

    def together(self, group: Sequence[str]) -> dict[str, Cond]:
        """The conditions of leaves that need each other.

        Who is asked from outside asks the others, and these ask again: a condition that does not
        come back as it was is given up, so that this ends. What is left holds for all that ask.
        """
        found: dict[str, Cond] = {}
        inner = _Guards(self.statements, self.spans, self.leaf_of, self.asks, found)
        members = frozenset(group)
        outside = {
            n: [a for a in self.asks[n] if self.leaf_of[a[0].name] not in members] for n in group
        }
        read_by: dict[str, dict[str, None]] = {}  # a leaf -> those of the group that it asks
        for n in group:
            for reader, _, _ in self.asks[n]:
                read_by.setdefault(self.leaf_of[reader.name], {})[n] = None
        todo = [name for name in group if outside[name]]
        while todo:
            name = todo.pop()
            asks = [a for a in self.asks[name] if self.leaf_of[a[0].name] in found]
            parts = [inner.asked([ask]) for ask in asks]
            parts += [self.asked(outside[name])] if outside[name] else []
            parts += [found[name]] if name in found else []
            wanted = reduce(_common, parts[::-1])
            if found.get(name) != wanted:
                found[name] = wanted
                waiting = frozenset(todo)
                todo += [source for source in read_by.get(name, ()) if source not in waiting]
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
    return every(*(c for c in conjuncts(cond) if dim not in c.symbols))


def untested(guard: Cond, held: frozenset[Cond]) -> Cond:
    """What of a condition is still to be tested where others hold."""
    return every(*(c for c in conjuncts(guard) if c not in held))


def _any(conds: Sequence[Cond]) -> Cond:
    if ALWAYS in conds or not conds:
        return ALWAYS
    out = _simplified(some(*conds))
    return ALWAYS if isinstance(out, Some) and len(out.of) > MOST else out


def _seen(s: Statement, reader: Statement, load: Load, cond: Cond, spans: Spans) -> Cond:
    """The points of a statement that a load reads while a condition of the reader holds."""
    axes = {a.index: a for a in reader.axes}
    inner: dict[Dim, Expr] = {}  # an index of the reader, from the point that it reads
    asked, fixed = list(conjuncts(cond)), list[Cond]()
    for dim, e in zip(s.result_dims, load.dims, strict=True):
        index = (e - e.const).as_dim()
        if not e.dims:
            fixed.append(equal(dim, e))
        elif index is not None and index not in inner and index in (*reader.dims, *axes):
            inner[index] = expr(dim) - e.const
            if index in axes and axes[index].size != spans[dim].hi:
                asked += _within(axes[index])
        elif (strided := _strided(e)) and strided[0] not in inner and strided[0] in reader.dims:
            index, stride = strided
            inner[index] = floordiv(expr(dim) - e.const, stride)
            fixed.append(equal(mod(expr(dim) - e.const, stride), 0))
    taken = {x for c in asked for x in c.symbols}.union(s.result_dims, reader.dims)
    elsewhere: dict[Dim, Expr] = {}
    for dim in s.result_dims:
        if dim not in inner:
            other = _beyond(dim, taken)
            taken |= {other}
            elsewhere[dim] = expr(other)
    moved = [c.at({**elsewhere, **inner}) for c in asked]
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
    others = {d for c in conds for d in c.dims} - own
    for index in sorted(others, key=lambda d: d.serial):
        bounds = [c for c in conds if isinstance(c, Compare) and c.kind == "ge"]
        slopes = [(c.of, dict(c.of.terms).get(index)) for c in bounds]
        low = [e for e, k in slopes if k == 1 and index not in (e - expr(index)).dims]
        high = [e for e, k in slopes if k == -1 and index not in (e + expr(index)).dims]
        met = [at_least(a + b, 0) for a in low for b in high]
        conds = [*(c for c in conds if index not in c.symbols), *met]
    return every(*conds)


def _within(axis: Axis) -> Iterator[Cond]:
    yield at_least(axis.index, 0)
    yield from (at_least(bound, 0) for bound in linear_bounds(axis.size - 1 - expr(axis.index)))


def _is_nearly_all(cond: Cond) -> bool:
    """Whether a condition leaves out a few steps at an end only."""
    if not isinstance(cond, Compare) or cond.kind != "ge" or len(cond.of.dims) != 1:
        return False
    (dim,) = cond.of.dims
    low, high = cond.of - expr(dim), cond.of + expr(dim) - expr(dim.extent)
    return low.is_const or high.is_const
