"""The reverse of a read: an adjoint at the reading point, as an adjoint at the point that is read.

Dimensions in ``held`` are fixed: a derivative is taken at one point of them, so a read is followed
only where it stays at that point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.pdg.arithmetic import Algebra
from ostinato.pdg.bounds import simplified
from ostinato.pdg.build import ONE, part, read
from ostinato.pdg.condition import NEVER, Cond, at_least, equal, every
from ostinato.pdg.element import element
from ostinato.pdg.errors import GradientError
from ostinato.pdg.extra_dims import twin
from ostinato.pdg.grad.preimage import Dims, Preimage, Sum, preimages
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr, floordiv, mod
from ostinato.pdg.node import Node, Read


@dataclass(frozen=True, slots=True)
class Adjoint:
    """``value`` at the points where ``guard`` holds, zero elsewhere; the value may be thin."""

    guard: Cond
    value: Node


def leaves_point(node: Node, held: Dims) -> bool:
    """Whether a read moves along a held dimension at every point."""
    return isinstance(node.op, Read) and any(
        dim in held and simplified(_reaches(dim, index)) == NEVER for dim, index in node.op.at
    )


def _reaches(target: Dim, index: Expr | Slice) -> Cond:
    """That the index, or one step of the slice, is the target."""
    if isinstance(index, Expr):
        return equal(target, index)
    offset = expr(target) - index.lo
    inside = every(at_least(offset, 0), at_least(index.hi - 1, target))
    return every(inside, equal(mod(offset, index.step), 0))


def read_back(node: Node, up: Adjoint, held: Dims) -> list[Adjoint]:
    """Return what the adjoint ``up`` of a read contributes to the tensor that is read."""
    assert isinstance(node.op, Read), f"{node} is no read"
    source, algebra = node.args[0], Algebra(node.where)
    moved = {dim for dim, _ in node.op.at}
    kept = {dim for dim in source.domain if dim not in moved}
    unknowns = frozenset(node.domain) - held - kept
    taken = {*node.domain, *up.value.domain}
    conds, value = [up.guard], up.value
    twins: dict[Dim, Dim] = {}
    for dim, index in node.op.at:
        if dim not in source.domain:
            assert isinstance(index, Slice), f"{node} reads {dim}, which {source} lacks"
            value = algebra.sum(value, (-value.rank,), (index.size,))
            continue
        target = dim
        if dim in unknowns:
            while target in taken:
                target = twin(target)
            twins[target] = dim
        conds.append(_reaches(target, index))
        if isinstance(index, Slice):
            place = floordiv(expr(target) - index.lo, index.step)
            value = element(value, -value.rank, place, node.where)
    there = {dim: expr(target) for target, dim in twins.items()}
    value = _as_long_as(value, [size.at(there) for size in source.shape], unknowns)
    return collect(value, every(*conds), unknowns, twins, node.where)


def _as_long_as(value: Node, shape: Sequence[Expr], unknowns: Dims) -> Node:
    """The value with the sizes of what was read, which are its own wherever it was read.

    Sizes that change with the reading step would not let the steps be summed.
    """
    for axis in range(-len(shape), 0):
        size = value.shape[axis]
        if size != ONE and size.dims & unknowns and size != shape[axis]:
            value = part(value, axis, Slice(expr(0), shape[axis]), value.where)
    return value


def sum_missing(up: Adjoint, missing: Dims, where: str) -> list[Adjoint]:
    """Sum an adjoint over dimensions that the operand does not depend on."""
    return collect(up.value, up.guard, missing, {}, where) if missing else [up]


def collect(
    value: Node, cond: Cond, unknowns: Dims, twins: Mapping[Dim, Dim], where: str
) -> list[Adjoint]:
    """Sum the value over ``unknowns`` where ``cond`` holds, which ties them to the target.

    ``twins`` maps a target's name in ``cond`` and in the value to its dimension in the result.
    """
    algebra = Algebra(where)
    return [_collect(value, p, twins, algebra) for p in preimages(cond, unknowns)]


def _collect(
    value: Node, preimage: Preimage, twins: Mapping[Dim, Dim], algebra: Algebra
) -> Adjoint:
    """Sum the value over a preimage and name the target by its own dimensions."""
    back = {new: expr(dim) for new, dim in twins.items()}
    guard = simplified(preimage.guard.at(back))
    if _is_direct(value, preimage, frozenset(twins)):
        points = [(d, e.at(back)) for d, e in preimage.points]
        sums = [_renamed(s, back) for s in preimage.sums]
        return Adjoint(guard, _sum(value, points, sums, algebra))
    value = read(value, preimage.points, algebra.where)
    for added in preimage.sums:
        value = _sum(value, [], [added], algebra)
    return Adjoint(guard, read(value, list(back.items()), algebra.where))


def _is_direct(value: Node, preimage: Preimage, twins: Dims) -> bool:
    """Whether one simultaneous read does: nothing inside refers to the target's new names."""
    summed = frozenset(s.dim for s in preimage.sums)
    masked = frozenset(d for s in preimage.sums for d in s.mask.symbols)
    solved = frozenset(d for d, _ in preimage.points)
    used = [e.dims for _, e in preimage.points]
    used += [s.over.dims for s in preimage.sums]
    if (frozenset(value.domain) | masked) & twins or masked & solved:
        return False
    return not any(dims & summed for dims in used)


def _renamed(added: Sum, back: Mapping[Dim, Expr]) -> Sum:
    over = added.over
    lo, hi = over.lo.at(back), over.hi.at(back)
    return Sum(added.dim, Slice(lo, hi, over.step), added.mask)


def _sum(value: Node, points: list[tuple[Dim, Expr]], sums: list[Sum], algebra: Algebra) -> Node:
    """Read at the points and sum over the steps, all at once."""
    value = algebra.switch(every(*(s.mask for s in sums)), value)
    for s in sums:
        if any(s.dim in size.dims for size in value.shape):
            raise GradientError(
                f"the gradient sums `{value}` over {s.dim}, and its shape changes with {s.dim}",
                f"Reduce its axes that change with {s.dim} before other steps read it.",
                algebra.where,
            )
    thick = [s for s in sums if s.dim in value.domain]
    entries: list[tuple[Dim, Index]] = [*points, *((s.dim, s.over) for s in thick)]
    value = read(value, entries, algebra.where)
    axes = range(-value.rank, -value.rank + len(thick))
    value = algebra.sum(value, list(axes), tuple(s.over.size for s in thick))
    for s in sums:
        if s not in thick:
            value = algebra.times_size(value, s.over.size)
    return value
