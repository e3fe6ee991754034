"""Along which dimensions a value is defined at every point, so that all points may be asked for.

``y[t] = x[t + 1]`` may be read for ``t < T - 1`` only, so no tensor of all its points exists. The
procedure is incomplete: "partial" means that wholeness was not proved.
"""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.pdg.bounds import is_never_negative, simplified
from ostinato.pdg.condition import ALWAYS, cond_symbols, some
from ostinato.pdg.index import Dim, Expr, Index, Slice, dims_of, expr
from ostinato.pdg.node import Node, Part, Pdg, Read, Rec, postorder

Dims = frozenset[Dim]


def partial_dims(pdg: Pdg) -> dict[Node, Dims]:
    """For every node the dimensions along which it may be undefined somewhere in the box."""
    found: dict[Node, Dims] = {}
    for node in postorder(pdg.roots()):
        match node.op:
            case Rec(name):
                found[node] = _uncovered(pdg, name)
            case Read(at):
                found[node] = _of_read(node.args[0], dict(at), found)
            case Part(axis, index):
                inside = _inside(index, node.args[0].shape[axis])
                found[node] = found[node.args[0]] | (Dims() if inside else _mentioned(index))
            case _:
                found[node] = Dims().union(*(found[a] for a in node.args))
    return found


def _uncovered(pdg: Pdg, name: str) -> Dims:
    conds = [cond for cond, _ in pdg.equations[name].cases]
    if simplified(some(*conds)) == ALWAYS:
        return Dims()
    return Dims(s for cond in conds for s in cond_symbols(cond) if isinstance(s, Dim))


def _of_read(x: Node, at: Mapping[Dim, Index], found: Mapping[Node, Dims]) -> Dims:
    out = set(found[x] - at.keys())
    for dim, index in at.items():
        if dim in x.domain and not _inside(index, expr(dim.extent)):
            out |= _mentioned(index)
        elif dim in found[x]:
            out |= _mentioned(index)
    return Dims(out)


def _inside(index: Index, size: Expr) -> bool:
    """Whether an index is proved to lie in ``0 .. size - 1`` at every point of the box.

    A slice must not end before it begins.
    """
    if isinstance(index, Slice):
        gaps = (index.lo, size - index.hi, index.hi - index.lo)
        return all(map(is_never_negative, gaps))
    return is_never_negative(index) and is_never_negative(size - 1 - index)


def _mentioned(index: Index) -> Dims:
    parts = (index.lo, index.hi) if isinstance(index, Slice) else (index,)
    return Dims().union(*(dims_of(e) for e in parts))
