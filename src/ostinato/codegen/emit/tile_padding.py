"""Running over a tile's padding: whole tiles vectorise without a remainder.

The last tile of a dim may be ragged: its axis has fewer positions than slots. Computing the slots
that hold nothing is harmless where every tensor that moves with the axis has them too, and nothing
is folded along it. It takes time, so of the groups of `Target.together` slots only those are
computed that hold some row. Readers leave out the same groups.
"""

from __future__ import annotations

from collections.abc import Iterable

from ostinato.codegen.ir.system import Axis, Load, Statement, loads
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.index import Expr, dims_of, expr


def extent(axis: Axis, statements: Iterable[Statement], plan: Plan) -> Expr:
    """How far a loop over the axis runs: over all slots where that is harmless."""
    may_pad = axis.pad.is_const and "padding of tiles" not in plan.without
    if axis.size == axis.pad or not may_pad:
        return axis.size
    return axis.pad if all(_fits(axis, s, plan) for s in statements) else axis.size


def _fits(axis: Axis, s: Statement, plan: Plan) -> bool:
    if axis.index in s.reduced or dims_of(axis.size) & s.reduced:
        return False  # a sum of several tiles has slots for the rows of all of them
    stored = plan.storage[s.name].axes
    if any(a.index == axis.index and a.pad != axis.pad for a in stored):
        return False
    return all(_load_fits(axis, x, plan) for _, value in s.clauses for x in loads(value))


def _load_fits(axis: Axis, load: Load, plan: Plan) -> bool:
    """Whether the load has a slot for every slot of the axis."""
    if any(axis.index in dims_of(d) for d in load.dims):
        return False
    for slot, at in zip(plan.storage[load.tensor].axes, load.axes, strict=True):
        if axis.index not in dims_of(at):
            continue
        if at != expr(axis.index) or slot.pad != axis.pad:
            return False
    return True
