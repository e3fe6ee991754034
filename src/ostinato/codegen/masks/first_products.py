"""Sums that a product begins by itself: nobody has to set them to zero first.

The sums of a group of tiles, such as the gradients of wide layers, may be larger than the caches.
Where the first turn of the loop beside them always computes the product, it stores what the others
add to; only a loop without turns leaves the zeros to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ostinato.codegen.ir.system import Statement
from ostinato.codegen.ir.tree import Contraction, Fill, Kernel, Loop, Tree
from ostinato.codegen.masks.early_exits import End
from ostinato.codegen.masks.guards import guard_of
from ostinato.codegen.memory.storage import Storage
from ostinato.pdg.condition import ALWAYS, Cond


def beginnings(
    kernels: Sequence[Kernel],
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
    guards: Mapping[str, Cond],
    ends: Mapping[Loop, End],
) -> dict[str, Loop]:
    """The loop whose first turn begins the sums of a product."""
    return {
        leaf.statement: loop
        for kernel in kernels
        for leaf, loop in _found(kernel.body)
        if loop not in ends
        and guard_of(leaf, guards) == ALWAYS
        and _is_whole(leaf, loop, statements[leaf.statement], storage[leaf.statement])
    }


def _found(trees: Sequence[Tree]) -> Iterator[tuple[Contraction, Loop]]:
    """Products right inside a loop that follows where their sums are set."""
    filled = set[str]()
    for tree in trees:
        if isinstance(tree, Fill):
            filled.add(tree.tensor)
        elif isinstance(tree, Loop):
            yield from _found(tree.body)
            for leaf in tree.body:
                if isinstance(leaf, Contraction) and leaf.statement in filled and leaf.accumulate:
                    yield leaf, tree


def _is_whole(leaf: Contraction, loop: Loop, s: Statement, kept: Storage) -> bool:
    """Whether one product in each turn of a loop that runs upwards adds to every slot."""
    alone = s.reduced == {loop.dim, leaf.k.index} and not loop.reverse
    full = all(a.size == a.pad and a.size.is_const for a in (*s.result_axes, *kept.axes))
    return leaf.form == "broadcast" and alone and full
