"""Memory that a leaf needs beside its tensors: each worker's own, dead when the leaf is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostinato.codegen.ir.system import Axis, Statement
from ostinato.codegen.ir.tree import Leaf, Sweep, Tree, leaves
from ostinato.codegen.memory.storage import Storage
from ostinato.pdg.index import Dim, expr


def scratch(leaf: Leaf, statements: Mapping[str, Statement]) -> Storage | None:
    """A second row of positions, where sorting merges to and fro."""
    if not isinstance(leaf, Sweep) or statements[leaf.statement].fold != "argsort":
        return None
    s = statements[leaf.statement]
    single = Axis(Dim("k"), expr(1), expr(1))
    row = next((a for a in s.result_axes if a.index == s.along), single)
    axis = Axis(row.index, row.pad, row.pad)
    return Storage(f"{s.name} scratch", "local", (), (axis,), s.dtype)


def scratches(trees: Sequence[Tree], statements: Mapping[str, Statement]) -> dict[str, Storage]:
    """The scratch memory of all leaves, by name."""
    found = (scratch(leaf, statements) for leaf, _, _ in leaves(tuple(trees)))
    return {s.tensor: s for s in found if s is not None}
