"""One name per loop: the statements of a nest name their axes as its loops do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ostinato.codegen.ir.system import Axis, Statement
from ostinato.codegen.ir.tree import Loop, Nest, Tree
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import long_axes
from ostinato.pdg.index import Dim, expr


def aligned(
    trees: Sequence[Tree], statements: Mapping[str, Statement]
) -> tuple[tuple[Tree, ...], dict[str, Statement]]:
    """Rename the axes of statements that share a nest; loads are positional and do not change."""
    out = dict(statements)
    return tuple(_tree(t, out) for t in trees), out


def _tree(tree: Tree, out: dict[str, Statement]) -> Tree:
    if isinstance(tree, Loop):
        return replace(tree, body=tuple(_tree(t, out) for t in tree.body))
    if not isinstance(tree, Nest):
        return tree
    members = [out[name] for name in tree.statements]
    loops = tree.axes
    long = {s.name: {a.index for a in long_axes(s)} for s in members}
    tiny = {a.index for s in members for a in s.axes if a.index not in long[s.name]}
    if tiny & {a.index for a in loops}:
        loops = tuple(replace(a, index=Dim(a.index.name)) for a in loops)
    for s in members:
        out[s.name] = renamed(s, dict(zip((a.index for a in long_axes(s)), loops, strict=True)))
    return replace(tree, axes=loops)


def renamed(s: Statement, to: Mapping[Dim, Axis]) -> Statement:
    """The statement with some axes under other names."""
    names = {old: expr(new.index) for old, new in to.items() if old != new.index}
    if not names:
        return s
    rewrite = Rewrite(names)
    axes = tuple(
        Axis(to[a.index].index if a.index in to else a.index, rewrite.expr(a.size), a.pad)
        for a in s.axes
    )
    reduced = frozenset(to[d].index if d in to else d for d in s.reduced)
    lanes = frozenset(to[d].index if d in to else d for d in s.lanes)
    return rewrite.clauses(replace(s, axes=axes, reduced=reduced, lanes=lanes))
