"""Nests that many independent computations share, such as the first draws of equal layers.

One kernel for all of them takes longer to compile than all copies do. A kernel for each is written
once for those that are equal, and called for every copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ostinato.codegen.ir.system import Draw, Statement, Value, children
from ostinato.codegen.ir.tree import Nest, Tree, computed_in
from ostinato.codegen.memory.storage import Storage

MANY = 8  # parts of a nest: fewer share the loops of one kernel
LONG = 32  # statements of a nest: a shorter one is compiled in no time
DRAWN = 8  # statements that are as long as a draw


def parts(
    tree: Tree, statements: Mapping[str, Statement], storage: Mapping[str, Storage]
) -> tuple[Tree, ...]:
    """A nest as nests of its independent parts, if these are many; else the tree alone.

    Statements belong together where one needs what another one computes, and where they read the
    same array, which is read once so.
    """
    if not isinstance(tree, Nest) or len(tree.statements) < MANY or not _is_long(tree, statements):
        return (tree,)
    found = _groups(tree, statements, storage)
    if len(found) < MANY or not all(_fills(group, tree, statements) for group in found):
        return (tree,)
    return tuple(_part(tree, frozenset(group)) for group in found)


def _is_long(nest: Nest, statements: Mapping[str, Statement]) -> bool:
    return len(nest.statements) + DRAWN * len(streams_of(nest, statements)) > LONG


def streams_of(tree: Tree, statements: Mapping[str, Statement]) -> tuple[int, ...]:
    """The numbers of the draws of a tree, in the order of their first ones."""
    names = computed_in((tree,))
    values = (value for name in names for _, value in statements[name].clauses)
    return tuple(dict.fromkeys(stream for value in values for stream in _streams(value)))


def _streams(value: Value) -> Iterator[int]:
    if isinstance(value, Draw):
        yield value.stream
    for child in children(value):
        yield from _streams(child)


def _groups(
    nest: Nest, statements: Mapping[str, Statement], storage: Mapping[str, Storage]
) -> list[list[str]]:
    """The names that belong together, in the order of their first ones."""
    written = {storage[name].owner for name in nest.statements}
    of: dict[str, list[str]] = {}  # memory, and the names that touch it
    for name in nest.statements:
        read = statements[name].reads
        owners = {x.tensor: storage[x.tensor].owner for x in read}
        ties = {owners[x.tensor] for x in read if x.axes or owners[x.tensor] in written}
        ties.add(storage[name].owner)
        group = [name]
        for other in {id(of[tie]): of[tie] for tie in ties if tie in of}.values():
            group += other
        of |= dict.fromkeys((tie for tie, names in of.items() if names[0] in group), group)
        of |= dict.fromkeys(ties, group)
    rank = {name: k for k, name in enumerate(nest.statements)}
    groups = {id(names): sorted(names, key=rank.__getitem__) for names in of.values()}
    return sorted(groups.values(), key=lambda names: rank[names[0]])


def _fills(group: list[str], nest: Nest, statements: Mapping[str, Statement]) -> bool:
    """Whether some names have all loops of their nest."""
    axes = {axis.index for name in group for axis in statements[name].axes}
    return all(axis.index in axes for axis in nest.axes)


def _part(nest: Nest, group: frozenset[str]) -> Nest:
    """The nest with some of its statements."""
    return replace(
        nest,
        statements=tuple(name for name in nest.statements if name in group),
        memory=nest.memory & group,
        still=frozenset(x for x in nest.still if x[0] in group),
    )
