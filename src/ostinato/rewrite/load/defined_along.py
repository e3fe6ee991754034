"""Along which dimensions a value is defined at every point, so that all points may be asked for.

``y[t] = x[t + 1]`` may be read for ``t < T - 1`` only, so no tensor of all its points exists. The
procedure is incomplete: "partial" means that wholeness was not proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.pdg.bounds import conjuncts, is_never_negative, simplified
from ostinato.pdg.condition import ALWAYS, Compare, Cond, every, negation, some
from ostinato.pdg.index import Dim, Expr, Extent, Index, Slice, expr, minimum
from ostinato.pdg.node import Case, Equation, Node, Part, Pdg, Read, Rec, postorder

Dims = frozenset[Dim]
Renaming = Mapping[Dim | Extent, Expr]  # a smaller box, in coordinates that start at 0 again


def partial_dims(pdg: Pdg) -> dict[Node, Dims]:
    """For every node the dimensions along which it may be undefined somewhere in the box."""
    recs = {name: _uncovered(pdg, name) for name in pdg.equations}
    while True:
        found = _given(pdg, recs)
        grown = {
            name: recs[name] | (_of_equation(eq, found) & frozenset(eq.rec.domain))
            for name, eq in pdg.equations.items()
        }
        if grown == recs:
            return found
        recs = grown


def _of_equation(equation: Equation, found: Mapping[Node, Dims]) -> Dims:
    """The dimensions along which a right side may be undefined where it is the one that holds."""
    out, earlier = Dims(), list[Cond]()
    for cond, right in equation.cases:
        out |= _where(right, simplified(every(cond, *map(negation, earlier))), found)
        earlier.append(cond)
    return out


def _given(pdg: Pdg, recs: Mapping[str, Dims]) -> dict[Node, Dims]:
    """The partial dimensions of all nodes from those of the recurrences."""
    found: dict[Node, Dims] = {}
    for node in postorder(pdg.roots()):
        match node.op:
            case Rec(name):
                found[node] = recs[name]
            case Case(cond):
                sides = zip(node.args, (cond, negation(cond)), strict=True)
                found[node] = Dims().union(*(_where(side, c, found) for side, c in sides))
            case _:
                found[node] = _of(node, found, found, {})
    return found


def _of(
    node: Node, below: Mapping[Node, Dims], anywhere: Mapping[Node, Dims], by: Renaming
) -> Dims:
    """The partial dimensions of a node from those of its operands, in a box renamed by ``by``."""
    match node.op:
        case Read(at):
            return _of_read(node.args[0], dict(at), anywhere, by)
        case Part(axis, index):
            return below[node.args[0]] | _leaving(index, node.args[0].shape[axis], by)
        case _:
            return Dims().union(*(below[a] for a in node.args))


def _where(node: Node, cond: Cond, found: Mapping[Node, Dims]) -> Dims:
    """The partial dimensions of a value that is only asked for where a condition holds."""
    by = _smaller_box(cond)
    if not found[node] or not by:
        return found[node]
    inner: dict[Node, Dims] = {}
    stack = [node]
    while stack:
        x = stack[-1]
        if x in inner or not found[x] or isinstance(x.op, Rec | Case):
            inner.setdefault(x, found[x])
            stack.pop()
        elif pending := [a for a in x.args if a not in inner and not isinstance(x.op, Read)]:
            stack += pending
        else:
            inner[stack.pop()] = _of(x, inner, found, by)
    return inner[node]


def partial_below(node: Node, dim: Dim, end: Expr, found: Mapping[Node, Dims]) -> Dims:
    """The partial dimensions of a value that is only asked for at the steps below ``end``.

    What it reads at earlier steps is asked for there only, too.
    """
    shorter = replace(dim, size=minimum(end, dim.extent))
    by: Renaming = {dim: expr(shorter)}
    inner: dict[Node, Dims] = {}
    for x in postorder((node,)):
        if isinstance(x.op, Rec | Case) or not found[x]:
            inner[x] = found[x]
            continue
        at = dict(x.op.at) if isinstance(x.op, Read) else {}
        earlier = dim not in at or _inside(at[dim], expr(dim) + 1, {})
        inner[x] = _of(x, inner, inner if earlier else found, by)
    return inner[node]


def _smaller_box(cond: Cond) -> Renaming:
    """What ``d >= k``, ``d <= D - 1 - m`` and ``d == k`` in a conjunction do to the box."""
    skipped: dict[Dim, tuple[int, int]] = {}
    out: dict[Dim | Extent, Expr] = {}
    for c in conjuncts(cond):
        if not isinstance(c, Compare):
            continue
        dims = c.of.dims
        dim = next(iter(dims)) if len(dims) == 1 else None
        slope = dict(c.of.terms).get(dim) if dim else None
        if dim is None or slope not in (1, -1):
            continue
        bound = (c.of - expr(dim) * slope) * -slope  # d >= bound, d <= bound, or d == bound
        if c.kind == "eq":
            out[dim] = bound
        elif slope == 1 and bound.is_const and bound.const > 0:
            skipped[dim] = (bound.const, skipped.get(dim, (0, 0))[1])
        elif slope == -1 and (missing := expr(dim.extent) - 1 - bound).is_const:
            skipped[dim] = (skipped.get(dim, (0, 0))[0], max(0, missing.const))
    for dim, (low, high) in skipped.items():
        if dim.size is None:
            out.setdefault(dim, expr(dim) + low)
            out[dim.symbol] = expr(dim.symbol) + low + high
        else:  # what defines the extent stays as it is
            rest = replace(dim, size=dim.size - low - high)
            out.setdefault(dim, expr(rest) + low)
    return out


def _uncovered(pdg: Pdg, name: str) -> Dims:
    conds = [cond for cond, _ in pdg.equations[name].cases]
    if simplified(some(*conds)) == ALWAYS:
        return Dims()
    return Dims(d for cond in conds for d in cond.dims)


def _of_read(x: Node, at: Mapping[Dim, Index], found: Mapping[Node, Dims], by: Renaming) -> Dims:
    out = set(found[x] - at.keys())
    for dim, index in at.items():
        if dim in found[x]:
            out |= index.dims
        if dim in x.domain:
            out |= _leaving(index, expr(dim.extent), by)
    return Dims(out)


def _leaving(index: Index, size: Expr, by: Renaming) -> Dims:
    """The dimensions along which an index may leave ``0 .. size - 1``."""
    return Dims() if _inside(index, size, by) else index.dims | size.dims


def _inside(index: Index, size: Expr, by: Renaming) -> bool:
    """Whether an index is proved to lie in ``0 .. size - 1`` at every point of the renamed box.

    A slice must not end before it begins.
    """
    if isinstance(index, Slice):
        gaps = [index.lo, size - index.hi, index.hi - index.lo]
    else:
        gaps = [index, size - 1 - index]
    return all(is_never_negative(gap.at(by)) for gap in gaps)


def may_miss(node: Node) -> bool:
    """Whether a value reads a fixed step that some extents lack: then it has no point at all."""
    return any(
        dim in x.args[0].domain and not index.dims and not _inside(index, expr(dim.extent), {})
        for x in postorder((node,))
        if isinstance(x.op, Read)
        for dim, index in x.op.at
    )
